"""Spark's own functions that edit Variants, of Spark 4.3, over our tables: answers are Spark's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import shredlake as sl
from long_runs import some
from shredlake.spark import ingest
from shredlake.spark.query.api import read, register, sql
from spark_tables import in_every_layout

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

VALUES: list[Any] = [
    {"a": 1, "b": {"c": None, "d": "x"}, "l": [1, None]},
    {"a": "text", "b": {}, "l": []},
    {"a": None, "b": {"c": 2.5}},
    ...,
]
LAYOUTS = ["struct<a bigint, b struct<c bigint, d string>, l array<bigint>>", None]
EDITS = {
    "variant_set": ["variant_set(v, '$.a', 7)", "variant_set(v, '$.b', v:a)"],
    "variant_insert": ["variant_insert(v, '$.new', 'n')"],
    "variant_delete": ["variant_delete(v, '$.b.c')", "variant_delete(v, '$.gone')"],
    "variant_strip_nulls": ["variant_strip_nulls(v)"],
    "variant_array_append": ["try_variant_array_append(v, '$.l', 9)"],
}


@pytest.mark.parametrize("function", some(EDITS))
def test_edited_variants(spark: SparkSession, tmp_path: Path, function: str) -> None:
    if not spark.catalog.functionExists(function):
        pytest.skip(f"this Spark has no {function}; Spark 4.3 has")
    place = in_every_layout(spark, tmp_path, VALUES, LAYOUTS, "to_edit")
    edits = EDITS[function]
    text = f"select id, {', '.join(f'to_json({one}) AS c{n}' for n, one in enumerate(edits))} from "
    expected = sorted(spark.sql(text + "to_edit").collect())
    assert sorted(sql(spark, text + "t", t=place).collect()) == expected
    register(spark, "edited", place)
    assert sorted(spark.sql(text + "edited").collect()) == expected
    frame = read(spark, place).selectExpr("id", *(f"{one} AS c{n}" for n, one in enumerate(edits)))
    columns = [f"to_json(c{n}) AS c{n}" for n in range(len(edits))]
    assert sorted(frame.selectExpr("id", *columns).collect()) == expected
    ingest(spark, frame.selectExpr("id", "c0 AS v").where("c0 is not null"), tmp_path / "edited")
    stored = sl.Table(tmp_path / "edited").scan(["id", "v"]).to_arrow().sort_by("id")
    texts = sl.to_json(stored.column("v")).to_pylist()
    wanted = [json.loads(row.c0) for row in expected if row.c0 is not None]
    assert [json.loads(text) for text in texts] == wanted
