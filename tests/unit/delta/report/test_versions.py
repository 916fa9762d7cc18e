"""Growth and layouts over versions: as the versions themselves, however much of the log is left."""

from __future__ import annotations

from pathlib import Path

import shredlake as sl
from delta_tables import rows_of


def test_versions_agree_with_the_versions_themselves(table: sl.Table) -> None:
    found = table.report().history.versions
    assert [one.version for one in found] == list(range(10))
    for one in found:
        then = sl.Table(table.uri, one.version)
        assert (one.files, one.rows) == (then.files().num_rows, then.scan().count())
        assert one.bytes == sum(then.files().column("size").to_pylist())
        assert sum(one.layouts.values()) == one.files


def test_versions_after_the_log_was_cut(table: sl.Table, tmp_path: Path) -> None:
    table.checkpoint()
    table.append(rows_of([100], [{"a": 7}]))
    for version in range(9):
        (tmp_path / "t" / "_delta_log" / f"{version:020}.json").unlink()
    found = sl.Table(table.uri).report().history.versions
    assert [(one.version, one.rows) for one in found] == [(9, 61), (10, 62)]
