"""Files of the draft layout move into a table once, value by value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, numbered, python, rows_of
from shredlake.delta.log.files import as_adds
from shredlake.delta.protocol.layout_tag import tagged_layout
from shredlake.errors import InvalidFile, InvalidSchema, ShredlakeError, VerificationFailed
from shredlake.jobs import migrate
from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.migrate import migrate_files
from shredlake.jobs.report import IngestReport
from shredlake.jobs.verified_copy import RowSum
from shredlake.parquet.legacy.convert import write_draft

LAYOUT = "struct<a bigint, s string>"


def drafts(folder: Path, *tables: pa.Table, layout: str = LAYOUT) -> Path:
    folder.mkdir(exist_ok=True)
    for number, table in enumerate(tables, start=len(list(folder.iterdir()))):
        write_draft(table, folder / f"{number}.parquet", {"v": layout})
    return folder


def migrated(source: Any, table: Path, **options: Any) -> IngestReport:
    return migrate_files(LocalEngine(1), source, str(table), **options)


def rows(table: Path) -> list[dict[str, Any]]:
    return sorted(python(sl.Table(table).scan().to_arrow()), key=lambda row: row["id"])


def layouts(table: Path) -> list[dict[str, str]]:
    adds = as_adds(sl.Table(table).snapshot.files.table())
    return sorted(
        ({name: str(one) for name, one in (tagged_layout(add) or {}).items()} for add in adds), key=str
    )


def test_values_and_shredding_are_kept(tmp_path: Path) -> None:
    odd = rows_of([3, 4, 5, 6], [{"a": "text", "more": [1]}, None, ..., 7])
    report = migrated(drafts(tmp_path / "in", numbered(0, 3), odd), tmp_path / "t")
    assert (report.rows, report.files, report.skipped, report.layout) == (7, 1, 0, LAYOUT)
    expected = [{"id": n, "v": {"a": n, "s": f"s{n}"}} for n in range(3)]
    expected += [{"id": 3, "v": {"a": "text", "more": [1]}}, {"id": 4, "v": "null"}]
    assert rows(tmp_path / "t") == [*expected, {"id": 5, "v": None}, {"id": 6, "v": 7}]
    assert layouts(tmp_path / "t") == [{"v": LAYOUT}]
    assert sl.check_table(tmp_path / "t").ok


def test_files_of_different_layouts_become_different_files(tmp_path: Path) -> None:
    folder = drafts(tmp_path / "in", numbered(0, 2), numbered(2, 4))
    drafts(folder, numbered(4, 6), layout="struct<a bigint>")
    assert migrated(folder, tmp_path / "t").files == 2
    assert layouts(tmp_path / "t") == [{"v": "struct<a bigint, s string>"}, {"v": "struct<a bigint>"}]
    assert [row["id"] for row in rows(tmp_path / "t")] == list(range(6))


def test_a_file_is_migrated_once(tmp_path: Path) -> None:
    folder = drafts(tmp_path / "in", numbered(0, 2))
    migrated(folder, tmp_path / "t")
    assert migrated(folder, tmp_path / "t").already_done
    drafts(folder, numbered(2, 4))
    report = migrated(folder, tmp_path / "t")
    assert (report.rows, report.skipped) == (2, 1)
    assert [row["id"] for row in rows(tmp_path / "t")] == list(range(4))


def test_other_files_beside_the_drafts_are_left_alone(tmp_path: Path) -> None:
    folder = drafts(tmp_path / "in", numbered(0, 2))
    (folder / "notes.txt").write_text("not data")
    assert migrated([str(folder)], tmp_path / "t").rows == 2
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "a.txt").write_text("x")
    with pytest.raises(InvalidSchema, match=r"no Parquet files at .*none"):
        migrated(tmp_path / "none", tmp_path / "u")
    assert not (tmp_path / "u").exists()


def test_a_file_without_a_draft_column_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"id": [1]}), tmp_path / "in" / "0.parquet")
    sl.Table.create(tmp_path / "t", ID_AND_VARIANT)
    with pytest.raises(InvalidFile, match=r"0\.parquet has no column in the draft layout"):
        migrated(tmp_path / "in", tmp_path / "t")
    assert sl.Table(tmp_path / "t").version == 0


def test_the_rules_of_the_table_hold(tmp_path: Path) -> None:
    folder = drafts(tmp_path / "in", numbered(0, 2))
    sl.Table.create(tmp_path / "t", ID_AND_VARIANT, properties={"delta.constraints.positive": "id > 0"})
    with pytest.raises(ShredlakeError, match="positive"):
        migrated(folder, tmp_path / "t")
    assert sl.Table(tmp_path / "t").version == 0
    assert not list((tmp_path / "t").glob("*.parquet"))


def test_a_copy_that_differs_is_not_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "row_sum", lambda tables: RowSum(2, 7))
    with pytest.raises(VerificationFailed, match="2 rows read, 2 written"):
        migrated(drafts(tmp_path / "in", numbered(0, 2)), tmp_path / "t")
    assert not (tmp_path / "t" / "_delta_log").exists()
