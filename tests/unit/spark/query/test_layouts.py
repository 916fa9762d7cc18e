"""The layouts of files: from the log, and from footers where the log does not say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, numbered
from shredlake.caches import LruCache
from shredlake.spark.query.data_files import DataFiles
from shredlake.spark.query.layouts import FileLayouts, Layout

LAYOUTS = ["struct<a bigint>", "struct<s string>", "struct<a bigint>", None]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.enableVariantShredding": "true"})
    for number, layout in enumerate(LAYOUTS):
        table.append(numbered(10 * number, 10 * number + 3), shredding={"v": layout})
    return tmp_path


def found(place: Path) -> list[str | None]:
    """By file, in the order in which they were written, the layout of the Variant."""
    snapshot = sl.Table(place).snapshot
    files = DataFiles.of(snapshot, np.ones(len(LAYOUTS), dtype=bool))
    unknown: LruCache[Any, str] = LruCache(16)
    codes, layouts = FileLayouts(None, snapshot, unknown).by_code(files)
    assert [len(codes), codes.min() >= 0] == [len(files), True]
    by_path: dict[str, Layout] = {
        add.path: layouts[code] for add, code in zip(files.adds, codes, strict=True)
    }
    return [str(by_path[path]["v"].schema) if by_path[path] else None for path in written(place)]


def written(place: Path) -> list[str]:
    actions = [
        json.loads(line)
        for commit in sorted(place.glob("_delta_log/*.json"))
        for line in commit.read_text().splitlines()
    ]
    return [action["add"]["path"] for action in actions if "add" in action]


def change_log(place: Path, change: Any) -> None:
    """Rewrites the tags of every file, as another writer or another version has them."""
    numbers = iter(range(len(LAYOUTS)))
    for commit in sorted(place.glob("_delta_log/*.json")):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            if "add" in action:
                change(next(numbers), action["add"])
        commit.write_text("".join(json.dumps(action) + "\n" for action in actions))
    for other in place.glob("_delta_log/*.c*"):
        other.unlink()


def test_the_log_tells_without_a_footer(place: Path) -> None:
    for file in place.glob("*.parquet"):
        file.unlink()
    assert found(place) == LAYOUTS


def test_footers_tell_where_the_log_does_not(place: Path) -> None:
    change_log(place, lambda number, add: add.pop("tags", None) if number % 2 else None)
    assert found(place) == LAYOUTS


def test_a_tag_of_a_later_version_is_not_trusted(place: Path) -> None:
    def newer(number: int, add: dict[str, Any]) -> None:
        add["tags"] = dict.fromkeys(add["tags"], '{"version": 99, "v": {}}')

    change_log(place, newer)
    assert found(place) == LAYOUTS


def test_files_of_one_layout_have_one_number(place: Path) -> None:
    for change in (lambda number, add: None, lambda number, add: add.pop("tags", None)):
        change_log(place, change)
        snapshot = sl.Table(place).snapshot
        files = DataFiles.of(snapshot, np.ones(len(LAYOUTS), dtype=bool))
        codes, _ = FileLayouts(None, snapshot, LruCache(16)).by_code(files)
        assert len(set(codes.tolist())) == 3
