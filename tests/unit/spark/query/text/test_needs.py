"""The paths that a query reads of each table, and the conditions on its rows; in doubt, nothing."""

from __future__ import annotations

import pytest

from shredlake.delta.schema.types import Field, Struct
from shredlake.expr import Expr
from shredlake.expr.parse import parse_predicate
from shredlake.spark.query.text.needs import Need, needs_of
from shredlake.spark.query.text.selects import NotSimple
from shredlake.spark.query.text.simple import simple_query

SCHEMA = Struct((Field("id", "long"), Field("day", "string"), Field("at", "date"), Field("v", "variant")))
OTHER = Struct((Field("key", "long"), Field("v", "variant"), Field("w", "variant")))


def needs(sql: str) -> dict[str, Need]:
    query = simple_query(sql, frozenset({"v", "w"}))
    if query is None:
        raise NotSimple
    return needs_of(query.text, query.rewritten, query.selects, {"t": SCHEMA, "s": OTHER})


def condition(where: str) -> Expr | None:
    return needs(f"select v:a::int AS a from t where {where}")["t"].where


def shown(sql: str) -> dict[str, str]:
    return {name: str(need.where) for name, need in needs(sql).items()}


@pytest.mark.parametrize(
    ("where", "read"),
    [
        ("v:a::int > 1 and t.v:b.c::string = 'x'", "v:a::int > 1 AND v:b.c::string = 'x'"),
        ("(t.id > 1 or `day` is null) and id < 2", "(id > 1 OR day IS NULL) AND id < 2"),
    ],
)
def test_conditions_have_no_qualifiers(where: str, read: str) -> None:
    assert str(condition(where)) == str(parse_predicate(read))


ON = "on t.v:k::int = s.v:k::int"
TEXT_AND_CONDITIONS = {
    f"t join s {ON} where id > 1 and s.key < 5": ("id > 1", "key < 5"),
    "t, s where t.v:k::int = s.v:k::int and t.v:a::int < 5": ("v:a::int < 5", "None"),
    f"t join s {ON} and id > 1 and s.v:b::int = 3": ("id > 1", "v:b::int = 3"),
    f"t left join s {ON} and id > 1 and key < 5": ("None", "key < 5"),
    f"t left join s {ON} where id is null and key < 5": ("id IS NULL", "key < 5"),
    f"t left join s {ON} where key is null": ("None", "None"),
    f"t left join s {ON} where key <=> 5": ("None", "None"),
    f"t left join s {ON} where not (key > 5 or key is null)": ("None", "None"),
    f"t right join s {ON} and id > 1 and key < 5 where key > 2": ("id > 1", "key > 2"),
    f"t right join s {ON} where id is null": ("None", "None"),
    f"t full join s {ON} and id > 1 where key < 5": ("None", "key < 5"),
    f"t left semi join s {ON} and id > 1 and key < 5": ("id > 1", "key < 5"),
    f"t left anti join s {ON} and id > 1 and key < 5": ("None", "key < 5"),
    f"s full join s b on true right join t {ON}": None,
    f"t join s {ON} where exists (select 1 from s b where b.key = 3)": ("None", "None"),
    f"t join s {ON} where s.key > (select max(b.v:k::int) from s b) and id = 3": ("id = 3", "None"),
    f"t join s {ON} where id > 1 or key > 5": None,
    "t join s on t.id = s.key where id > 1": None,
    "t join s using (v)": None,
    "t natural join s": None,
    f"t join s {ON} where x > 3": None,
    f"t join s {ON} where v:a::int > 3": None,
}  # fmt: skip


@pytest.mark.parametrize("text", TEXT_AND_CONDITIONS)
def test_joins(text: str) -> None:
    expected = TEXT_AND_CONDITIONS[text]
    sql = f"select t.day, count(*) AS n from {text}"
    if expected is None:
        with pytest.raises(NotSimple):
            needs(sql)
    else:
        read = [one if one == "None" else str(parse_predicate(one)) for one in expected]
        assert shown(sql) == dict(zip(("t", "s"), read, strict=True))


@pytest.mark.parametrize(
    "sql",
    [
        "with t as (select 1 AS one from t) select one, v:a::int AS a from t",  # which table is `t`?
        "with a as (select v:a::int AS a from t) select a.v:b::int AS b from a",
        "select v:a::int AS a from t group by 1 having a > 1",
        "select x.a from (select v:a::int AS a from t) x where a > 1",
        "select (select max(u.v:a::int) from s) AS a from t",
        "select v:a::int AS a from t, (select key, v:k::int AS day from s) x where day = 3",
        "select t.v:a::int AS a from unknown join t on true",
    ],
)
def test_queries_of_which_the_needs_are_in_doubt(sql: str) -> None:
    with pytest.raises(NotSimple):
        needs(sql)


def test_each_table_has_its_own_paths() -> None:
    found = needs(
        "with c as (select max(v:a::int) AS m from t where v:b::int > 1) select c.m, w:x::int AS x from s, c "
        "where exists (select 1 from t e where e.v:k::int = s.v:k::int and c.m > 3)"
    )
    paths = {name: sorted(f"{get.column}:{get.path}" for get in need.paths) for name, need in found.items()}
    assert paths == {"t": ["v:$.a", "v:$.b", "v:$.k"], "s": ["v:$.k", "w:$.x"]}
    assert found["t"].where is None


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
