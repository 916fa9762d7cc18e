"""`sql` answers as Spark does over the same Variants, and prunes below whatever stands above the table."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.spark import query
from shredlake.spark.query import sql

pytestmark = pytest.mark.spark

FILES, ROWS = 4, 50


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four files sorted by `ts`; in the last, `kind` is mixed."""
    place = tmp_path_factory.mktemp("sql") / "events"
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create(place, schema, properties={"delta.enableVariantShredding": "true"})
    for file in range(FILES):
        ids = range(file * ROWS, (file + 1) * ROWS)
        texts = [
            json.dumps(
                {
                    "ts": n,
                    "kind": n if file == 3 and n % 10 == 0 else f"k{n % 3}",
                    "user": {"id": n % 7},
                    "tags": ["a", f"t{n % 2}"],
                    "extra": {"x": n},
                }
            )
            for n in ids
        ]
        rows = pa.table({"id": pa.array(ids, pa.int64()), "v": sl.from_json(pa.array(texts))})
        layout = "struct<ts bigint, kind string, user struct<id bigint>, tags array<string>>"
        table.append(rows, shredding={"v": layout})
    return str(place)


@pytest.fixture(scope="module")
def native(spark: Any, events: str) -> str:
    """The same table read by Spark alone."""
    query.register(spark, "native_events", events)
    return "native_events"


QUERIES = [
    "select v:kind::string, count(*) from {t} where v:ts::bigint between 10 and 120 group by 1",
    "select v:user.id::bigint u, sum(v:ts::bigint) s, max(id) from {t} group by all order by u",
    "with e as (select v, id from {t} where v:ts::bigint < 60) "
    "select v:kind::string k, id from e where id > 5",
    "select a.id, b.v:kind::string from {t} a join {t} b on a.v:ts::bigint = b.v:ts::bigint + 1 "
    "where a.id < 20",
    "select id from {t} where v:user.id::bigint in "
    "(select v:user.id::bigint from {t} where v:ts::bigint = 5)",
    "select v:tags[1]::string t, count(*) from {t} where v:kind::string <> 'k1' group by 1 order by 1",
    "select id, v:ts::bigint ts from {t} where v:ts::bigint > 150 union all "
    "select id, v:user.id::bigint from {t} where v:ts::bigint < 10",
    "select try_variant_get(v, '$.kind', 'int') k, variant_get(v, '$.extra.x', 'int') x from {t} "
    "where id >= 140",
    "select v:ts::bigint + 1 as n, upper(v:kind::string) from {t} order by 1 desc limit 7",
    "select count(*) from {t}",
    "select v:kind::int k from {t} where id in (150, 160)",
    "select v:extra.x::date from {t} where id < 0",
    "select variant_get(v, '$.tags', 'int') x from {t} where id > 1000",
    "select v:extra from {t} where id = 3",
    "select schema_of_variant(v) from {t} where v:ts::bigint = 7",
    "select id, t.value::string from {t}, lateral variant_explode(v:tags) t where id < 3",
    "select distinct try_cast(v:kind as int) k from {t} where v:ts::bigint >= 150 order by k",
    "select id from {t} where v:nowhere::string is null and v:ts::bigint = 42",
]


@pytest.mark.parametrize("text", QUERIES)
def test_answers_equal_sparks(spark: Any, events: str, native: str, text: str) -> None:
    ours = sql(spark, text.format(t="events"), events=events)
    theirs = spark.sql(text.format(t=native))
    assert ours.columns == theirs.columns
    assert [field.dataType for field in ours.schema] == [field.dataType for field in theirs.schema]
    assert sorted(map(str, ours.collect())) == sorted(map(str, theirs.collect()))


PRUNING = {
    "a filter": "select id from events where v:ts::bigint = 60",
    "an aggregate": "select v:kind::string, count(*) from events where v:ts::bigint = 60 group by 1",
    "a sort": "select id from events where v:ts::bigint = 60 order by v:kind::string limit 1",
    "a subquery": "select * from (select id, v:ts::bigint t from events) where t = 60",
    "a common table expression": "with e as (select v, id from events) "
    "select id from e where v:ts::bigint = 60",
    "a union": "select id from events where v:ts::bigint = 60 union all "
    "select id from events where v:ts::bigint = 61",
    "a join": "select a.id from events a join range(5) r on a.v:user.id::bigint = r.id "
    "where a.v:ts::bigint = 60",
    "a view": "select id from v_events where t = 60",
}


@pytest.mark.parametrize("what", PRUNING)
def test_files_are_pruned_under(spark: Any, events: str, what: str) -> None:
    text = PRUNING[what]
    if what == "a view":
        text = text.replace("v_events", "(select id, v:ts::bigint t from events)")
    frame = sql(spark, text, events=events)
    assert frame.count() > 0
    assert len(frame.inputFiles()) == 1, frame._jdf.queryExecution().optimizedPlan().toString()


@pytest.mark.parametrize("path", ["v:kind::int", "v:extra.x::date", "variant_get(v, '$.tags', 'int')"])
def test_a_value_that_does_not_cast_raises_as_in_spark(spark: Any, events: str, path: str) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match=r"cast|CAST"):
        sql(spark, f"select {path} from events", events=events).collect()


def test_a_users_own_view_comes_back(spark: Any, events: str) -> None:
    spark.range(3).createOrReplaceTempView("events")
    try:
        assert sql(spark, "select count(*) c from events", events=events).collect()[0]["c"] == FILES * ROWS
        assert spark.sql("select count(*) c from events").collect()[0]["c"] == 3
    finally:
        spark.catalog.dropTempView("events")


def test_a_query_that_is_wrong_is_sparks_error(spark: Any, events: str) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match="nothing"):
        sql(spark, "select nothing from events", events=events)
