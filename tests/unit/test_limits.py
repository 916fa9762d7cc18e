"""Beyond each limit of docs/reliability.md there is an error that names it; some limits can be set."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.schema.types import MAX_DEPTH as MAX_COLUMN_DEPTH
from shredlake.delta.schema.types import parse_schema
from shredlake.delta.write.transaction import MAX_ATTEMPTS
from shredlake.errors import (
    CorruptLog,
    InvalidExpression,
    InvalidFile,
    InvalidJson,
    InvalidSchema,
    MalformedVariant,
)
from shredlake.expr import parse_predicate
from shredlake.expr.grammar import MOST_DIGITS, MOST_LEVELS
from shredlake.jobs.ingest.parse_task import Parsing
from shredlake.kernels.profile import profile
from shredlake.parquet.format.schema import MAX_SCHEMA_DEPTH
from shredlake.parquet.format.thrift import MAX_DEPTH as MAX_THRIFT_DEPTH
from shredlake.parquet.format.thrift import read_struct
from shredlake.shredding.schema import MAX_DEPTH as MAX_LAYOUT_DEPTH
from shredlake.variant.json.parse import MAX_DEPTH, MAX_SIZE


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def test_depth_of_documents() -> None:
    assert len(sl.from_json(pa.array([nested(MAX_DEPTH)]))) == 1
    with pytest.raises(InvalidJson, match=r"nested|deep"):
        sl.from_json(pa.array([nested(MAX_DEPTH + 1)]))
    deeper = sl.from_json(pa.array([nested(5 * MAX_DEPTH)]), max_depth=5 * MAX_DEPTH)
    assert sl.to_json(deeper).to_pylist() == [nested(5 * MAX_DEPTH)]


def test_size_of_documents() -> None:
    assert MAX_SIZE == 128 << 20
    with pytest.raises(InvalidJson):
        sl.from_json(pa.array(['"' + "x" * 100 + '"']), max_size=100)
    assert len(sl.from_json(pa.array(['"' + "x" * 100 + '"']), max_size=200)) == 1


def test_keys_of_an_object() -> None:
    text = json.dumps({f"key {number}": number for number in range(100_000)})
    column = sl.from_json(pa.array([text]))
    assert sl.get(column, "$['key 99999']", pa.int64()).to_pylist() == [99_999]


def test_depth_of_layouts_and_columns() -> None:
    ddl = "array<" * (MAX_LAYOUT_DEPTH + 1) + "bigint" + ">" * (MAX_LAYOUT_DEPTH + 1)
    with pytest.raises(InvalidSchema):
        sl.ShreddingSchema.parse(ddl)
    kind: object = "long"
    for _ in range(MAX_COLUMN_DEPTH + 1):
        kind = {"type": "array", "elementType": kind, "containsNull": True}
    column = {"name": "a", "type": kind, "nullable": True, "metadata": {}}
    with pytest.raises((CorruptLog, InvalidSchema), match="nested"):
        parse_schema(json.dumps({"type": "struct", "fields": [column]}))


def test_expressions() -> None:
    with pytest.raises(InvalidExpression, match="nested too deeply"):
        parse_predicate("NOT " * (MOST_LEVELS + 1) + "true")
    with pytest.raises(InvalidExpression, match="any type"):
        parse_predicate("id = " + "9" * (MOST_DIGITS + 1))
    parse_predicate(" OR ".join(f"id = {number}" for number in range(5000)))  # long is not deep


def test_depth_of_footers() -> None:
    with pytest.raises(InvalidFile):
        read_struct(b"\x1c" * (MAX_THRIFT_DEPTH + 1))


def test_values_that_claim_more_than_they_have() -> None:
    """A count is compared with the bytes before anything of that size is allocated."""
    with pytest.raises(MalformedVariant):
        sl.Variant(b"\x01\x00\x00", b"\x1f\xff\xff\xff\x7f").validate()


def test_columns_of_a_table() -> None:
    """SHREDLAKE_COLUMNS=10000 and `-s` give the figures of docs/reliability.md."""
    count = int(os.environ.get("SHREDLAKE_COLUMNS", "1000"))
    wide = pa.table({f"c{number}": pa.array([number]) for number in range(count)})
    table = sl.Table.create("memory://limits/wide", wide.schema)
    moments = [time.process_time()]
    table.append(wide)
    moments.append(time.process_time())
    assert table.scan(["c999"]).to_arrow().to_pylist() == [{"c999": 999}]
    moments.append(time.process_time())
    assert table.scan().to_arrow().num_columns == count
    moments.append(time.process_time())
    taken = [f"{later - earlier:.1f} s" for earlier, later in pairwise(moments)]
    print(f"{count} columns: appended in {taken[0]}, one read in {taken[1]}, all in {taken[2]}")


DOCUMENTED = {
    "depth of a document": "1,000",
    "size of a Variant": "128 MiB",
    "JSON text of one value": "2^30 characters",
    "bytes of one line of text": "128 MiB",
    "attempts of a commit beside other writers": "50",
    "depth of a layout": "200",
    "depth of a table's column": "100",
    "depth of a file's schema": "256",
    "nesting of a Parquet footer": "64",
    "nesting of an expression": "100",
    "digits of a number in an expression": "400",
    "paths of a profile": "10,000",
    "versions of a table": "2^63",
}
"""The limits of docs/reliability.md that are not "none"."""

SETTABLE: dict[str, list[tuple[Callable[..., Any], int]]] = {
    "max_depth": [(sl.from_json, 1000), (sl.Variant.from_json, 1000), (Parsing, 1000)],
    "max_size": [(sl.from_json, 128 << 20), (sl.Variant.from_json, 128 << 20)],
    "max_length": [(sl.Variant.to_json, 1 << 30)],
    "max_document": [(Parsing, 128 << 20)],
    "max_paths": [(profile, 10_000)],
}


def test_the_documented_limits_are_those_of_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text()
    lines = page.partition("## Limits")[2].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")][1:]
    assert {row[0]: row[1] for row in rows if row[1] != "none"} == DOCUMENTED
    assert {word for row in rows for word in re.findall("`(max_[a-z]+)`", row[2])} == set(SETTABLE)
    for option, places in SETTABLE.items():
        for place, default in places:
            assert signature(place).parameters[option].default == default, (option, place)
    fixed = [MAX_LAYOUT_DEPTH, MAX_COLUMN_DEPTH, MAX_SCHEMA_DEPTH, MAX_THRIFT_DEPTH, MOST_LEVELS, MOST_DIGITS]
    assert [*fixed, MAX_ATTEMPTS] == [200, 100, 256, 64, 100, 400, 50]


def test_the_length_of_json_text() -> None:
    assert len(sl.Variant.of("x" * 98).to_json(max_length=100)) == 100
    with pytest.raises(sl.ShredlakeError, match="max_length"):
        sl.Variant.of("x" * 99).to_json(max_length=100)
