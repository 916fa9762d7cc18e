"""`shredlake schema`: the columns, and how Variants are shredded."""

from __future__ import annotations

import json

import shredlake as sl
from command_line import invoke as run


def test_schema(thirty: sl.Table) -> None:
    facts = json.loads(run("schema", thirty.uri, "--json").stdout)
    assert [(one["name"], one["type"], one["typed_paths"]) for one in facts["columns"]] == [
        ("id", "bigint", 0),
        ("v", "variant", 2),
    ]
    text = run("schema", thirty.uri).stdout
    assert "struct<a bigint, s string>" in text
    assert "2 typed paths" in text
