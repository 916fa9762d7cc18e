"""Queries that ask whether a Variant or a value in it is NULL, and structs and joins named after paths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shredlake.spark.query.api import explain, sql
from spark_tables import in_every_layout

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

VALUES: list[Any] = [
    {"a": 1, "k": "x", "geo": {"x": 1.5}, "tags": [{"k": "a", "w": 1}, {"k": "b"}]},
    {"a": 2, "geo": None, "tags": []},
    {"a": "x", "k": "z", "geo": "here", "tags": None},
    {},
    {"geo": {}},
    5,
    None,
    ...,
]
LAYOUT = "struct<a bigint, k string, geo struct<x double>, tags array<struct<k string, w bigint>>>"

FROM_PATHS = [
    "select count_if(v is null) AS n, count(v) AS c, count(v:geo) AS g, count_if(isnull(v:a)) AS h from t",
    "select id from t where v:geo.x is not null and v is not null",
    "select id, v:tags[1] is null AS x, case when v:geo is not null then 1 else 2 end AS y from t",
    "select count(v:k), max(id) from t where v:geo is null or isnotnull(t.v:a) group by v is null",
    "select a.id, b.id AS x from t a left join t b on a.id = b.id + 1 where b.v is null",
    "select to_json(struct(v:k::string, id, try_variant_get(v, '$.a', 'int'), v:k::string AS x)) AS s from t",
    "select count(*), sum(id) from (select v:k::string, id from t) natural join (select v:k::string from t)",
]
FROM_VARIANTS = [
    "select id from (select id, v AS w from t) where w is null",
    "select count(w) from (select * from t) s(id, w)",
    "select count(v) from (select id, variant_get(v, '$.geo', 'variant') AS v from t)",
    "select to_json(struct((v:k::string), id)) from t",
    "select to_json(array((v:k::string, id))) from t",
    "select count(distinct to_json(v)), count(v) from t",
]


@pytest.mark.parametrize("layouts", [[LAYOUT], [LAYOUT, None]], ids=["shredded", "some not shredded"])
def test_answers_are_sparks(spark: SparkSession, tmp_path: Path, layouts: list[str | None]) -> None:
    place = in_every_layout(spark, tmp_path, VALUES, layouts, "presence")
    for text in (*FROM_PATHS, *FROM_VARIANTS):
        ours, theirs = sql(spark, text, t=place), spark.sql(f"with t as (table presence) {text}")
        assert ours.schema.simpleString() == theirs.schema.simpleString(), text
        assert sorted(map(repr, ours.collect())) == sorted(map(repr, theirs.collect())), text
        if len(layouts) == 1:
            assert (explain(spark, text, t=place).reason == "") is (text in FROM_PATHS), text
