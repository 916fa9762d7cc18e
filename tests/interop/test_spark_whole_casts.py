"""Objects and arrays that are cast as a whole, from typed columns where possible: answers are Spark's."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shredlake.spark.query.api import explain, read, sql
from spark_tables import in_every_layout

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TYPED: list[Any] = [
    {"p": {"x": 1, "s": "a"}, "l": [1, 2], "o": [{"k": "a", "n": 1}]},
    {"p": {"x": 2}, "l": [], "o": []},
    {"p": {"s": "b"}, "o": [{"k": "b"}, {"n": 2}]},
    {"l": [3]},
    {},
    ...,
]
MIXED: list[Any] = [
    {"p": None, "l": [None, 1], "o": [None, 7, {"k": 1, "more": 2}]},
    {"p": {"x": "3", "s": 4, "more": True}, "l": ["5", "x", 1.5], "o": {"k": "a"}},
    {"p": [1], "l": {"a": 1}, "o": [[1]]},
    {"p": 5, "l": 6, "o": "[]"},
    {"p": {"X": 1, "x": Decimal("2.50")}, "l": [[1], {"a": 2}]},
    None,
    8,
]
LAYOUT = "struct<p struct<x bigint, s string>, l array<bigint>, o array<struct<k string, n bigint>>>"
COLUMNS = {
    "p": [
        "struct<x:bigint,s:string>",
        "struct<x:int>",
        "struct<s:string,x:string,gone:date>",
        "map<string,string>",
    ],
    "l": ["array<bigint>", "array<string>", "array<tinyint>", "array<struct<a:int>>"],
    "o": ["array<struct<k:string,n:bigint>>", "array<struct<n:double>>", "struct<k:string>"],
}


def rows_of(frame: Any) -> list[str]:
    """The rows in one order, and the entries of maps too: Spark's own depends on how a file is shredded."""
    return sorted(json.dumps(row.asDict(True), sort_keys=True, default=str) for row in frame.collect())


@pytest.mark.parametrize("values", [TYPED, [*TYPED, *MIXED]], ids=["typed", "mixed"])
def test_casts_of_wholes(spark: SparkSession, tmp_path: Path, values: list[Any]) -> None:
    layouts = [LAYOUT] if values is TYPED else [LAYOUT, "struct<p string, l array<string>>", None]
    place = in_every_layout(spark, tmp_path, values, layouts, "whole_casts")
    casts = [(name, kind) for name, kinds in COLUMNS.items() for kind in kinds]
    gets = [f"try_variant_get(v, '$.{name}', '{kind}') AS c{n}" for n, (name, kind) in enumerate(casts)]
    text = f"select id, {', '.join(gets)} from "
    expected = rows_of(spark.sql(text + "whole_casts"))
    assert rows_of(sql(spark, text + "t", t=place)) == expected
    assert rows_of(read(spark, place, ["id", *gets])) == expected
    typed = [one for one, (_, kind) in zip(gets, casts, strict=True) if "map" not in kind]
    text = f"select id, {', '.join(typed[:2] + typed[3:])} from "
    assert rows_of(sql(spark, text + "t", t=place)) == rows_of(spark.sql(text + "whole_casts"))


def test_typed_columns_answer_where_they_hold_everything(spark: SparkSession, tmp_path: Path) -> None:
    place = in_every_layout(spark, tmp_path, TYPED, [LAYOUT], "whole_casts")
    text = "select variant_get(v, '$.{}', '{}') AS c from t"
    for name, kind in (("p", "struct<x:bigint,s:string>"), ("l", "array<bigint>"), ("o", COLUMNS["o"][0])):
        found = explain(spark, text.format(name, kind), t=place)
        assert found.reason == "", kind
        assert not found.tables["t"].notes, kind
    assert "cast as a whole" in explain(spark, text.format("p", "map<string,bigint>"), t=place).reason
