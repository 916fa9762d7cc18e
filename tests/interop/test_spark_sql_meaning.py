"""Queries that are easily misread by who looks for paths in their text: each means what Spark says."""

# ruff: noqa: E501 (one query, one line)

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from delta_tables import variants
from long_runs import some
from shredlake.spark.query.api import sql
from spark_versions import skip_before

pytestmark = pytest.mark.spark

VALUES: list[Any] = [
    {
        "ts": 1,
        "kind": "a",
        "d": Decimal("1.25"),
        "when": "2024-03-10 02:30:00",
        "l": [1, "x"],
        "o": {"p.q": 5},
    },
    {"ts": 2, "kind": "7", "d": Decimal("9.95"), "when": "2024-01-01", "l": [], "o": {"p": {"q": 6}}},
    {"ts": 300, "kind": 7, "d": 2.5, "when": 5, "l": {"k": 1}, "TS": 8},
    {"ts": "x", "kind": None, "v": {"ts": 4}, "p0": 9},
    None,
    ...,
    {"ts": 2, "kind": "b", "d": "0.15", "when": "2024-11-03T01:30:00", "select": 1},
    7,
]
LAYOUTS = ["struct<ts bigint, kind string, d decimal(10,2), when string, l array<bigint>>", None]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight rows in each of two files, one shredded; `w` has the Variants of `v` in another order."""
    place = tmp_path_factory.mktemp("meaning")
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant()), ("w", sl.variant()), ("p0", pa.int64())])
    made = sl.Table.create(place / "t", schema, properties={"delta.enableVariantShredding": "true"})
    pieces = []
    for number, layout in enumerate(LAYOUTS):
        ids = range(number * 10, number * 10 + len(VALUES))
        rows = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "v": variants(VALUES),
                "w": variants(VALUES[::-1]),
                "p0": pa.array(ids, pa.int64()),
            }
        )
        made.append(rows, shredding={"v": layout, "w": "struct<kind string>"})
        pieces.append(rows)
    pq.write_table(pa.concat_tables(pieces), place / "plain.parquet")
    return place


@pytest.fixture
def session(spark: Any) -> Iterator[Any]:
    before = {name: spark.conf.get(name) for name in SETTINGS[0]}
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


SETTINGS = [
    {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"},
    {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "America/Los_Angeles"},
]


TYPED = "try_variant_get(v, '$.ts', 'bigint')"

QUERIES = {
    "a Variant as text": f"select id, v::string from t where {TYPED} = 2",
    "a Variant as JSON": f"select id, to_json(v) from t where {TYPED} = 2",
    "a Variant inside a struct": f"select id, to_json(struct(*)) from t where {TYPED} = 2",
    "its type": f"select typeof(v), schema_of_variant(v) from t where {TYPED} = 2",
    "is null": f"select id from t where v is null or {TYPED} = 2",
    "is not null": f"select id from t where v is not null and coalesce({TYPED}, 0) < 2",
    "counted": f"select count(*), count(v), count(w), count({TYPED}) from t",
    "is the Variant null": f"select id from t where is_variant_null(v) or {TYPED} = 2",
    "in coalesce": "select id, try_variant_get(coalesce(v, w), '$.ts', 'int') from t",
    "aggregated as a whole": f"select to_json(max_by(v, id)) from t where {TYPED} = 2",
    "null after an outer join": "select a.id, b.id from t a left join t b on a.id = b.id + 1 where b.v is null",
    "a path after an outer join": "select a.id, try_variant_get(b.v, '$.ts', 'int') from t a "
    "left join t b on a.id = b.id + 5",
    "a scalar subquery": f"select id from t where {TYPED} = (select max({TYPED}) from t where id < 5)",
    "a subquery that asks for other paths": "select id, (select max(try_variant_get(v, '$.kind', 'string')) from t) "
    f"from t where {TYPED} = 2",
    "an outer Variant in a subquery": "select id from t a where exists (select 1 from t b where b.id = a.id and "
    "try_variant_get(a.v, '$.ts', 'int') = try_variant_get(b.v, '$.ts', 'int'))",
    "a union of two Variants": "select try_variant_get(x, '$.ts', 'int'), try_variant_get(x, '$.kind', 'string') "
    "from (select v as x from t where id < 4 union all select w from t where try_variant_get(w, '$.d', 'int') > 0)",
    "a correlated subquery": "select id, (select count(*) from t b where try_variant_get(b.v, '$.kind', 'string') = a.k) from (select id, try_variant_get(w, '$.kind', 'string') k from t) a",
    "two distinct counts": "select count(distinct try_variant_get(v, '$.ts', 'int')), "
    "count(distinct try_variant_get(w, '$.kind', 'string')) from t",
    "rollup": f"select {TYPED} a, try_variant_get(v, '$.kind', 'string') b, count(*) from t group by rollup(1, 2)",
    "pivot": "select * from (select id % 2 i, try_variant_get(v, '$.kind', 'string') k from t) "
    "pivot (count(*) for k in ('a', 'b'))",
    "a window over whole rows": "select try_variant_get(v, '$.ts', 'int') from (select *, "
    "row_number() over (order by id) n from t) where n between 2 and 9",
    "a limit below": "select try_variant_get(v, '$.ts', 'int') from (select * from t order by id limit 5)",
    "a table expression of the table's name": "with t as (select w as v, id from t) "
    "select id, try_variant_get(v, '$.ts', 'int') from t",
    "an alias that is the column": "select v.id, try_variant_get(v.v, '$.ts', 'int') from t v",
    "an alias that hides the column": f"select id, {TYPED} as v from t where {TYPED} = 2 order by v",
    "a column named as a path": "select v.p0, try_variant_get(t.v, '$.ts', 'int') from t join t v on v.id = t.id",
    "a path of a path": "select try_cast(v:v:ts as int), try_cast(v:v.ts as int), try_cast(v:p0 as int) from t",
    "another Variant's path of that name": "select id, try_variant_get(x, '$.v.ts', 'int') from "
    "(select w as x, id, v from t) where x:v:ts is null",
    "quoted names": "select `t`.`v`:`ts`::string, `v`:`kind`::string from t where `id` in (0, 10)",
    "quotes inside a path": "select try_cast(v:o.`p.q` as int), try_cast(v:o['p.q'] as int), "
    "try_variant_get(v, '$.o[\"p.q\"]', 'int') from t",
    "keywords as names": "select try_cast(v:select as int), try_cast(v:when as string) from t",
    "letters of another case": "select ID, try_cast(V:ts as int), try_cast(v:TS as int), Try_Variant_Get(V, '$.TS', 'INT') from T",
    "comments": "select /* v:x::int */ id, -- v:y::int, 'é\n try_cast(v /* a */ : ts as /* b */ int) from t",
    "text that looks like a path": "select 'v:ts::bigint', \"v:ts::int\", id, try_cast(v:ts as int) from t",
    "letters beyond ASCII": "select 'éß😀' as `naïve`, try_cast(v:ts as int) from t where id <> 1 -- 😀",
    "rounding": "select try_cast(v:d as decimal(3,1)), try_cast(v:d as int), try_cast(v:d as decimal(10,3)) from t",
    "times": "select try_cast(v:when as timestamp), try_cast(v:when as timestamp_ntz), "
    "try_cast(v:when as date) from t",
    "a time compared": "select id from t where try_cast(v:when as timestamp) < timestamp'2024-03-10 03:00:00'",
    "not in": "select id from t where try_cast(v:ts as int) not in (1, 2)",
    "not in with null": "select id from t where try_cast(v:ts as int) not in (1, null)",
    "not": "select id from t where not (try_cast(v:ts as int) = 1 or try_cast(v:kind as string) = 'a')",
    "never equal": "select id from t where try_cast(v:ts as int) <> 1 or try_cast(v:ts as int) is null",
    "null-safe": "select id from t where try_cast(v:ts as int) <=> null and try_cast(v:kind as string) <=> 'a'",
    "exploded": "select id, e.pos, e.key, e.value::string from t, lateral variant_explode(v:l) e",
    "exploded and filtered": "select id, e.value::string from t, lateral variant_explode_outer(v:l) e "
    "where try_cast(v:ts as int) = 1",
    "a filter that guards a cast": "select id, v:ts::int from t where try_cast(v:ts as int) < 100",
    "a case that guards a cast": "select id, case when try_cast(v:ts as int) < 100 then v:ts::tinyint end from t",
    "arithmetic between paths": "select try_cast(v:ts as int) * 2 + try_cast(w:ts as int) from t",
    "a nested type": "select try_variant_get(v, '$.l', 'array<string>'), try_cast(v:ts as int) from t",
    "no path at all": "select count(*), max(id) from t where id > 3",
    "nothing at all": "select id, try_cast(v:ts as int) from t where 1 = 0",
    "values joined": "select k.x, t.id from t join values (2), (7) k(x) on try_cast(t.v:ts as int) = k.x",
    "order by a path": "select id from t order by try_cast(v:ts as int) desc nulls last, id limit 4",
    "lateral columns": "select try_cast(v:ts as int) as a, a + 1 as b from t",
    "a struct of paths": "select to_json(struct(v:kind::string, id)) from t",
    "a row of paths": "select to_json(array((v:kind::string, id))) from t",
    "all columns as a struct": "select to_json(struct(*)) from (select v:kind::string, id from t)",
    "all columns as a struct, unnamed": "select to_json(struct(*)) from (select upper(v:kind::string), id from t)",
    "a column named by Spark": "select kind, ts from (select id, v:kind::string, try_cast(w:ts as int) from t)",
    "a column named by Spark, of another meaning": "select id, (select max(p0) from (select try_cast(v:p0 as bigint) from t)) from t",
    "ordered by the name that Spark gives": "select try_cast(v:p0 as int) from t order by p0 nulls last, id limit 3",
    "named by Spark in quotes": "select `upper(CAST(variant_get(v, $.kind) AS kind AS STRING))` from (select upper(v:kind::string) from t)",
    "a natural join": "select count(*), max(ts) from (select try_cast(v:ts as int), id from t) natural join "
    "(select try_cast(w:ts as int), id + 10 as other from t)",
    "joined using a name": "select count(*) from (select v:kind::string from t) join (select w:kind::string from t) using (kind)",
    "pipes": "from t |> select id, v:kind::string |> where kind = 'a'",
    "not null": "select count(id), count(p0), count(try_cast(v:ts as int)) from t",
    "strict, and it casts": "select v:kind::string, cast(v:d as string), variant_get(v, '$.when', 'string') from t",
}  # fmt: skip

ERRORS = {
    "a value that can't be cast": "select v:kind::int from t",
    "in one file only": "select v:ts::bigint from t where id < 8",
    "a number that is too large": "select v:ts::tinyint from t where id = 2",
    "in the other file": "select v:ts::tinyint from t where id = 12",
    "in an aggregate": "select sum(v:ts::int) from t",
    "a decimal that is too large": "select v:ts::decimal(2,0) from t where id = 2",
}


def both(spark: Any, table: Path, text: str) -> tuple[Any, Any]:
    spark.read.schema("id bigint, v variant, w variant, p0 bigint").parquet(
        str(table / "plain.parquet")
    ).createOrReplaceTempView("t")
    theirs = spark.sql(text)
    spark.catalog.dropTempView("t")
    return sql(spark, text, t=table / "t"), theirs


NOT_IN_4_1 = ("a path of a path", "another Variant's path of that name", "quotes inside a path")


def choose(spark: Any, settings: dict[str, str]) -> None:
    for name, value in settings.items():
        spark.conf.set(name, value)


@pytest.mark.parametrize("what", some(QUERIES))
def test_means_what_spark_says(session: Any, table: Path, what: str) -> None:
    if what in NOT_IN_4_1:
        skip_before("4.2", "an internal error of Spark's, COLUMN_IS_NOT_VARIANT_TYPE, in its own reading")
    choose(session, SETTINGS[list(QUERIES).index(what) % 2])
    ours, theirs = both(session, table, QUERIES[what])
    assert ours.schema.simpleString() == theirs.schema.simpleString()
    assert sorted(map(repr, ours.collect())) == sorted(map(repr, theirs.collect()))


@pytest.mark.parametrize("settings", SETTINGS, ids=["ansi", "not ansi"])
@pytest.mark.parametrize("what", ERRORS)
def test_fails_where_spark_fails(session: Any, table: Path, what: str, settings: dict[str, str]) -> None:
    from pyspark.errors import PySparkException

    choose(session, settings)
    for frame in both(session, table, ERRORS[what]):
        with pytest.raises(PySparkException):
            frame.collect()


@pytest.mark.parametrize(
    "command",
    [
        "create table x as select * from t",
        "with a as (select 1) insert into x select * from a",
        "drop view t",
    ],
)
def test_commands_are_refused_before_they_run(spark: Any, table: Path, command: str) -> None:
    with pytest.raises(sl.InvalidExpression, match="accepts only queries"):
        sql(spark, command, t=table / "t")
