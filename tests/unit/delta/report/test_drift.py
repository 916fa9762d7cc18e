"""Paths that appear, vanish and change type, from the log and from the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl

SHREDDED = {"delta.enableVariantShredding": "true"}


def make(where: Path, *versions: list[dict[str, Any]], properties: dict[str, str] = SHREDDED) -> sl.Table:
    table = sl.Table.create(where, pa.schema([("v", sl.variant())]), properties=properties)
    for documents in versions:
        table.append([{"v": one} for one in documents])
    return table


def changes(found: sl.Drift) -> list[tuple[Any, ...]]:
    return [(one.version, one.kind, one.path, one.before, one.after) for one in found.changes]


FIRST = [{"id": n, "name": "x", "at": {"lat": n / 4}} for n in range(20)]
SECOND = [{"id": str(n), "at": {"lat": n / 4}, "new": True} for n in range(20)]
EXPECTED = [
    (2, "changed", "v:id", ("integer",), ("string",)),
    (2, "appeared", "v:new", (), ("boolean",)),
    (1, "vanished", "v:name", ("string",), ()),
]


def test_from_the_log_alone(tmp_path: Path) -> None:
    table = make(tmp_path, FIRST, SECOND)
    for file in tmp_path.glob("*.parquet"):
        file.unlink()  # nothing of the data is needed
    found = sl.drift(tmp_path)
    assert changes(found) == EXPECTED
    assert (found.files_by_log, found.files_read, found.files_unknown) == (2, 0, 0)
    assert {one.evidence for one in found.changes} == {"log"}
    assert "v:id  integer → string" in str(found)
    assert table.version == found.version
    blind = sl.drift(tmp_path, read=True)
    assert (blind.changes, blind.files_unknown) == ((), 2)


@pytest.mark.parametrize(
    ("properties", "read"), [({"delta.enableVariantShredding": "false"}, False), (SHREDDED, True)]
)
def test_from_the_data(tmp_path: Path, properties: dict[str, str], read: bool) -> None:
    make(tmp_path, FIRST, SECOND, properties=properties)
    found = sl.drift(tmp_path, read=read)
    assert changes(found) == EXPECTED
    assert (found.files_by_log, found.files_read) == (0, 2)
    assert {one.evidence for one in found.changes} == {"data"}


def test_rare_paths_need_the_data(tmp_path: Path) -> None:
    rare = [{"id": n, **({"rare": n} if n == 7 else {})} for n in range(200)]
    make(tmp_path, [{"id": n} for n in range(200)], rare)
    assert changes(sl.drift(tmp_path)) == []
    assert changes(sl.drift(tmp_path, read=True)) == [(2, "appeared", "v:rare", (), ("integer",))]


def test_since_a_version(tmp_path: Path) -> None:
    make(tmp_path, FIRST, SECOND, [{"id": "a", "at": {"lat": 1.5}, "new": False, "late": 1}] * 9)
    assert changes(sl.drift(tmp_path, since=2)) == [
        (3, "appeared", "v:late", (), ("integer",)),
        (2, "vanished", "v:name", ("string",), ()),  # the table still had it then
    ]
    assert changes(sl.drift(tmp_path, since=3)) == []
    assert changes(sl.drift(tmp_path))[:2] == EXPECTED[:2]
    with pytest.raises(sl.VersionNotFound, match="versions 0 to 3"):
        sl.drift(tmp_path, since=9)


def test_a_rewrite_is_not_drift(tmp_path: Path) -> None:
    table = make(tmp_path, FIRST, FIRST)
    table.optimize(shredding="struct<id string>")
    assert changes(sl.drift(tmp_path)) == []
