"""Deleting: which files are replaced, which are removed, and which stay."""

from __future__ import annotations

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, numbered
from shredlake.errors import InvalidExpression, TableError


def table_of(name: str, **properties: str) -> sl.Table:
    made = sl.Table.create(f"memory://delete-{name}/t", ID_AND_VARIANT, properties={**SHREDDED, **properties})
    for start in (0, 10, 20):
        made.append(numbered(start, start + 10))
    return made


def paths(table: sl.Table) -> set[str]:
    return set(table.files().column("path").to_pylist())


def ids(table: sl.Table) -> list[int]:
    return sorted(table.scan(["id"]).to_arrow().column("id").to_pylist())


def test_only_files_with_a_match_change() -> None:
    table = table_of("match")
    before = paths(table)
    table.delete("v:a::bigint between 8 and 19")
    kept = before & paths(table)
    assert len(kept) == 1, "the third file"
    assert len(paths(table)) == 2, "the second file is removed, the first is replaced"
    assert ids(table) == [*range(8), *range(20, 30)]


def test_a_condition_without_a_match_commits_nothing() -> None:
    table = table_of("nothing")
    version = table.version
    table.delete("id = 99")
    assert table.version == version


def test_null_is_not_true() -> None:
    table = table_of("null")
    table.delete("v:missing::bigint > 5")
    assert len(ids(table)) == 30


def test_everything() -> None:
    table = table_of("everything")
    table.delete()
    assert ids(table) == []
    assert paths(table) == set()


def test_a_table_that_only_grows_refuses() -> None:
    table = table_of("grows", **{"delta.appendOnly": "true"})
    with pytest.raises(TableError, match="appendOnly"):
        table.delete("id = 1")
    assert len(ids(table)) == 30


def test_a_wrong_condition_is_found_before_any_work() -> None:
    table = table_of("wrong")
    with pytest.raises(InvalidExpression):
        table.delete("id =")
