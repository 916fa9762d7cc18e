"""Scans of the paths that a query takes, planned without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, rows_of
from shredlake.expr import Column, Expr, Get
from shredlake.expr.parse import parse_predicate
from shredlake.kernels.cast_options import CastOptions
from shredlake.spark.query import scan as scanning
from shredlake.spark.query.strategies.path_scans import paths_scan, slower_by_workers
from shredlake.spark.query.text.sql_paths import rewrite


class Session:
    """A place for caches."""


@dataclass
class Needs:
    """Fixed needs of a query, for one table."""

    columns: set[str]
    paths: set[str]
    where: Expr | None = None
    spark: Any = None

    def __post_init__(self) -> None:
        self.spark = Session()

    def uses(self, column: str) -> bool:
        return column in self.columns

    def takes(self, column: str, get: Get) -> bool:
        return str(get.path) in self.paths

    def pruning(self) -> Expr | None:
        return self.where


@pytest.fixture
def table(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> sl.Table:
    monkeypatch.setattr(scanning, "session_options", lambda spark: CastOptions())
    made = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    made.append(rows_of([1], [{"a": 1, "s": "x", "o": {"x": 1}}]))
    made.append(rows_of([2], [{"a": 2, "s": "x", "o": {"x": 1}}]))
    return made


REWRITTEN = rewrite("select v:a::bigint, v:s::string, id from t where v:a::bigint > 1")


def test_only_what_the_query_takes_is_read(table: sl.Table) -> None:
    scan, paths = paths_scan(Needs({"id"}, {"$.a"}), table.snapshot, REWRITTEN)
    assert [one.name for one in scan.local.query.projections] == ["id", "v.__path0"]
    assert {name: list(fields) for name, fields in paths.items()} == {"v": ["__path0", "__path1"]}
    nothing, _ = paths_scan(Needs(set(), set()), table.snapshot, REWRITTEN)
    assert nothing.local.query.projections == ()
    assert len(nothing.files) == 2


def test_the_condition_only_prunes_files(table: sl.Table) -> None:
    scan, _ = paths_scan(Needs(set(), {"$.s"}, parse_predicate("v:a::bigint > 1")), table.snapshot, REWRITTEN)
    assert scan.prune_only
    assert len(scan.files) == 1
    assert [get.path.steps for get in scan.references if isinstance(get, Get)] == [("s",)]
    assert not any(isinstance(ref, Column) for ref in scan.references)


@pytest.mark.parametrize(
    ("sql", "slower"),
    [
        ("select v:a::bigint from t", False),
        ("select v:z::bigint from t", False),
        ("select v:o::struct<x int> from t", True),
        ("select v:o::map<string, int> from t", True),
    ],
)
def test_what_workers_would_only_do_slower(table: sl.Table, sql: str, slower: bool) -> None:
    rewritten = rewrite(sql)
    [get] = rewritten.fields
    scan, _ = paths_scan(Needs(set(), {str(get.path)}), table.snapshot, rewritten)
    assert bool(list(slower_by_workers(scan))) is slower
