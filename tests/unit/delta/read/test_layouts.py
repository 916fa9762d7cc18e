"""The layouts of files: from the log where it has them, from footers otherwise, each read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, rows_of
from shredlake.caches import LruCache
from shredlake.delta.log.files import as_adds
from shredlake.delta.protocol.actions import Add
from shredlake.delta.protocol.layout_tag import LAYOUT_TAG
from shredlake.delta.read.layouts import FileLayouts, footer_layout
from shredlake.errors import InvalidSchema, ShredlakeError


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    """Three files: shredded with a residual, shredded without one, unshredded."""
    made = sl.Table.create(tmp_path, ID_AND_VARIANT)
    made.append(rows_of([1, 2], [{"a": 1}, {"a": "x"}]), shredding={"v": "struct<a bigint>"})
    made.append(rows_of([3], [{"b": "x"}]), shredding={"v": "struct<b string>"})
    made.append(rows_of([4], [{"b": "x"}]), shredding={"v": None})
    return made


class Reader:
    """Reads footers, and remembers which."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, keys: Sequence[Any], read: Callable[[Any], Any]) -> Iterable[Any]:
        self.read += [key[1] for key in keys]
        return [read(key) for key in keys]


def layouts(
    table: sl.Table, adds: Sequence[Add], known: LruCache[Any, str] | None = None
) -> tuple[list[Any], int]:
    """The shredding and the residual of `v` per file, and the number of footers that were read."""
    reader = Reader()
    found = FileLayouts(table.snapshot, reader, LruCache(9) if known is None else known).of(adds)
    columns = [layout.get("v") for layout in found]
    facts = [None if one is None else (str(one.schema), set(one.residual)) for one in columns]
    return facts, len(reader.read)


def entries(table: sl.Table) -> list[Add]:
    return sorted(as_adds(table.snapshot.files.table()), key=lambda add: str((add.tags or {})[LAYOUT_TAG]))


EXPECTED = [
    ("struct<a bigint>", {"$['a']"}),
    ("struct<b string>", set()),
    None,
]


def test_tags_are_enough(table: sl.Table) -> None:
    assert layouts(table, entries(table)) == (EXPECTED, 0)
    assert layouts(table, []) == ([], 0)


def test_footers_say_what_the_tags_say(table: sl.Table) -> None:
    without = [replace(add, tags=None) for add in entries(table)]
    assert layouts(table, without) == (EXPECTED, 3)
    later = [replace(add, tags={LAYOUT_TAG: '{"version":9}'}) for add in entries(table)]
    assert layouts(table, later) == (EXPECTED, 3)


def test_only_unknown_files_are_read_and_the_order_is_kept(table: sl.Table) -> None:
    first, second, third = entries(table)
    assert layouts(table, [third, replace(first, tags=None), second]) == ([None, EXPECTED[0], EXPECTED[1]], 1)


def test_a_footer_is_read_once_per_file(table: sl.Table) -> None:
    known: LruCache[Any, str] = LruCache(9)
    first = replace(entries(table)[0], tags=None)
    assert layouts(table, [first], known)[1] == 1
    assert layouts(table, [first], known) == ([EXPECTED[0]], 0)
    # A table that was made again may have other files of the same names.
    for changed in (replace(first, size=first.size + 1), replace(first, modification_time=1)):
        assert layouts(table, [changed], known)[1] == 1


def test_a_cache_that_is_too_small_still_answers(table: sl.Table) -> None:
    without = [replace(add, tags=None) for add in entries(table)]
    assert layouts(table, without, LruCache(1))[0] == EXPECTED


def test_a_damaged_tag_and_a_missing_file_are_errors(table: sl.Table) -> None:
    first = entries(table)[0]
    with pytest.raises(InvalidSchema):
        layouts(table, [replace(first, tags={LAYOUT_TAG: "[]"})])
    with pytest.raises((ShredlakeError, FileNotFoundError), match="gone"):
        layouts(table, [replace(first, tags=None, path="gone.parquet")])


def test_a_file_in_an_encoded_path(tmp_path: Path) -> None:
    made = sl.Table.create(tmp_path / "a b%41", ID_AND_VARIANT)
    made.append(rows_of([1], [{"a": 1}]), shredding={"v": "struct<a bigint>"})
    [add] = entries(made)
    storage = made.snapshot.storage
    assert (
        footer_layout(storage, add.path, [("v",)]) == '{"v":{"shredding":"struct<a bigint>","residual":[]}}'
    )
