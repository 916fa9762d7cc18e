"""Queries that are planned from their text alone: as Spark answers them, and as the full planning does."""

# ruff: noqa: E501 (one query, one line)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.expr import Get
from shredlake.spark.query.api import planned, register, sql
from shredlake.spark.query.strategies.answer import BY_ANALYSIS
from spark_tables import answer_from_text

pytestmark = pytest.mark.spark

FILES, ROWS = 4, 20

QUERIES = [
    "select day, count(*) n, sum(v:a::bigint) AS s from {t} group by day",
    "select Day, E.ID, E.v:kind::string from {t} AS e where e.day = 'd1' and e.v:a::bigint < 30",
    "select count(*) from {t} where v:a::bigint in (5, 25, 45) or v:kind::string like 'k2%'",
    "select distinct v:kind::string AS k, upper(day) from {t} where not v:a::int >= 20 order by k, 2 limit 3",
    "select max(v:user.id::int) m, count(distinct v:kind::string, day) c from {t} where v:x::double > 1.5 ;",
    "select `v`:a::int AS `a b`, `day` from {t} where `id` between 15 and 22 order by `a b` limit 5 offset 1",
    "select try_variant_get(v, '$.kind', 'int') AS k, id from {t} where v:a::bigint > 70 group by all",
    "select case when v:a::int > 30 then 'x' else day end AS c, coalesce(v:none::int, id) n from {t} "
    "where v:a::int <> 3 and (v:kind::string is null or v:kind::string = 'k1')",
]  # fmt: skip


SEVERAL = [
    "select e.day, s.v:kind::string as k, count(*) n from {t} e join {t} s on e.v:a::bigint = s.v:a::bigint "
    "where e.v:a::bigint < 15 and s.id < 30 group by 1, 2",
    "select e.id, s.day from {t} e left join {t} s on e.id = s.id + 1 and s.v:a::bigint > 50 "
    "where s.day is null and e.v:a::bigint > 30",
    "select s.id from {t} e right join {t} s on e.v:a::int = s.v:a::int and e.v:a::int in (3, 4) where s.day = 'd0'",
    "select id from {t} where v:a::bigint > (select avg(v:a::bigint) from {t} where day in ('d1', 'd2')) "
    "and v:a::bigint < 70",
    "select day from {t} e where exists (select 1 from {t} s where s.v:a::int = e.v:a::int and s.v:a::int < 5)",
    "select distinct day from {t} where v:a::int in (select v:a::int from {t} where v:a::int >= 65)",
    "select day, sum(v:x::double) AS s from {t} where v:a::int < 45 group by day having count(*) > 3 and max(id) < 40",
    "select id, rank from (select id, row_number() over (partition by day order by v:a::bigint desc) rank from {t} "
    "where v:a::int >= 20) ranked where rank <= 2 order by id",
    "with few as (select v:kind::string as k, count(*) as n from {t} where day = 'd0' group by 1) "
    "select few.k, n, max(e.v:a::int) AS m from few join {t} e on e.v:kind::string = few.k where n > 6 group by 1, 2",
    "select v:a::int from {t} where v:a::int < 3 union all select v:user.id::int from {t} where id = 70 order by 1",
    "select v:kind::string from {t} where id < 20 except select v:kind::string from {t} where id = 21",
    "select max(m) AS m from (select max(v:a::int) AS m from {t} where id < 20 union select 5 from {t} where id > 70) u",
]  # fmt: skip

FALL_BACK = [
    "select e.v:a::int AS a from {t} e join {t} s on e.id = s.id where e.id < 5",  # Spark filters `s`, too
    "select k from (select v:kind::string AS k from {t}) s where k = 'k1'",  # Spark moves the condition
    "select x.n from (select v:a::int AS n from {t}) x join {t} s on s.id = x.n where x.n > 3",
]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file for each day, sorted by `a`; in the last, `kind` is mixed."""
    place = tmp_path_factory.mktemp("simple") / "events"
    schema = pa.schema([("id", pa.int64()), ("day", pa.string()), ("v", sl.variant()), ("w", sl.variant())])
    table = sl.Table.create(place, schema, ["day"], {"delta.enableVariantShredding": "true"})
    for file in range(FILES):
        numbers = range(file * ROWS, (file + 1) * ROWS)
        texts = [
            json.dumps({"a": n, "kind": n if n == 77 else f"k{n % 3}", "user": {"id": n % 7}, "x": n / 8})
            for n in numbers
        ]
        rows = pa.table(
            {
                "id": pa.array(numbers, pa.int64()),
                "day": [f"d{file}"] * ROWS,
                "v": sl.from_json(pa.array(texts)),
                "w": sl.from_json(pa.array(['{"a": "other"}'] * ROWS)),
            }
        )
        table.append(rows, shredding={"v": "struct<a bigint, kind string, user struct<id bigint>>"})
    return str(place)


@pytest.mark.parametrize("text", [*QUERIES, *SEVERAL])
def test_the_answer_is_sparks_and_the_files_those_of_the_full_plan(
    spark: Any, events: str, text: str
) -> None:
    register(spark, "simple_native", events)
    query = text.format(t="t")
    snapshot = sl.Table(events).snapshot
    at_once = answer_from_text(spark, query, {"t": snapshot})
    assert at_once is not None
    full = planned(spark, query, {"t": events}, strategies=BY_ANALYSIS)
    assert len(at_once.scans["t"].files) == len(full.scans["t"].files)
    mine, theirs = sql(spark, query, t=events), spark.sql(text.format(t="simple_native"))
    assert mine.columns == theirs.columns
    assert [one.dataType for one in mine.schema] == [one.dataType for one in theirs.schema]
    assert sorted(map(repr, mine.collect())) == sorted(map(repr, theirs.collect()))


@pytest.mark.parametrize("text", FALL_BACK)
def test_conditions_that_spark_applies_elsewhere_too_need_its_plan(
    spark: Any, events: str, text: str
) -> None:
    query = text.format(t="t")
    assert answer_from_text(spark, query, {"t": sl.Table(events).snapshot}) is None
    register(spark, "simple_native", events)
    theirs = spark.sql(text.format(t="simple_native")).collect()
    assert sorted(map(repr, sql(spark, query, t=events).collect())) == sorted(map(repr, theirs))


def test_each_table_reads_its_own_paths(spark: Any, events: str) -> None:
    """A path that only `t` needs must not make workers read `b`."""
    snapshot = sl.Table(events).snapshot
    text = "select t.v:a::int AS a from t join b on t.v:a::int = b.v:x::int where t.v:kind::string = 'k1'"
    found = answer_from_text(spark, text, {"t": snapshot, "b": snapshot})
    assert found is not None
    paths = {
        name: sorted(str(ref.path) for ref in scan.references if isinstance(ref, Get))
        for name, scan in found.scans.items()
    }
    assert paths == {"t": ["$.a", "$.kind"], "b": ["$.x"]}


def test_files_are_pruned(spark: Any, events: str) -> None:
    snapshot = sl.Table(events).snapshot
    found = answer_from_text(spark, "select v:a::int AS a from T where v:a::int > 70", {"t": snapshot})
    assert found is not None
    assert len(found.scans["t"].files) == 1


def test_columns_of_two_answers_are_not_the_same_columns(spark: Any, events: str) -> None:
    text = "select id, day, max(v:a::int) AS a from t where id < 10 group by id, day"
    one, other = sql(spark, text, t=events), sql(spark, text, t=events)
    assert one.join(other, one.id < other.id).count() == 45
    assert one.crossJoin(other).where(one.day == other.day).count() == 100


def test_mistakes_are_told_in_the_users_own_words(spark: Any, events: str) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match="nothing"):
        sql(spark, "select nothing, v:a::int AS a from t", t=events)
    with pytest.raises(AnalysisException, match="MISSING_AGGREGATION"):
        sql(spark, "select day, v:a::int AS a from t group by day", t=events)


def test_a_value_that_does_not_cast_raises_if_it_is_needed(spark: Any, events: str) -> None:
    assert sql(spark, "select v:kind::int AS k from t where id = 77", t=events).collect()[0].k == 77
    with pytest.raises(Exception, match="try_variant_get"):
        sql(spark, "select v:kind::int AS k from t where id < 3", t=events).collect()


REDUCED = {
    "select max(v:a::bigint) AS a from t": [(FILES * ROWS - 1,)],
    "select day, count(*) AS n from t where v:a::bigint >= 0 group by day order by day": [
        (f"d{n}", ROWS) for n in range(FILES)
    ],
    "select id, v:a::bigint AS a from t order by a desc limit 2": [(79, 79), (78, 78)],
}
"""Queries that workers may answer in parts, with their answers."""

NOT_REDUCED = {
    "select id, v:a::int AS a from t where v:a::int in (3, 70)": [(3, 3), (70, 70)],
    "select id from t where v:a::int < 3 order by id": [(0,), (1,), (2,)],
    "select v:a::int AS a from t where id = 7 limit 5": [(7,)],
    "select distinct v:kind::string AS k from t where v:a::int < 9": [("k0",), ("k1",), ("k2",)],
    "select day from t where v:a::int < 9 group by day": [("d0",)],
    "select avg(v:a::int) AS a from t where id < 3": [(1.0,)],
    "select count(*) AS n from t e join t s on e.v:a::int = s.v:a::int where e.v:a::int < 5": [(5,)],
}
"""Queries that workers never answer in parts, with their answers."""


@pytest.fixture
def counts_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table is large enough for workers."""
    from shredlake.spark.query.workers import pushdown

    monkeypatch.setattr(pushdown, "ENOUGH_BYTES", 0)
    monkeypatch.setattr(pushdown, "FILES_PER_CORE", 0)


@pytest.mark.usefixtures("counts_as_large")
@pytest.mark.parametrize("text", REDUCED)
def test_what_workers_may_answer_of_a_large_table_is_left_to_the_strategies(
    spark: Any, events: str, text: str
) -> None:
    snapshot = sl.Table(events).snapshot
    assert answer_from_text(spark, text, {"t": snapshot}) is None
    assert planned(spark, text, {"t": events}).by_workers
    assert [tuple(row) for row in sql(spark, text, t=events).collect()] == REDUCED[text]


@pytest.mark.usefixtures("counts_as_large")
@pytest.mark.parametrize("text", NOT_REDUCED)
def test_other_queries_of_a_large_table_are_planned_from_their_text(
    spark: Any, events: str, text: str
) -> None:
    assert answer_from_text(spark, text, {"t": sl.Table(events).snapshot}) is not None
    assert not planned(spark, text, {"t": events}, strategies=BY_ANALYSIS).by_workers
    assert sorted(map(tuple, sql(spark, text, t=events).collect())) == NOT_REDUCED[text]


def test_a_table_that_is_renamed_and_empty(spark: Any, tmp_path: Path) -> None:
    schema = pa.schema([("v", sl.variant())])
    table = sl.Table.create(tmp_path / "t", schema)
    tables: dict[str, Any] = {"x y": table}
    assert sql(spark, "select v:a::int AS a from `x y`", **tables).collect() == []
