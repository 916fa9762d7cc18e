"""Aggregates that stay the same over merged rows, and those that do not."""

from __future__ import annotations

import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

import shredlake as sl
from shredlake.sql.api import _engine_functions
from shredlake.sql.path_tokens import DUCKDB
from shredlake.sql.references import References, TableColumns
from shredlake.sql.text import mark_query
from shredlake.sql.weights import EngineFunctions, mark_number, merging_reference

TABLES = {name: TableColumns(("id", "v"), frozenset({"v"})) for name in ("e", "u")}
FUNCTIONS = EngineFunctions(frozenset({"approx_top_k", "histogram"}), frozenset({"random", "uuid"}))


def merging(sql: str, functions: EngineFunctions = FUNCTIONS) -> str | None:
    """The table whose equal rows the scan of the outermost SELECT may merge."""
    query = mark_query(sql, {"v"})
    tree = sqlglot.parse_one(query.copy, dialect=DUCKDB)
    references = References(tree, TABLES)
    assert isinstance(tree, exp.Select)
    scope = references.scope_of(tree)
    assert scope is not None
    found = merging_reference(tree, scope, references, query, functions)
    return None if found is None else found.alias


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from e",
        "select count() from e",
        "select count(id), min(id), max(v:a::int) from e",
        "select count(distinct v:a::int) from e where id > 3",
        "select v:a::int from e group by 1",
        "select v:a::int a, count(*) from e group by a having count(*) > 1 order by 2 limit 3",
        "select lower(v:a::string), min(id + 1) from e group by all",
        "select count(*) + 1 from e",
        "select hour(make_timestamp(v:t::bigint)), count(*) from e group by 1",
    ],
)
def test_rows_may_be_merged(sql: str) -> None:
    assert merging(sql) == "e"


@pytest.mark.parametrize(
    "sql",
    [
        "select id from e",
        "select v:a::int from e where id = 1",
        "select sum(id) from e",
        "select avg(v:a::int), count(*) from e",
        "select list(id) from e group by v:a::int",
        "select histogram(id), count(*) from e",
        "select count(*) filter (where id > 1) from e",
        "select count(*) over () from e",
        "select row_number() over (), count(*) from e group by all",
        "select random() > 0.5 as r, count(*) from e group by 1",
        "select count(*), uuid() from e group by 2",
        "select distinct count(*) from e group by id",
        "select count(*) from e using sample 10 rows",
        "select count(*) from e tablesample 10%",
        "select count(*) from e group by id qualify row_number() over () = 1",
        "select count(*) from e join u using (id)",
        "select count(*) from e, u",
        "select count(*) from e semi join u using (id)",
        "select count(*) from (select * from e)",
        "select count(*) from e where id in (select id from u)",
        "select *, count(*) from e group by all",
        "select count(columns(*)) from e",
        "select count(e) from e",
        "select count(*) from unknown",
        "select count(*)",
    ],
)
def test_rows_must_stay_as_they_are(sql: str) -> None:
    assert merging(sql) is None


def test_every_function_that_duckdb_calls_volatile_is_found() -> None:
    pytest.importorskip("duckdb", reason="SQL needs DuckDB")
    rows = pa.table({"kind": ["a"] * 1000})
    [counted] = sl.sql("select count(*) n from t where random() < 0.5", t=rows).to_arrow()["n"].to_pylist()
    assert 0 < counted < 1000
    known = _engine_functions()
    for name in sorted(known.volatile - {"error"}):
        sql = f"select count(*) from e where {name}() is null"
        assert merging(sql, known) is None, name


def test_numbers_of_marks() -> None:
    calls = list(sqlglot.parse_one("select __mark0(v), __mark12(*)", dialect=DUCKDB).find_all(exp.Anonymous))
    assert sorted(map(mark_number, calls)) == [0, 12]
