"""One task of a conversion: each row goes to the new files or to the rejects, and the sums must agree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.delta.read.data_file import DataFile, whole_rows
from shredlake.delta.write.data_files import file_spec
from shredlake.errors import VerificationFailed
from shredlake.jobs.convert import task as module
from shredlake.jobs.convert.ends import open_source, plan_target
from shredlake.jobs.convert.journal import Entry, Journal, Task
from shredlake.jobs.convert.task import ConvertJob, confirmed, convert_files, profile_texts, rejects_schema
from shredlake.jobs.data_files import FileJob
from shredlake.jobs.ingest.parse_task import Parsing
from shredlake.jobs.ingest.rejects import REASON_OF_ROW
from shredlake.shredding.inference.profile import Profile

SCHEMA = pa.schema([("id", pa.int64()), ("a", pa.string()), ("b", pa.string())])
ROWS: list[dict[str, Any]] = [
    {"id": 0, "a": "[1]", "b": "2"},
    {"id": 1, "a": "{", "b": "{"},
    {"id": 2, "a": None, "b": "{"},
    {"id": 3, "a": "null", "b": None},
]


def prepared(root: Path, *columns: str, files: list[list[dict[str, Any]]]) -> tuple[ConvertJob, Task]:
    """A job that converts columns of a table into a copy, and one task with all its files."""
    table = sl.Table.create(root / "t", SCHEMA)
    for rows in files:
        table.append(rows)
    source = open_source(table.uri, columns, {})
    target = plan_target(source, columns, str(root / "copy"), True, {}).snapshot
    journal = Journal(target.storage, "job")
    job = ConvertJob(source.snapshot, target, columns, FileJob(file_spec(target, {})), journal, Parsing())
    return job, Task(source.adds)


def written(job: ConvertJob, entry: Entry) -> list[dict[str, Any]]:
    tables = [
        pa.Table.from_batches([batch])
        for add in entry.adds
        for batch in DataFile(job.target, add).batches(whole_rows(job.target))
    ]
    rows = []
    for table in tables:
        for name in job.columns:
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, sl.to_json(table[name]))
        rows += table.to_pylist()
    return sorted(rows, key=lambda row: row["id"])


def staged(job: ConvertJob, entry: Entry) -> list[dict[str, Any]]:
    assert entry.staged is not None
    found = pq.read_table(job.journal.folder.open_input(entry.staged))
    assert found.schema.names == rejects_schema(job.source).names
    return sorted(found.to_pylist(), key=lambda row: row["id"])


def test_rows_are_written_or_staged_whole(tmp_path: Path) -> None:
    job, task = prepared(tmp_path, "a", "b", files=[ROWS])
    answer = convert_files(job, task)
    entry = Entry.from_json(answer.text)
    assert (entry.read, entry.rows, entry.rejected) == (4, answer.rows, answer.rejects) == (4, 2, 2)
    assert written(job, entry) == [{"id": 0, "a": "[1]", "b": "2"}, {"id": 3, "a": "null", "b": None}]
    rejects = staged(job, entry)
    assert [{name: row[name] for name in SCHEMA.names} for row in rejects] == ROWS[1:3]
    assert [(row["_row"], row["_column"]) for row in rejects] == [(1, "a"), (2, "b")]
    assert all(row[REASON_OF_ROW] and row["_file"] == task.adds[0].path for row in rejects)
    assert job.journal.finished([task]) == {task.name: entry}


def test_an_entry_is_confirmed_only_if_its_files_hold_the_rows(tmp_path: Path) -> None:
    job, task = prepared(tmp_path, "a", files=[ROWS, ROWS[:1]])
    entry = Entry.from_json(convert_files(job, task).text)
    assert confirmed(job, (task, entry)) == task.name
    [add] = entry.adds
    for wrong in (
        replace(entry, adds=()),
        replace(entry, adds=(add, add)),
        replace(entry, staged=None),
        replace(entry, rows=entry.rows - 1, rejected=entry.rejected + 1),
        replace(entry, adds=(replace(add, stats='{"numRecords":1}'),)),
        replace(entry, adds=(replace(add, path="gone.parquet"),)),
    ):
        assert confirmed(job, (task, wrong)) == ""
    assert confirmed(job, (Task(task.adds[:1]), entry)) == ""


def test_rows_are_numbered_within_their_file(tmp_path: Path) -> None:
    job, task = prepared(tmp_path, "b", files=[ROWS, ROWS[::-1]])
    rejects = staged(job, Entry.from_json(convert_files(job, task).text))
    places = {(row["_file"], row["_row"], row["id"]) for row in rejects}
    assert len({file for file, _, _ in places}) == 2
    assert sorted((row, number) for _, row, number in places) == [(1, 1), (1, 2), (2, 1), (2, 2)]


@pytest.mark.parametrize(("rows", "rejected"), [([], 0), (ROWS[:1], 0), (ROWS[1:2], 1)])
def test_no_row_one_row_and_one_reject(tmp_path: Path, rows: list[dict[str, Any]], rejected: int) -> None:
    job, task = prepared(tmp_path, "a", files=[rows])
    entry = Entry.from_json(convert_files(job, task).text)
    assert (entry.read, entry.rejected, entry.staged is None) == (len(rows), rejected, not rejected)
    assert len(written(job, entry)) == len(rows) - rejected


def test_a_row_that_the_writer_loses_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although the sums of what was written agree."""
    job, task = prepared(tmp_path, "a", files=[ROWS])
    real = module._converted

    def losing(*given: Any) -> pa.RecordBatch:
        return real(*given)[1:]

    monkeypatch.setattr(module, "_converted", losing)
    with pytest.raises(VerificationFailed, match="4 rows were read, but 2 written and 1 rejected"):
        convert_files(job, task)
    assert job.journal.finished([task]) == {}


def test_a_task_that_fails_stages_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, task = prepared(tmp_path, "a", files=[ROWS])
    real = module.write_and_sum  # type: ignore[attr-defined]

    def failing(*given: Any) -> Any:
        real(*given)
        raise OSError("the disk is full")

    monkeypatch.setattr(module, "write_and_sum", failing)
    with pytest.raises(OSError, match="full"):
        convert_files(job, task)
    assert not list((tmp_path / "copy").rglob(f"{task.name}*"))


def test_profiles_are_those_of_the_json(tmp_path: Path) -> None:
    job, task = prepared(tmp_path, "a", files=[ROWS])
    [place] = job.target.variants
    profile = Profile.from_bytes(bytes.fromhex(profile_texts(job, place, task.adds[0])))
    assert profile.rows == 2  # rows that are not JSON or null are not counted
    empty, nothing = prepared(tmp_path / "empty", "a", files=[[]])
    assert [profile_texts(empty, place, add) for add in nothing.adds] == []
