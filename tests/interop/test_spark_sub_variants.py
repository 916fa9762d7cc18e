"""Queries over Variants at paths: Spark rebuilds these instead of whole ones, and the answers are its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.spark.query.api import explain, sql
from spark_tables import adopt, in_every_layout, paths_read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

VALUES: list[Any] = [
    {
        "a": 1,
        "k": "x",
        "geo": {"x": 1.5, "y": None},
        "tags": [{"k": "a", "w": 1}, {"k": "b"}],
        "m": {"a": 1, "b": 2},
    },
    {"a": 2, "geo": None, "tags": [], "m": {}},
    {"a": "3", "k": "z", "geo": "here", "tags": None, "m": {"a": None}},
    {"a": 4.5, "geo": {}, "tags": [None, 1, "x", [2], {"w": "7", "more": {"deep": True}}], "m": 5},
    {"geo": {"x": "2", "more": [1]}, "tags": {"k": "not an array"}, "m": {"c": "7"}},
    {},
    5,
    None,
    ...,
]
LAYOUT = """struct<a bigint, k string, geo struct<x double>, tags array<struct<k string, w bigint>>,
m struct<a bigint, b int>>"""
LAYOUTS = [LAYOUT, "struct<a string, geo string, tags array<string>>", None]

SUB_VARIANTS = {
    "select id, v:geo AS g from t": "$.geo",
    "select id, to_json(v:geo), variant_get(v, '$.tags[0].k', 'variant') from t": "$.geo, $.tags[0].k",
    "select max(length(to_json(v:geo))) AS n, count(v:k) AS c from t": "$.geo, $.k",
    "select to_json(v:geo) AS g, count(*) AS n from t where v:geo is not null group by 1": "$.geo",
    "select id, e.pos, e.value from t, lateral variant_explode(v:tags) AS e": "$.tags",
    "select sum(try_variant_get(e.value, '$.w', 'bigint')) AS n from t, "
    "lateral variant_explode(t.v:tags) AS e where try_variant_get(v, '$.a', 'int') >= 1": "$.tags, $.a",
    "select id, e.key from t, lateral variant_explode_outer(v:m) AS e": "$.m",
    "select a.id, to_json(b.v:geo) AS g from t a join t b on a.id = b.id where a.v:k is null": "$.geo, $.k",
    "select schema_of_variant_agg(v:tags) AS s from t": "$.tags",
    "select id, try_variant_get(v, '$.m', 'map<string,bigint>') AS m from t": "$.m",
    "select sum(cardinality(v:m::map<string,string>)) AS n from t where id % 10000 = 0": "$.m",
    "select case when try_cast(v:a as int) = 2 then v:a::int end AS a, v:geo from t": "$.a, $.geo",
    "select id, v:geo from t order by v:k::string, id limit 4": "$.geo, $.k",
    "select x.g from (select v:geo AS g, id AS i from t) x where i % 10000 < 5": "$.geo",
    "with s as (select v:m, id from t) select m, id from s union all select v:geo, id from t": "$.m, $.geo",
}
OTHERS = [
    "select id, v:geo, v from t",
    "select id, v:geo from t where v is null",
    "select id, to_json(w:geo) AS g from (select id, v AS w from t)",
    "select schema_of_variant_agg(v) AS s from t",
    "select id, struct(v:geo) AS s from t",
    "select e.v:k::string AS k from t, lateral variant_explode(v:tags) AS e(p, k, v)",
]


def rows_of(frame: Any) -> list[str]:
    """The rows in one order, and JSON with sorted keys: their order depends on how a file is shredded."""

    def plain(value: Any) -> str:
        return value.toJson() if hasattr(value, "toJson") else str(value)

    def normal(value: Any) -> Any:
        text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=plain)
        try:
            return json.dumps(json.loads(json.loads(text) if text[:1] == '"' else text), sort_keys=True)
        except ValueError:
            return text

    return sorted(str([normal(value) for value in row.asDict(True).values()]) for row in frame.collect())


@pytest.mark.parametrize("layouts", [[LAYOUT], LAYOUTS], ids=["one layout", "three layouts"])
def test_answers_are_sparks(spark: SparkSession, tmp_path: Path, layouts: list[str | None]) -> None:
    place = in_every_layout(spark, tmp_path, VALUES, layouts, "sub_variants")
    sl.Table(place).delete("id % 10000 = 1")
    for text in (*SUB_VARIANTS, *OTHERS):
        ours = sql(spark, text, t=place)
        kept = "(select * from sub_variants where id % 10000 <> 1)"
        theirs = spark.sql(f"with t as {kept} ({text})")
        assert ours.schema.simpleString() == theirs.schema.simpleString(), text
        assert rows_of(ours) == rows_of(theirs), text
        assert ", ".join(explain(spark, text, t=place).sub_variants) == SUB_VARIANTS.get(text, ""), text


def test_files_that_spark_wrote(spark: SparkSession, tmp_path: Path) -> None:
    written = tmp_path / "written"
    rows = spark.sql('select id, parse_json(format_string(\'{"geo": {"x": %d}}\', id)) AS v from range(20)')
    rows.coalesce(1).write.parquet(str(written))
    table = sl.Table.create(tmp_path / "t", pq.read_schema(next(written.glob("*.parquet"))))
    adopt(table, written)
    text = "select sum(length(to_json(v:geo))) AS n from t"
    assert sql(spark, text, t=table.uri).collect() == [(10 * 7 + 10 * 8,)]


def test_spark_rebuilds_only_these_paths(spark: SparkSession, tmp_path: Path) -> None:
    place = in_every_layout(spark, tmp_path, VALUES, [LAYOUT], "sub_variants")
    for text, paths in SUB_VARIANTS.items():
        assert paths_read(sql(spark, text, t=place)) <= set(paths.split(", ")), text
    text = "select max(length(to_json(v:geo))) AS n from t"
    assert paths_read(spark.sql(f"with t as (table sub_variants) {text}")) == {"$"}
    lines = str(explain(spark, text, t=place)).splitlines()
    assert lines[:2] == [
        "t is read by Spark with its Variants: the query reads no path with a type",
        "Spark rebuilds the Variants at $.geo, not whole ones",
    ]
