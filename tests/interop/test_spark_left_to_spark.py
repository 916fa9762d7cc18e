"""`read` takes what Spark takes: functions that shredlake lacks are evaluated by Spark above the scan."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import InvalidExpression
from shredlake.spark.query.api import read, register, scan
from shredlake.spark.settings import temporary_settings

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def place(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of two files, with values of mixed types and values that can't be cast."""
    place = tmp_path_factory.mktemp("left") / "t"
    schema = pa.schema([("id", pa.int64()), ("kind", pa.string()), ("v", sl.variant())])
    table = sl.Table.create(place, schema, properties={"delta.enableVariantShredding": "true"})
    for start in (0, 50):
        texts = [
            json.dumps({"n": n if n % 7 else "many", "k": f"Kind {n % 3}", "l": [n, n + 1]})
            for n in range(start, start + 50)
        ]
        ids = pa.array(range(start, start + 50), pa.int64())
        rows = {"id": ids, "kind": pa.array(["K"] * 50), "v": sl.from_json(pa.array(texts))}
        table.append(pa.table(rows), shredding={"v": "struct<n bigint, k string>"})
    register(spark, "left_rows", place)
    return str(place)


N, K = "try_variant_get(v, '$.n', 'bigint')", "try_variant_get(v, '$.k', 'string')"
QUERIES = [
    (["upper(v:k::string) AS u", "id"], None, f"select upper({K}) u, id from left_rows"),
    ("v:k::string || '-' || id AS t, v:n::bigint * 2 AS d", "v:n::bigint >= 50 and length(v:k::string) = 6",
     f"select {K} || '-' || id t, {N} * 2 d from left_rows where {N} >= 50 and length({K}) = 6"),
    ("*", "substring(v:k::string, -1) = '2' and v:n::bigint between 10 and 20",
     f"select * from left_rows where substring({K}, -1) = '2' and {N} between 10 and 20"),
    (["*", "lower(kind) AS low"], "id < 3", "select *, lower(kind) low from left_rows where id < 3"),
    (["case when v:n::bigint > 60 then v:k::string end c", "size(v:l::array<int>) AS s"], None,
     f"select case when {N} > 60 then {K} end c, size(variant_get(v, '$.l', 'array<int>')) s from left_rows"),
    (["to_json(v:l) AS j", "schema_of_variant(v) AS s"], "id % 40 = 3 or upper(kind) = 'X'",
     "select to_json(v:l) j, schema_of_variant(v) s from left_rows where id % 40 = 3 or upper(kind) = 'X'"),
    (["rand() < 2 AS always"], "upper(kind) = 'K'", "select true always from left_rows"),
]  # fmt: skip


def rows_of(frame: Any) -> list[Any]:
    """The rows as text, with Variants as JSON: the same value may have other bytes."""
    from pyspark.sql.types import VariantVal

    def plain(value: Any) -> Any:
        return value.toJson() if isinstance(value, VariantVal) else value

    return sorted(str([plain(value) for value in row]) for row in frame.collect())


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_answers_are_those_of_spark(spark: Any, place: str, number: int) -> None:
    columns, where, text = QUERIES[number]
    found, expected = read(spark, place, columns, where), spark.sql(text)
    assert found.columns == expected.columns
    assert [item.dataType for item in found.schema] == [item.dataType for item in expected.schema]
    assert rows_of(found) == rows_of(expected) != []


def test_the_understood_part_prunes(spark: Any, place: str) -> None:
    said = scan(spark, place, ["upper(v:k::string) AS u"], "id > 70 and upper(v:k::string) = 'X'").explain()
    assert (said.files, said.files_total) == (1, 2)
    assert said.predicates[-1] == "upper(v:k::string) = 'X' rules out nothing: only Spark understands it"


def test_only_the_paths_inside_are_read(spark: Any, place: str) -> None:
    plan = read(spark, place, "upper(v:k::string) AS v", "id < 9")._jdf.queryExecution().toString()
    assert "mapInArrow" not in plan.lower()
    assert "ReadSchema: struct<v:struct<typed_value:struct<k:struct<typed_value:string>>>,id:bigint>" in plan


def test_columns_without_a_name_have_their_text(spark: Any, place: str) -> None:
    assert read(spark, place, "upper(v:k::string), v:n::bigint").columns == ["upper(v:k::string)", "n"]


def test_mistakes_are_ours(spark: Any, place: str) -> None:
    for columns, where in (
        ("no_such_function(v:k::string)", None),
        ("upper(nothing)", None),
        ("upper(kind", None),
        ("id", "upper(kind)"),
    ):
        with pytest.raises(InvalidExpression):
            read(spark, place, columns, where)


def test_times_without_a_zone_are_in_the_sessions_zone(spark: Any, tmp_path: Path) -> None:
    """Also those in the parts of the query that shredlake evaluates beside a part that it leaves to Spark."""
    schema = pa.schema([("at", pa.timestamp("us", "UTC")), ("kind", pa.string())])
    place = tmp_path / "times"
    near = [datetime(2024, 6, 30, hour, 30, tzinfo=UTC) for hour in (21, 22, 23)]
    sl.Table.create(place, schema).append(pa.table({"at": near, "kind": ["a", "b", "c"]}, schema))
    register(spark, "left_times", place)
    moment = "TIMESTAMP '2024-07-01 00:00:00'"
    with temporary_settings(spark, {"spark.sql.session.timeZone": "Europe/Paris"}):
        found = read(spark, place, ["upper(kind) AS k"], f"at >= {moment} and lower(kind) <> 'x'")
        expected = spark.sql(f"select upper(kind) k from left_times where at >= {moment}")
        assert rows_of(found) == rows_of(expected) == ["['B']", "['C']"]
        later = read(spark, place, [f"at >= {moment} AS later", "upper(kind) AS k"])
        assert rows_of(later) == ["[False, 'A']", "[True, 'B']", "[True, 'C']"]
