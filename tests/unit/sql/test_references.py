"""The paths of a query are found in the right table."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from shredlake.expr.ast import Get
from shredlake.expr.sql import spelled_ref
from shredlake.sql.path_tokens import DUCKDB
from shredlake.sql.references import References, TableColumns, literal, sources_of
from shredlake.sql.text import mark_query

TABLES = {
    "e": TableColumns(("id", "V", "s"), frozenset({"V"})),
    "u": TableColumns(("id", "w"), frozenset({"w"})),
    "lake/day=1/part.parquet": TableColumns(("v",), frozenset({"v"})),
}


class Paths:
    """The paths of a query, each with where it is read: `e.v:a::int`, or None if that is in doubt."""

    def __init__(self, sql: str) -> None:
        query = mark_query(sql, {"v", "w", "x"})
        tree = sqlglot.parse_one(query.copy, dialect=DUCKDB)
        self.references = References(tree, TABLES)
        self.provided: list[str | None] = []
        self.columns: list[tuple[exp.Column, Get]] = []
        for number, mark in enumerate(query.marks):
            if mark.path is None:
                continue
            [node] = [one for one in tree.find_all(exp.Anonymous) if one.name == f"__mark{number}"]
            [column] = node.expressions
            self.columns.append((column, mark.path.get))
            scope = self.references.scope_of(node)
            assert scope is not None
            self.provided.append(self.references.provide(scope, column, mark.path.get))

    @property
    def read(self) -> list[str]:
        """The paths that scans read, with the aliases of their tables."""
        return [f"{one.alias}.{spelled_ref(get)}" for one in self.references.all for get in one.paths]


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("select v:a::int from e", ["e.V:a::int"]),
        ("select E.v:a::int from e", ["e.V:a::int"]),
        ("select t.v:a from e as t", ["t.V:a"]),
        ("select v:a, v:a from e where v:a::int = 1", ["e.V:a", "e.V:a::int"]),
        ("select v:a from e, u", ["e.V:a"]),
        ("select w:b from e left join u using (id)", ["u.w:b"]),
        ("select v:a from e anti join u on e.id = u.id", ["e.V:a"]),
        ("select v:a from 'lake/day=1/part.parquet'", ["part.v:a"]),
        ("select x:a from (select v as x from e)", ["e.V:a"]),
        ("select v:a from (select * from e limit 3) where id > 1", ["e.V:a"]),
        ("select v:a from (select t.* from e t, u)", ["t.V:a"]),
        ("with c as (select * from e), d as (select * from c) select d.v:a from d", ["e.V:a"]),
        ("select x:a from (select v x from e union all select w from u)", ["e.V:a", "u.w:a"]),
        ("select w:a from (select id, w from u union all by name select v as w from e)", ["e.V:a", "u.w:a"]),
        ("select 1 from u where exists (select 1 from e where v:a::int = u.w:b::int)",
         ["u.w:b::int", "e.V:a::int"]),
        ("select (select v:a) from e", ["e.V:a"]),
    ],
)  # fmt: skip
def test_a_scan_reads_a_path(sql: str, read: list[str]) -> None:
    found = Paths(sql)
    assert None not in found.provided
    assert sorted(found.read) == sorted(read)


@pytest.mark.parametrize(
    "sql",
    [
        "select v:a from u",  # no such column
        "select v:a from e a, e b",  # of which?
        "select v:a from e t(x, y, z)",
        "select x:a from e t(x, y, z)",
        "select v:a from unknown",
        "select v:a from e, unknown",
        "select db.e.v:a from e",
        "select v:a from (select distinct v from e)",
        "select v:a from (select v from e group by v)",
        "select v:a from (select any_value(v) as v from e)",
        "select v:a from (select min_by(v, id) as v, count(*) from e)",
        "select v:a from (select id, s as v from e)",
        "select v:a from (select v, v from e)",
        "select v:a from (select * exclude (id) from e)",
        "select v:a from (select v from e union select v from e)",
        "select v:a from (select v from e except all select w from u)",
        "select x:a from (select v x from e union all select id from u)",
        "with recursive c as (select v from e union all select v from c) select v:a from c",
        "select v:a from e natural join u",
        "select e, v:a from e",
        "select columns('i'), v:a from e",
    ],
)
def test_a_path_in_doubt_is_not_read(sql: str) -> None:
    found = Paths(sql)
    assert found.provided == [None] * len(found.provided)
    assert found.provided, "there is a path"
    assert found.read == []
    assert (found.references.exports, found.references.exposed) == ({}, {})


def test_a_subquery_passes_a_path_on_once() -> None:
    found = Paths("select c.v:a::int, v:a::int + 1 from (select * from e) c where v:a::int > 1")
    assert found.provided == ['"c".__sl_1'] * 3
    [(select, columns)] = found.references.exports.values()
    assert select.sql() == "SELECT * FROM e"
    assert columns == ['"e".__sl_2 AS __sl_1']


def test_stars_learn_what_to_leave_out() -> None:
    found = Paths("select * from e t, u where t.v:a = 1 and w:b = 2 and v:c = 3")
    [exposed] = found.references.exposed.values()
    assert exposed == {"t": ["__sl_1", "__sl_3"], "u": ["__sl_2"]}


def test_names_of_hidden_columns_are_free() -> None:
    taken = {"e": TableColumns(("__SL_1", "__sl_2"))}
    references = References(sqlglot.parse_one("select 1 from e", dialect=DUCKDB), taken)
    assert [references.new_name(), references.new_name()] == ["__sl_3", "__sl_4"]


@pytest.mark.parametrize(
    ("sql", "certain"),
    [
        ("select v:a from e", True),
        ("select v:a from (select distinct v from e)", True),
        ("select x:a from (select v as x from e group by all)", True),
        ("select v:a from (select s as v from e)", False),
        ("select v:a from e t(a, v, c)", False),
        ("select v:a from (select any_value(v) as v from e)", False),
        ("select v:a from unknown", False),
    ],
)
def test_columns_that_are_certainly_variants(sql: str, certain: bool) -> None:
    found = Paths(sql)
    [(column, _)] = found.columns
    scope = found.references.scope_of(column)
    assert scope is not None
    assert found.references.holds_variant(scope, column) is certain


def test_sources_include_those_of_semi_joins() -> None:
    tree = sqlglot.parse_one("select 1 from e semi join u on e.id = u.id join (select 2) q", dialect=DUCKDB)
    scope = References(tree, TABLES).scope_of(tree)
    assert scope is not None
    assert sorted(sources_of(scope)) == ["e", "q", "u"]


@pytest.mark.parametrize(("text", "sql"), [("", "''"), ("'", "''''"), ("a\\'b\x00", "'a\\''b\x00'")])
def test_literals(text: str, sql: str) -> None:
    assert literal(text) == sql
