"""The data of a tree, as the script of the page reads it."""

from __future__ import annotations

import json
import re
from typing import Any

from shredlake.html.tree import Column, Row, tree


def content(*rows: Row) -> dict[str, Any]:
    drawn = str(tree([Column("bytes", "right", 8)], rows, [("typed", "typed values")]))
    [found] = re.findall(r'id="tree-data"[^>]*>(.*?)</script>', drawn, re.DOTALL)
    read: dict[str, Any] = json.loads(found)
    return read


def test_rows_name_their_parent() -> None:
    parent = Row("a", "v:a", None, (1.0,), ((5.0, "5 B"),))
    child = Row("b", "v:a.b", 0, (0.123456, 0.5), ((None, ""),), copy="v:a.b::string")
    found = content(parent, child)
    assert found["columns"] == [["bytes", "right", 8, ""]]
    assert found["parts"] == [["typed", "typed values"]]
    assert found["rows"] == [
        [-1, "a", "v:a", [1.0], [[5.0, "5 B"]], ""],
        [0, "b", "v:a.b", [0.1235, 0.5], [[None, ""]], "v:a.b::string"],
    ]


def test_names_are_data() -> None:
    evil = "</script><b>\x1b[31m"
    found = content(Row(evil, evil, None, (), ((evil, evil),), copy=evil))
    assert found["rows"][0][1] == "</script><b>\\x1b[31m"
