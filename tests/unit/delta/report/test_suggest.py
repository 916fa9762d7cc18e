"""Suggestions: each where it helps and nowhere else, with a command that runs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shredlake as sl
from delta_tables import ID_AND_VARIANT, numbered, rows_of
from shredlake.cli.app import app
from shredlake.delta.report.rejects import RejectedFor
from shredlake.delta.report.suggest import FEW_FILES, SMALL_FILE, suggestions
from shredlake.delta.stats.ranges import Ranges

PLAIN = pa.schema([("id", pa.int64())])


def titles(table: sl.Table, found: Sequence[Ranges] = (), **changes: Any) -> list[str]:
    """The titles of the suggestions for a table, with some facts of its report changed."""
    report = replace(table.report(), **changes)
    return [one.title for one in suggestions(table.snapshot, report, found)]


@pytest.fixture
def plain(tmp_path: Path) -> sl.Table:
    table = sl.Table.create(tmp_path / "plain", PLAIN)
    table.append(pa.table({"id": [1, 2]}))
    return table


def test_suggestions_name_commands_that_run(table: sl.Table) -> None:
    report = table.report()
    titles = {one.title for one in report.suggestions}
    assert {"Shred v", "Compact small files", "Look at paths of mixed types"} <= titles
    assert all(one.command.startswith("shredlake ") for one in report.suggestions)
    sl.optimize(table.uri)
    assert "Shred v" not in {one.title for one in table.refresh().report().suggestions}


def test_a_table_that_may_not_be_shredded(tmp_path: Path) -> None:
    made = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.enableVariantShredding": "false"})
    made.append(rows_of([1], [{"a": 1}]))
    assert "Allow shredding" in {one.title for one in made.report().suggestions}


def test_nothing_is_suggested_for_a_table_without_problems(plain: sl.Table, tmp_path: Path) -> None:
    assert titles(plain) == []
    assert titles(sl.Table.create(tmp_path / "empty", ID_AND_VARIANT)) == []
    shredded = sl.Table.create(tmp_path / "shredded", ID_AND_VARIANT)
    shredded.append(numbered(0, 10))
    assert titles(shredded) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"files": FEW_FILES, "bytes": FEW_FILES * SMALL_FILE - 1}, ["Compact small files"]),
        ({"files": FEW_FILES, "bytes": FEW_FILES * SMALL_FILE}, []),
        ({"files": FEW_FILES - 1, "bytes": 1}, []),
        ({"layouts": 5}, ["Bring all files to one layout"]),
        ({"layouts": 4}, []),
        ({"rows": 9, "deleted": 1}, ["Remove deleted rows from the files"]),
        ({"rows": 91, "deleted": 9}, []),
        ({"rows": None, "deleted": 1}, ["Remove deleted rows from the files"]),
        ({"rows": 0, "deleted": 0}, []),
    ],
)
def test_a_suggestion_comes_from_its_threshold_on(
    plain: sl.Table, changes: dict[str, Any], expected: list[str]
) -> None:
    assert titles(plain, **changes) == expected


def test_rejects_are_named_with_the_most_frequent_reason(plain: sl.Table) -> None:
    rejects = (RejectedFor("bad", 3, "a", 1, "x"), RejectedFor("worse", 1, "a", 2, "y"))
    report = replace(plain.report(), rejects=rejects, rejects_table="s3://b/t_rejects")
    [found] = suggestions(plain.snapshot, report, [])
    assert found.reason == "4 documents were refused, mostly because: bad."
    assert found.command == "shredlake query s3://b/t_rejects 'file, line, reason, raw'"


def ranges_of(name: str, minimum: list[Any], maximum: list[Any], files: int | None = None) -> Ranges:
    low, high = pa.array(minimum), pa.array(maximum)
    return Ranges(name, low.type, files or len(low), low, high)


OVERLAPPING = ([0] * 8, [9] * 8)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([ranges_of("id", *OVERLAPPING)], "id"),
        ([ranges_of("s", ["a"] * 8, ["z"] * 8), ranges_of("id", *OVERLAPPING)], "id"),
        ([ranges_of("v:a", *OVERLAPPING)], "v:a::bigint"),
        ([ranges_of("id", *OVERLAPPING, files=9)], None),
        ([ranges_of("one", [1] * 8, [1] * 8)], None),
        ([ranges_of("x", [0.5] * 8, [9.5] * 8)], None),
        ([ranges_of("id", *OVERLAPPING), ranges_of("n", list(range(8)), list(range(8)))], None),
        ([], None),
    ],
    ids=[
        "overlapping", "numbers before texts", "path", "not in all files", "one value", "no key of this type",
        "sorted by another", "without statistics",
    ],
)  # fmt: skip
def test_a_sort_is_suggested_where_no_order_is_kept(
    plain: sl.Table, found: list[Ranges], expected: str | None
) -> None:
    report = replace(plain.report(), files=8, bytes=8 * SMALL_FILE)
    made = suggestions(plain.snapshot, report, found)
    assert [shlex.split(one.command)[-2:] for one in made] == (
        [] if expected is None else [["--sort-by", expected]]
    )
    few = replace(report, files=FEW_FILES - 1)
    assert suggestions(plain.snapshot, few, found) == ()


def test_paths_that_came_after_the_layout_are_suggested(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    values = [{"a": n, "b": n * 2, "it's": f"s{n}"} for n in range(50)]
    table.append(rows_of(range(50), values), shredding={"v": "struct<a bigint>"})
    [found] = table.report().suggestions
    assert found.title == "Shred 2 more paths of v"
    assert "v:b as bigint" in found.reason
    assert shlex.split(found.command)[-2:] == ["--shredding", "infer"]
    done = CliRunner().invoke(app, shlex.split(found.command)[1:])
    assert done.exit_code == 0, done.output
    assert sl.Table(tmp_path).report().suggestions == ()


@pytest.mark.parametrize("name", ["w w", "a.b", "a`b", "v:x", "select"])
def test_new_paths_of_a_column_of_any_name_are_suggested(tmp_path: Path, name: str) -> None:
    table = sl.Table.create(tmp_path, pa.schema([(name, sl.variant())]))
    rows = pa.table({name: sl.from_json([f'{{"a":{n},"b":{n}}}' for n in range(50)])})
    table.append(rows, shredding=None)
    sl.optimize(tmp_path, shredding="struct<a bigint>")
    [title] = titles(sl.Table(tmp_path))
    assert title.startswith("Shred 1 more path of ")


def test_a_pinned_layout_is_left_alone(tmp_path: Path) -> None:
    pinned = {"shredlake.shredding.v": "struct<a bigint>"}
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=pinned)
    table.append(rows_of(range(50), [{"a": n, "b": n} for n in range(50)]))
    assert titles(table) == []


def test_mixed_types_are_named_as_queries_spell_them(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    values = [{"cart": {"unit price": n if n % 4 else "free"}} for n in range(40)]
    table.append(rows_of(range(40), values), shredding={"v": "struct<cart struct<`unit price` bigint>>"})
    [found] = table.report().suggestions
    assert found.title == "Look at paths of mixed types"
    assert found.reason.startswith("v:cart['unit price'] (25.0% not bigint): ")


@pytest.mark.parametrize("name", ["a b", "it's", "100%25", "$HOME", "ü"])
def test_commands_find_the_table_whatever_its_name(tmp_path: Path, name: str) -> None:
    table = sl.Table.create(tmp_path / name, ID_AND_VARIANT)
    table.append(numbered(0, 2), shredding={"v": None})
    bad = RejectedFor("bad", 1, "a", 1, "x")
    report = replace(table.report(), rejects=(bad,), rejects_table=table.uri)
    commands = [shlex.split(one.command) for one in suggestions(table.snapshot, report, [])]
    assert [command[:2] for command in commands] == [["shredlake", "optimize"], ["shredlake", "query"]]
    assert {command[2] for command in commands} == {str(tmp_path / name)}
