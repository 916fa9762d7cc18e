"""Queries for DuckDB: paths are columns of scans, and the rest of the text stays."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.expr.sql import spelled_ref
from shredlake.sql.references import TableColumns
from shredlake.sql.rewrite import RewrittenQuery, rename_tables, rewrite, tables_of, words_of
from shredlake.sql.weights import EngineFunctions

TABLES = {
    "e": TableColumns(("id", "v", "Name"), frozenset({"v"})),
    "u": TableColumns(("id", "w"), frozenset({"w"})),
    "lake/day.x": TableColumns(("v",), frozenset({"v"})),
}
FUNCTIONS = EngineFunctions(frozenset({"count", "min", "max", "sum", "list"}), frozenset({"random"}))


def rewritten(sql: str) -> RewrittenQuery:
    return rewrite(sql, TABLES, lambda table, name: pa.int64(), FUNCTIONS)


def text(found: RewrittenQuery) -> str:
    """The query, without the numbers of functions, which count on from query to query."""
    return re.sub(r"__sl_get\d+", "__sl_get", found.sql)


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("select v:a::int from e", 'select "e".__sl_1 AS "a" from __sl_table0 AS "e"'),
        ("select v:a::int x from e y", 'select "y".__sl_1 x from __sl_table0 y'),
        ("from e select v:a", 'from __sl_table0 AS "e" select "e".__sl_1 AS "a"'),
        ("select '🚀', `v`:a::int from e;", 'select \'🚀\', "e".__sl_1 AS "a" from __sl_table0 AS "e";'),
        ("select 'v:a' from e -- v:a", "select 'v:a' from __sl_table0 AS \"e\" -- v:a"),
        ("select v:a + 1 from e", 'select "e".__sl_1 + 1 AS "v:a + 1" from __sl_table0 AS "e"'),
        ("select v::string from e", 'select "e".__sl_1 AS "v::string" from __sl_table0 AS "e"'),
        ("select id::string from e", 'select id::string from __sl_table0 AS "e"'),
        ("select v:a from 'lake/day.x'", 'select "day".__sl_1 AS "a" from __sl_table0 AS "day"'),
        ("summarize e", "summarize __sl_table0"),
        ("select 1", "select 1"),
        (
            "select * from e where v:a::int = 1",
            'select * EXCLUDE (__sl_1) from __sl_table0 AS "e" where "e".__sl_1 = 1',
        ),
        (
            "select e.*, 1 from e, u where e.v:a::int = 1 and w:b::int = 2",
            'select e.* EXCLUDE (__sl_1), 1 from __sl_table0 AS "e", __sl_table1 AS "u" '
            'where "e".__sl_1 = 1 and "u".__sl_2 = 2',
        ),
        (
            "with c as (select v, from e) select v:a::int from c",
            'with c as (select v, "e".__sl_2 AS __sl_1, from __sl_table0 AS "e") '
            'select "c".__sl_1 AS "a" from c',
        ),
        (
            "select v:a::int from (select v from e union all select w from u)",
            'select __sl_1 AS "a" from (select v, "e".__sl_2 AS __sl_1 from __sl_table0 AS "e" union all '
            'select w, "u".__sl_3 AS __sl_1 from __sl_table1 AS "u")',
        ),
        (
            "select row_number() over w from e window w as (order by v:n::int)",
            'select row_number() over w AS "row_number() over w" from __sl_table0 AS "e" '
            'window w as (order by "e".__sl_1)',
        ),
    ],
)
def test_paths_are_columns_of_scans(sql: str, wanted: str) -> None:
    found = rewritten(sql)
    assert text(found) == wanted
    assert found.functions == {}


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        (
            "select v:a::int from (select distinct v from e)",
            'select __sl_get(v) AS "a" from (select distinct v from __sl_table0 AS "e")',
        ),
        (
            "select v:a::int from e natural join u",
            'select __sl_get(v) AS "a" from __sl_table0 AS "e" natural join __sl_table1 AS "u"',
        ),
        (
            "select [v:a::int for v in [1]] from e",
            'select [__sl_get(v) for v in [1]] AS "[v:a::int for v in [1]]" from __sl_table0 AS "e"',
        ),
        ("selec v:a::int from e", "selec __sl_get(v) from e"),
    ],
)
def test_a_path_in_doubt_is_a_function_of_a_whole_variant(sql: str, wanted: str) -> None:
    found = rewritten(sql)
    assert text(found) == wanted
    assert [spelled_ref(get) for get in found.functions] == ["v:a::int"]


def test_a_path_without_a_type_in_doubt_is_duckdbs() -> None:
    found = rewritten("select v:a['it''s'][0] x from (select distinct v from e)")
    assert "variant_extract(variant_extract(variant_extract(v, 'a'), 'it''s'), 1) x" in found.sql
    assert found.functions == {}


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("count(*)", 'CAST(coalesce(sum("e".__sl_1), 0) AS BIGINT) AS "count_star()"'),
        (
            "count(id) n",
            'CAST(coalesce(sum("e".__sl_1) FILTER (WHERE id IS NOT NULL), 0) AS BIGINT) n',
        ),
        ("min(v:a::int)", 'min("e".__sl_2) AS "min(v:a::int)"'),
        ("max(name)", 'max("e".__sl_2) AS "max(name)"'),
        ("min(v:a::int), max(v:a::int), min(v:a::int) c",
         'min("e".__sl_2) AS "min(v:a::int)", max("e".__sl_3) AS "max(v:a::int)", min("e".__sl_2) c'),
        ("min(v:a)", 'min("e".__sl_2) AS "min(v:a)"'),
        ("count(*), sum(id)", "count(*), sum(id)"),
    ],
)  # fmt: skip
def test_aggregates_count_merged_rows(sql: str, wanted: str) -> None:
    found = rewritten(f"select {sql} from e")
    assert found.sql == f'select {wanted} from __sl_table0 AS "e"'
    assert (found.references[0].weight is None) == ("sum(id)" in sql)


def test_what_a_scan_reads() -> None:
    sql = "select v:a::int, hour(make_timestamp(v:t::bigint)), min(id), max(v:b::int) from e group by all"
    [reference] = rewritten(sql).references
    assert (reference.table, reference.alias, reference.name) == ("e", "e", "__sl_table0")
    assert [spelled_ref(get) for get in reference.paths] == ["v:a::int"]
    assert [(part, spelled_ref(get)) for part, get in reference.time_parts] == [("hour", "v:t::bigint")]
    assert [which for which, _ in reference.extremes] == ["min", "max"]


def test_a_table_that_no_from_clause_names_keeps_its_name() -> None:
    [reference] = rewritten("select * from query_table('e')").references
    assert (reference.name, reference.node) == ("e", None)


def test_a_table_that_is_read_twice_has_two_scans() -> None:
    found = rewritten("select a.v:x::int from e a, e b where b.v:y::int = 1")
    read = [(one.alias, [spelled_ref(get) for get in one.paths]) for one in found.references]
    assert read == [("a", ["v:x::int"]), ("b", ["v:y::int"])]


def test_columns_of_the_user_may_have_names_like_ours() -> None:
    data = pa.table({"v": sl.from_json(['{"a": 1}']), "__SL_1": [5], "__sl_table0": [6]})
    found = sl.sql("select v:a::bigint, * exclude (v) from t where v:a::bigint = 1", t=data).to_arrow()
    assert found.to_pylist() == [{"a": 1, "__SL_1": 5, "__sl_table0": 6}]


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("select 1", ()),
        ("select * from b, a join b c using (id)", ("b", "a")),
        ("with c as (select * from a) select * from c join 'lake/b' using (id)", ("a", "lake/b")),
        ("select (select max(x) from inner1) from outer1", ("outer1", "inner1")),
        ("select w:a::int from t", ("t",)),
        ("selec * from a join b, c", ("a", "b", "c")),
        ("", ()),
    ],
)
def test_tables_of_a_query(sql: str, tables: tuple[str, ...]) -> None:
    assert sorted(tables_of(sql)) == sorted(tables)


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("select a.x from a, b", "select a.x from t, b"),
        ("select 'a', \"a\" from \"a\" -- a", "select 'a', \"a\" from t -- a"),
        ("select v:a from a where v:a = 'é🚀' and x in (from a)",
         "select v:a from t where v:a = 'é🚀' and x in (from t)"),
        ("with a as (select 1) select * from a", "with a as (select 1) select * from a"),
        ("selec * from a", "selec * from a"),
    ],
)  # fmt: skip
def test_tables_get_other_names(sql: str, wanted: str) -> None:
    assert rename_tables(sql, {"a": "t"}) == wanted


def test_words_of_a_query() -> None:
    assert words_of("select 'it''s', `odd name` -- not this") == {"select", "it's", ",", "odd name"}
