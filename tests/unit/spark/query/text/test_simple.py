"""The text of many queries tells all that is needed to plan them; other queries are not taken."""

from __future__ import annotations

import pytest

from shredlake.delta.schema.types import Field, Struct
from shredlake.expr.parse import parse_predicate
from shredlake.spark.query.text.simple import SimpleQuery, simple_query


def parsed(sql: str) -> SimpleQuery | None:
    return simple_query(sql, frozenset({"v", "w"}))


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
        "select v:a::int AS a from t tablesample (10 rows)",
        "select v:a::int AS a from t e(x, y)",
        "select v:a::int AS a from t union all select 1",
        "select v:a::int AS a from t minus table t",
        "select v:a::int AS a from t group by grouping sets ((a), ())",
        "select sum(v:a::int) filter (where id > 1) AS a from t",
        "select /*+ coalesce(1) */ v:a::int AS a from t",
        'select v:a::int AS a from t where day = "x"',
        "select v:a::int AS a from t where day = '\\x'",
        "select v:a::int AS a from t where day = '${x}'",
        "select v:a::int AS a from t where day collate utf8_lcase = 'x'",
        "select v:a::int AS `a``b` from t",
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
    ("sql", "over"),
    [
        ("select T.v:a::int AS a from T", "select T.v.__path0 AS a from x1 AS `T`"),
        ("select v:a::int AS a from t AS e where e.id = 1",
         "select v.__path0 AS a from x1 AS `e` where e.id = 1"),
        ("select v:a::int AS a from `t` `my e`", "select v.__path0 AS a from x1 AS `my e`"),
        ("select id from t where v:a::int in (select max(key) from s)",
         "select id AS `id` from x1 AS `t` where v.__path0 in (select max(key) from x2 AS `s`)"),
        ("with c as (select v:a::int AS m from t) select m from c join t e on m = 1",
         "with c as (select v.__path0 AS m from x1 AS `t`) select m AS `m` from c join x1 AS `e` on m = 1"),
        ("select n from (select v:a::int AS n from t) t",
         "select n AS `n` from (select v.__path0 AS n from x1 AS `t`) t"),
    ],
)  # fmt: skip
def test_views_take_the_places_of_tables(sql: str, over: str) -> None:
    query = parsed(sql)
    assert query is not None
    assert query.over({"t": "x1", "s": "x2"}) == over


def test_columns_beyond_ascii_always_count_as_used() -> None:
    """Spark takes the Kelvin sign for a k, and a dotless i for an i."""
    found = parsed("select v:a::int AS a, k from t")
    assert found is not None
    assert [found.uses(name) for name in ("v", "K", "k", "id", "\u212a")] == [True, True, True, False, True]


@pytest.mark.parametrize(
    ("sql", "reduced"),
    [
        ("select v:a::int AS a from t where id > 3", False),
        ("select v:a::int AS a from t limit 5", False),
        ("select v:a::int AS a from t order by a", False),
        ("select v:a::int AS a from t order by a limit 5", True),
        ("select distinct v:a::int AS a from t", False),
        ("select day from t where v:a::int > 3 group by day", False),
        ("select avg(v:a::int) AS a from t", False),
        ("select day, COUNT(*) AS n from t where v:a::int > 3 group by day", True),
        ("select max(v:a::int) AS a from t", True),
        ("select v:sum::int AS a, 'max' AS m from t", False),
        ("select a from (select max(v:a::int) AS a from t) x", True),
        ("select count(*) AS n from t join s on t.v:a::int = s.v:a::int", False),
        ("select v:a::int AS a from t union all select v:b::int AS a from t order by a limit 5", False),
    ],
)
def test_what_workers_may_answer_in_parts(sql: str, reduced: bool) -> None:
    found = parsed(sql)
    assert found is not None
    assert found.may_be_reduced is reduced


def test_the_needs_of_tables_are_unknown_in_doubt() -> None:
    schemas = {"t": Struct((Field("id", "long"), Field("v", "variant")))}
    sure, doubtful = parsed("select v:a::int AS a from t where id > 1"), parsed("select v:a::int AS a from u")
    assert sure is not None
    assert doubtful is not None
    assert (sure.needs(schemas) or {})["t"].where == parse_predicate("id > 1")
    assert doubtful.needs(schemas) is None
