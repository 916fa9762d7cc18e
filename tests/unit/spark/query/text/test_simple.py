"""The text of one SELECT from one table tells its paths and conditions; other queries are not taken."""

from __future__ import annotations

import pytest

from shredlake.delta.schema.types import Field, Struct
from shredlake.expr import Expr
from shredlake.spark.query.text.simple import NotSimple, SimpleQuery, simple_query

SCHEMA = Struct((Field("id", "long"), Field("day", "string"), Field("at", "date"), Field("v", "variant")))


def parsed(sql: str) -> SimpleQuery | None:
    return simple_query(sql, frozenset({"v"}))


def condition(where: str) -> Expr | None:
    found = parsed(f"select v:a::int AS a from t where {where}")
    if found is None:
        raise NotSimple
    return found.pruning(SCHEMA)


@pytest.mark.parametrize(
    ("sql", "rewritten"),
    [
        ("select v:a::int from t", "select v.__path0 AS `a` from t"),
        (
            "select Day, t.id from t where v:a::int > 1",
            "select Day AS `Day`, t.id AS `id` from t where v.__path0 > 1",
        ),
        ("select count(*), max(v:a::int) m from t e;", "select count(*), max(v.__path0) m from t e"),
        (
            "select distinct v:a::int x from t group by all order by 1 desc limit 5 offset 2",
            None,  # `int x` may be a type of two words
        ),
        (
            "select distinct v:a::int AS x from t group by all order by 1 desc limit 5 offset 2",
            "select distinct v.__path0 AS x from t group by all order by 1 desc limit 5 offset 2",
        ),
        (
            "select case when v:a::int in (1, 2) then 'x' end AS c from t",
            "select case when v.__path0 in (1, 2) then 'x' end AS c from t",
        ),
    ],
)
def test_one_select_from_one_table(sql: str, rewritten: str | None) -> None:
    found = parsed(sql)
    assert (found and found.rewritten.sql) == rewritten


@pytest.mark.parametrize(
    "sql",
    [
        "select max(v:a::int) from t",  # Spark names it after its text
        "select v:a::int + 1 from t",
        "select variant_get(v, '$.a', 'int') from t",
        "select day from t",  # no path
        "select v, v:a::int AS a from t",
        "select *, v:a::int AS a from t",
        "select count(v), sum(v:a::int) AS a from t",
        "select (v:a::int, v:b::int) AS x from t",  # fields are named after their text
        "select struct(v:a::int) AS x from t",
        "select arrays_zip(v:a::array<int>) AS x from t",
        "select my_function(v:a::int) AS x from t",
        "select v:a::int AS a from t, s",
        "select v:a::int AS a from t join s on true",
        "select v:a::int AS a from t tablesample (10 rows)",
        "select v:a::int AS a from t e(x, y)",
        "select v:a::int AS a from t union all select 1",
        "select v:a::int AS a from t minus table t",
        "select v:a::int AS a from t where id in (select 1)",
        "select v:a::int AS a from t group by 1 having a > 1",
        "select v:a::int AS a from t group by grouping sets ((a), ())",
        "select sum(v:a::int) filter (where id > 1) AS a from t",
        "select sum(v:a::int) over (order by id) AS a from t",
        "select /*+ coalesce(1) */ v:a::int AS a from t",
        'select v:a::int AS a from t where day = "x"',
        "select v:a::int AS a from t where day = '\\x'",
        "select v:a::int AS a from t where day = '${x}'",
        "select v:a::int AS a from t where day collate utf8_lcase = 'x'",
        "select v:a::int AS `a``b` from t",
        "with t as (select 1) select v:a::int AS a from t",
        "from t select v:a::int AS a",
        "select v:a::int AS a from t |> limit 1",
        "select (day), v:a::int AS a from t",
        "select v:ts::timestamp + interval 1 day from t",
        "select v:a::int AS a from t where",
        "select v:a::int AS a from",
        "select",
        "",
    ],
)
def test_everything_else_is_analysed_by_spark(sql: str) -> None:
    assert parsed(sql) is None


@pytest.mark.parametrize(
    ("where", "parts"),
    [
        ("v:a::int > 1 and t.v:b.c::string = 'x'", ("v:a::int > 1", "v:b.c::string = 'x'")),
        (
            "(id > 1 or `day` is null) and id between 1 and 2",
            ("(id > 1 or `day` is null)", "id between 1 and 2"),
        ),
    ],
)
def test_the_parts_of_a_condition_have_no_qualifiers(where: str, parts: tuple[str, ...]) -> None:
    found = parsed(f"select v:a::int AS a from t where {where} group by 1 limit 3")
    assert found is not None
    assert found.conditions == parts


@pytest.mark.parametrize(
    "where",
    [
        "id > 1",
        "id in (1, 2)",
        "v:a::double <= 1.5",
        "not day = 'x'",
        "v:k::string like 'a%'",
        "v:k::int is null",
        "v:a is null",
        "v is not null",
    ],
)
def test_conditions_without_conversions_prune(where: str) -> None:
    assert condition(where) is not None


@pytest.mark.parametrize(
    "where",
    [
        "day = 1",  # Spark converts the column, and may fail
        "v:k::string > 5",
        "id = '5'",
        "at > '2026-01-01'",
        "at > date '2026-01-01'",
        "id > v:a::int",
        "id + 1 > 2",
        "upper(day) = 'X'",
        "v:c::boolean",
        "other = 1",
        "x.id = 1",
        "s is null",
        "id = null",
    ],
)
def test_other_conditions_are_analysed_by_spark(where: str) -> None:
    with pytest.raises(NotSimple):
        condition(where)


def test_columns_beyond_ascii_always_count_as_used() -> None:
    """Spark takes the Kelvin sign for a k, and a dotless i for an i."""
    found = parsed("select v:a::int AS a, k from t")
    assert found is not None
    assert [found.uses(name) for name in ("v", "K", "k", "id", "\u212a")] == [True, True, True, False, True]
