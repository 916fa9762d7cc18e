"""Paths in the text of a query become columns; all other text stays as it is."""

from __future__ import annotations

import pytest

from shredlake.errors import InvalidExpression
from shredlake.expr.types import PRESENT
from shredlake.spark.query.text.sql_paths import (
    depends_on_generated_names,
    edited,
    is_query,
    may_take_whole,
    rewrite,
    with_tables,
    with_views,
)

V = frozenset({"v"})


@pytest.mark.parametrize(
    "sql",
    [
        "select 'v:a::int', \"v:a::int\", `v:a::int` from t",
        "select 1 -- v:a::int\n from t /* cast(v:b as int) */",
        "select v:a, v:b.c[0] from t",
        "select cast(a as int), a::int, f(a):b from t",
        "select v:a::uuid, try_cast(v:t as time) from t",
        "select v:a::variant from t",
        "select variant_get(v, p, 'int'), variant_get(v, '$.a') from t",
        "select variant_get(v, '$.a', k) from t",
        "",
    ],
)
def test_other_text_stays(sql: str) -> None:
    found = rewrite(sql)
    assert (found.sql, dict(found.fields), found.places) == (sql, {}, ())
    assert found.rest == found.tokens


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select V:a::int + 1 from t", "select V.__path0 + 1 from t"),
        ("select x.`v`:a::int AS b from t", "select x.`v`.__path0 AS b from t"),
        ("select v:`odd name`::int from t", "select v.__path0 AS `odd name` from t"),
        ("select v:['a``b']::int, 1 from t", "select v.__path0 AS `a````b`, 1 from t"),
        ("select v:l[3]::int, id from t", "select v.__path0 AS `l`, id from t"),
        ("select 1 from t where v:a::int\n\tin (1)", "select 1 from t where v.__path0\n\tin (1)"),
        ("select count(v:a::int) over () c from t", "select count(v.__path0) over () c from t"),
        ("select v:a::int from t group by v:a::int", "select v.__path0 AS `a` from t group by v.__path0"),
        ("select (select v:a::int from t)", "select (select v.__path0 AS `a` from t)"),
    ],
)  # fmt: skip
def test_only_the_path_is_replaced(sql: str, expected: str) -> None:
    found = rewrite(sql, V)
    assert found.sql == expected
    assert edited(sql, found.edits) == expected


def test_a_path_of_another_type_or_another_failure_is_another_field() -> None:
    found = rewrite("select v:a::int + v:a::bigint + try_cast(v:a as int) + w:a::int + V:a::int from t")
    fields = [(str(get.path), str(get.type), get.strict, name) for get, name in found.fields.items()]
    kinds = [("$.a", "int", True), ("$.a", "bigint", True), ("$.a", "int", False)]
    assert [one[:3] for one in fields][:3] == kinds
    assert [one[3] for one in fields] == [f"__path{number}" for number in range(len(fields))]


def test_only_columns_of_the_given_names_are_paths() -> None:
    found = rewrite("select V:a::int, w:a::int from t", V)
    assert found.sql == "select V.__path0 AS `a`, w:a::int from t"
    assert [place.column for place in found.places] == ["V"]


@pytest.mark.parametrize(
    "sql",
    [
        "select 1 from t where v is null",
        "select 1 from t where not v is not null",
        "select count(v) from t",
        "select isnull(v) from t",
        "select case when t.v:a is null then 1 end from t",
    ],
)
def test_a_question_for_null_reads_a_field(sql: str) -> None:
    found = rewrite(sql, V)
    assert [get.type for get in found.fields] == [PRESENT]
    assert rewrite(sql, V, frozenset()).sql == sql


@pytest.mark.parametrize(
    "sql",
    [
        "select 1 from t where 1 = v is null",  # the operator takes the Variant away from IS NULL
        "select count(distinct v) from t",
        "select count(v, id) from t",
        "select coalesce(v, w) from t",
        "select v is distinct from null from t",
    ],
)
def test_other_uses_of_whole_variants_are_not_questions_for_null(sql: str) -> None:
    assert rewrite(sql, V).sql == sql


@pytest.mark.parametrize(
    ("sql", "unnamed", "listed"),
    [
        ("select v:a::int, v:b::int AS b, count(*) from t", False, False),
        ("select v:a::int + 1 from t", True, False),
        ("select upper(v:a::string) from t", True, False),
        ("select id from t where v:a::int + 1 > 2", False, False),
        ("select (v:a::int, id) AS x from t", True, True),
        ("select distinct (id, v:a::int) AS x from t", True, True),
        ("select id, (v:a::int, id) AS x from t", True, True),
        ("select case when (v:a::int, id) = x then (1, 2) end AS x from t", True, True),
        ("select case id when 1 then (v:a::int, id) else (1, 2) end AS x from t", True, True),
        ("select case id when 1 then x else (v:a::int, id) end AS x from t", True, True),
        ("select 1 from t where (v:a::int, id) in (select 1, 2)", False, True),
        ("select 1 from t where id in (v:a::int, 2) and f(v:a::int, 2) = 1", False, False),
        ("select 1 from t where (v:a::int) > 1", False, False),
    ],
)
def test_columns_that_spark_names_and_lists_are_marked(sql: str, unnamed: bool, listed: bool) -> None:
    found = rewrite(sql)
    assert (found.unnamed, found.listed) == (unnamed, listed)


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("from t |> select v:a::int", True),
        ("select `variant_get(v, $.a, int)` from (select v:a::int + 1 from t)", True),
        ("select 'variant_get(v)' from (select v:a::int + 1 from t)", False),
        ("select v:a::int from t natural join s", False),
    ],
)
def test_generated_names(sql: str, wanted: bool) -> None:
    assert depends_on_generated_names(rewrite(sql)) is wanted


@pytest.mark.parametrize(
    "sql",
    [
        "select 1",
        "SELECT 1;",
        "((select 1)) union (select 2)",
        "from t select x",
        "values (1)",
        "table t",
        "/* insert into */ select 'insert into t' -- drop table t",
        "with a as (select 1), b as (table a) select * from b",
        "with a as (select 1) from a select *",
        "select `insert`, into from t",
    ],
)
def test_queries(sql: str) -> None:
    assert is_query(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        ";",
        "drop table t",
        "set x = 1",
        "explain select 1",
        "insert into t select 1",
        "INSERT OVERWRITE t select 1",
        "from t insert into u select x",
        "from t insert overwrite table u select x",
        "with a as (select 1) delete from t",
        "with a as (select 1) merge into t using a on true when matched then delete",
        "with a as (select 1) from a insert into u select *",
        "cache table t as select 1",
    ],
)
def test_commands(sql: str) -> None:
    assert not is_query(sql)


def test_names_of_tables_can_hold_backticks() -> None:
    assert with_tables("select 1 ; ;", {"a`b": "x", "c": "y"}) == (
        "WITH `a``b` AS (TABLE x), `c` AS (TABLE y) (\nselect 1 \n)"
    )
    assert with_tables("select 1;", {}) == "select 1;"
    assert with_views("select 1;", {}) == "select 1;"


def test_a_comment_at_the_end_does_not_hide_what_follows() -> None:
    for text in (
        with_tables("select 1 -- one", {"t": "x"}),
        with_views("select 1 -- one", {"v": (["a"], "select 1 -- b")}),
    ):
        assert [line for line in text.splitlines() if "--" in line and line.endswith(")")] == []


@pytest.mark.parametrize("sql", ["select 1) select (2", "select 1\n)"])
def test_a_query_can_not_close_the_parenthesis_around_it(sql: str) -> None:
    for wrapped in (
        lambda: with_tables(sql, {"t": "x"}),
        lambda: with_views(sql, {"t": (["a"], "select 1")}),
    ):
        with pytest.raises(
            InvalidExpression, match=r"syntax error at line \d: unmatched closing parenthesis"
        ):
            wrapped()
    assert ")" in with_tables("select ')'", {"t": "x"})


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("select v:a::int from t", False),
        ("select 'v', v:a::int from t", False),
        ("select V from t", True),
        ("select t.v, v:a::int from t", True),
        ("select v:a from t where v:b::int > 1", True),
        ("select t.* from t", True),
        ("select count(*), v:a::int * 2 from t", True),  # in doubt
        ("select v:a::int from t AS e(x, y)", True),
        ("select v:a::int from t where id in (1, 2)", False),
    ],
)
def test_variants_as_a_whole(sql: str, wanted: bool) -> None:
    assert may_take_whole(rewrite(sql), {"V"}) is wanted
