"""`sql` answers as Spark does over the same Variants, and prunes below whatever stands above the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake import caches
from shredlake.spark.query import api as query
from shredlake.spark.query.api import explain, sql
from shredlake.spark.query.scan import SparkScan
from shredlake.spark.query.strategies.answer import BY_ANALYSIS

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
    "select id, v:ts::bigint ts from {t} where v:ts::bigint < 60 and v:user.id::int <= 3",
    "select id, variant_get(v, '$.tags', 'array<string>') from {t} where v:ts::bigint < 60",
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


def test_a_path_is_compared_without_asking_whether_it_is_null(
    spark: Any, events: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "spark.sql.constraintPropagation.enabled"

    def plan(text: str) -> str:
        return str(sql(spark, text, events=events)._jdf.queryExecution().executedPlan().toString())

    alone = "select count(*) from events where v:ts::bigint = 7"
    assert "isnotnull" in plan(alone)  # so few rows are tested twice sooner than settings change
    monkeypatch.setattr(query, "FEW_BYTES", 0)
    assert "isnotnull" not in plan(alone)
    assert "PushedFilters: [EqualTo(" in plan(alone)
    assert sql(spark, alone, events=events).collect()[0][0] == 1
    joined = "select count(*) from events a join events b on a.id = b.id where a.v:ts::bigint = 7"
    assert "isnotnull" in plan(joined)  # there, what is known of one side serves the other
    settings = spark._jsparkSession.sessionState().conf()
    assert not settings.settings().containsKey(name)
    spark.conf.set(name, "true")
    assert "isnotnull" not in plan(alone)
    assert spark.conf.get(name) == "true"
    spark.conf.unset(name)


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


def test_what_is_remembered_is_never_old(spark: Any, tmp_path: Path) -> None:
    """New versions, other settings and other views are seen by the next query."""
    schema = pa.schema([("v", sl.variant())])
    table = sl.Table.create(tmp_path / "t", schema, properties={"delta.enableVariantShredding": "true"})

    def append(*texts: str) -> None:
        rows = pa.table({"v": sl.from_json(pa.array(texts))})
        table.append(rows, shredding={"v": "struct<n bigint, at string>"})

    def ask(text: str) -> list[Any]:
        return [tuple(row) for row in sql(spark, text, t=tmp_path / "t").collect()]

    append('{"n": 1, "at": "2024-07-01 00:00:00"}')
    counted = "select count(*), max(v:n::bigint) from t where v:n::bigint > 0"
    assert ask(counted) == ask(counted) == [(1, 1)]
    append('{"n": 2, "at": "2024-07-01 12:00:00"}')
    assert ask(counted) == [(2, 2)]
    table.delete("v:n::bigint = 1")
    assert ask(counted) == [(1, 2)]

    zoned = "select unix_seconds(v:at::timestamp) from t"
    [(before,)] = ask(zoned)
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        assert ask(zoned) == [(before - 9 * 3600,)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert ask(zoned) == [(before,)]

    over_view = "select count(*) from t join chosen on v:n::bigint = chosen.n"
    for number, found in ((2, 1), (3, 0), (2, 1)):
        spark.sql(f"create or replace temporary view chosen as select {number} as n")
        assert ask(over_view) == [(found,)]
    spark.catalog.dropTempView("chosen")


def test_two_answers_can_be_joined(spark: Any, events: str) -> None:
    """They come from one frame over the files, and yet have columns of their own."""
    text = "select id, v:ts::bigint ts from events where v:ts::bigint < 60"
    one, two = (sql(spark, text, events=events) for _ in range(2))
    joined = one.join(two, (one["id"] == two["id"] + 1) & (one["ts"] > two["ts"]))
    assert joined.count() == 59


def test_a_cached_view_of_the_same_name_stays_cached(spark: Any, events: str) -> None:
    spark.range(3).createOrReplaceTempView("events")
    try:
        spark.catalog.cacheTable("events")
        sql(spark, "select v:kind::string from events", events=events)
        assert spark.catalog.isCached("events")
        spark.catalog.uncacheTable("events")
    finally:
        spark.catalog.dropTempView("events")


def test_explain_says_what_is_read_and_why(spark: Any, events: str) -> None:
    text = (
        "select v:kind::string, count(*) from events "
        "where v:ts::bigint between 160 and 170 and v:kind::string like '%1%' group by 1"
    )
    found = explain(spark, text, events=events)
    assert not found.reason
    assert (found.tables["events"].files, found.tables["events"].files_total) == (1, FILES)
    lines = str(found).splitlines()
    assert lines[0] == "events is answered from its paths"
    assert "v:ts::bigint >= 160 rules out 3 of 4 files" in lines
    assert "contains(v:kind::string, '1') rules out nothing: only Spark understands it" in lines
    assert any(line.startswith("v:kind is mixed in 1 of 1 file") for line in lines)


def test_explain_says_why_variants_are_read_as_such(spark: Any, events: str) -> None:
    columns = {
        "v": "the query needs a Variant as a whole",
        "is_variant_null(v)": "the query needs a Variant as a whole",
        "to_json((v:kind::string, v:ts::bigint))": "the query names fields",
    }
    for column, reason in columns.items():
        found = explain(spark, f"select {column} from events where v:ts::bigint = 7", events=events)
        assert found.reason.startswith(reason) or "gives a Variant" in found.reason
        assert str(found).startswith("events is read by Spark with its Variants: the query ")
        assert found.tables["events"].files == 1


def test_explain_of_two_tables(spark: Any, events: str) -> None:
    text = "select count(*) from a join b on a.id = b.v:user.id::bigint where a.v:ts::bigint = 7"
    found = explain(spark, text, a=events, b=events)
    assert (found.tables["a"].files, found.tables["b"].files) == (1, FILES)
    assert str(found).count("is answered from its paths") == 2


def test_explain_says_why_other_strategies_do_not_apply(spark: Any, events: str) -> None:
    grouped = explain(spark, "select v:kind::string, count(*) from events group by 1", events=events)
    assert list(grouped.declined) == ["groups by workers", "top-n by workers"]
    assert "too few to be worth starting workers" in grouped.declined["groups by workers"]
    assert str(grouped).endswith(
        "top-n by workers not used: the query is not ORDER BY … LIMIT over columns of the table"
    )
    whole = explain(spark, "select v from events", events=events)
    assert list(whole.declined) == [strategy.name for strategy in BY_ANALYSIS[:-1]]
    assert whole.declined["plain columns"] == whole.reason


@pytest.mark.parametrize(
    "text",
    [
        "select id, v:kind::string from a where v:ts::bigint > 3",
        "select v:kind::string, count(*) from a group by 1",
        "select v:kind::string k from a order by k limit 3",
        "select v from a where v:ts::bigint > 3",
        "select count(*) from a join b on a.id = b.v:user.id::bigint",
    ],
)
def test_each_table_is_scanned_once(
    spark: Any, events: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    original = SparkScan.__init__

    def counted(scan: SparkScan, *arguments: Any, **options: Any) -> None:
        made.append(text)
        original(scan, *arguments, **options)

    monkeypatch.setattr(SparkScan, "__init__", counted)
    caches.clear()
    tables: dict[str, Any] = {name: events for name in ("a", "b") if f" {name} " in f"{text} "}
    sql(spark, text, **tables)
    assert len(made) == len(tables)


def test_the_same_text_may_mean_something_else_the_next_time(spark: Any, events: str) -> None:
    """How a query was answered is remembered, by its plan; its text alone does not say what it means."""
    text = "select count(*) from t where v:ts::bigint >= 0 and id in (select id from chosen)"
    for first in (0, 150, 150, 199):
        spark.range(first, FILES * ROWS).createOrReplaceTempView("chosen")
        assert sql(spark, text, t=events).collect()[0][0] == FILES * ROWS - first
    spark.catalog.dropTempView("chosen")
    numbers = [
        sql(spark, "select rand() + v:ts::bigint * 0 from t limit 1", t=events).collect() for _ in "ab"
    ]
    assert numbers[0] != numbers[1]


def test_what_is_remembered_of_a_query_does_not_outlive_a_commit(spark: Any, tmp_path: Path) -> None:
    schema, shredded = pa.schema([("v", sl.variant())]), {"delta.enableVariantShredding": "true"}
    table = sl.Table.create(tmp_path / "t", schema, properties=shredded)
    rows = pa.table({"v": sl.from_json(pa.array(['{"a": 1}', '{"a": 2}']))})
    for times in (1, 2, 3):
        table.append(rows)
        for _ in range(2):
            frame = sql(spark, "select sum(v:a::bigint) s from t", t=str(tmp_path / "t"))
            assert frame.collect()[0].s == 3 * times
    one, other = (sql(spark, "select v:a::bigint a from t", t=str(tmp_path / "t")) for _ in range(2))
    assert one.join(other, one.a == other.a).count() == 18
