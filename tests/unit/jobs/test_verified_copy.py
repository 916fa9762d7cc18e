"""Copies that prove themselves: the checksum sees every change of a row, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, ids, numbered, variants
from shredlake.delta.log.files import as_adds
from shredlake.delta.write.data_files import file_spec
from shredlake.errors import VerificationFailed
from shredlake.jobs import verified_copy
from shredlake.jobs.data_files import FileJob
from shredlake.jobs.verified_copy import (
    CopyResult,
    RowSum,
    check_same,
    copy_files,
    publish_copy,
    row_sum,
    rows_in,
    sum_files,
    write_and_sum,
)
from shredlake.shredding.schema import ShreddingSchema

ROWS = pa.table(
    {
        "id": pa.array([1, 2, None], pa.int64()),
        "m": pa.array([[(1, "x")], [], None], pa.map_(pa.int64(), pa.string())),
        "v": variants([{"a": 1}, "text", ...]),
    }
)


def test_order_and_batches_do_not_matter() -> None:
    whole = row_sum([ROWS])
    assert whole.rows == 3
    assert row_sum([ROWS.take([2, 0, 1])]) == row_sum(ROWS.to_batches(max_chunksize=1)) == whole
    assert row_sum([ROWS[:1]]) + row_sum([ROWS[1:]]) == whole


def test_nothing_is_zero() -> None:
    assert row_sum([]) == row_sum([ROWS[:0]]) == RowSum(0, 0)
    assert row_sum([ROWS]) + RowSum() == row_sum([ROWS])


def test_the_layout_does_not_matter() -> None:
    shredded = sl.shred(ROWS["v"].combine_chunks(), ShreddingSchema.parse("struct<a bigint>"))
    assert row_sum([ROWS.set_column(2, "v", sl.unshred(shredded))]) == row_sum([ROWS])


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", pa.array([1, 3, None], pa.int64())),
        ("id", pa.array([1, None, 2], pa.int64())),
        ("m", pa.array([[(2, "x")], [], None], pa.map_(pa.int64(), pa.string()))),
        ("m", pa.array([[(1, "x")], None, []], pa.map_(pa.int64(), pa.string()))),
        ("v", variants([{"a": "1"}, "text", ...])),
        ("v", variants([{"a": 1}, "text", None])),
    ],
)
def test_every_change_of_a_value_shows(name: str, values: pa.Array) -> None:
    changed = ROWS.set_column(ROWS.schema.get_field_index(name), name, values)
    assert row_sum([changed]) != row_sum([ROWS])
    with pytest.raises(VerificationFailed, match=r"t: the new files differ .*3 rows read, 3 written"):
        check_same(row_sum([ROWS]), row_sum([changed]), "t")


def test_a_row_that_is_lost_or_doubled_shows() -> None:
    for other in (ROWS[:2], pa.concat_tables([ROWS, ROWS[:1]]), pa.concat_tables([ROWS[:2], ROWS[:1]])):
        assert row_sum([other]) != row_sum([ROWS])
    check_same(row_sum([ROWS]), row_sum([ROWS]), "t")


def test_sums_stay_within_64_bits() -> None:
    assert RowSum(1, 2**64 - 1) + RowSum(1, 2) == RowSum(2, 1)
    assert 0 <= row_sum([ROWS] * 5).sum < 2**64


@pytest.fixture
def source(tmp_path: Path) -> sl.Table:
    table = sl.Table.create(tmp_path / "source", ID_AND_VARIANT)
    for start in (0, 5):
        table.append(numbered(start, start + 5))
    return table


@pytest.fixture
def target(tmp_path: Path) -> sl.Table:
    return sl.Table.create(tmp_path / "target", ID_AND_VARIANT)


def job_of(table: sl.Table) -> FileJob:
    return FileJob(file_spec(table.snapshot, {}))


def test_a_copy_is_read_back_and_committed(source: sl.Table, target: sl.Table) -> None:
    adds = as_adds(source.snapshot.files.table())
    texts = [copy_files(source.snapshot, target.snapshot, job_of(target), [add]) for add in adds]
    results = [CopyResult.from_json(text) for text in texts]
    assert [one.to_json() for one in results] == texts
    report = publish_copy(target.snapshot, results, [("job", 1)], "table")
    assert (report.rows, report.documents, report.files, report.version) == (10, 10, 2, 1)
    assert report.table_bytes == sum(add.size for one in results for add in one.adds)
    assert ids(target.refresh()) == list(range(10))
    assert CopyResult.from_json(sum_files(source.snapshot, adds)).total == results[0].total + results[1].total


def test_a_change_is_made_before_rows_are_counted(source: sl.Table, target: sl.Table) -> None:
    adds = as_adds(source.snapshot.files.table())

    def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.set_column(0, "id", pc.multiply(batch.column("id"), 2))

    text = copy_files(source.snapshot, target.snapshot, job_of(target), adds, change=doubled)
    result = CopyResult.from_json(text)
    found = pa.Table.from_batches(rows_in(target.snapshot, result.adds))
    assert sorted(found["id"].to_pylist()) == list(range(0, 20, 2))


def test_no_files_are_an_empty_copy(source: sl.Table, target: sl.Table) -> None:
    result = CopyResult.from_json(copy_files(source.snapshot, target.snapshot, job_of(target), []))
    assert result == CopyResult((), RowSum())
    assert CopyResult.from_json(sum_files(source.snapshot, [])).total == RowSum()


def test_files_that_hold_other_rows_are_refused(
    source: sl.Table, target: sl.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that loses a row: it must not go unnoticed."""
    real = verified_copy.write_tables  # type: ignore[attr-defined]

    def losing(job: FileJob, tables: Any, written: Any) -> Any:
        return real(job, (table[1:] for table in tables), written)

    monkeypatch.setattr(verified_copy, "write_tables", losing)
    adds = as_adds(source.snapshot.files.table())
    with pytest.raises(VerificationFailed, match=r"10 rows read, 8 written.*Nothing was committed"):
        copy_files(source.snapshot, target.snapshot, job_of(target), adds)
    result = write_and_sum(target.snapshot, job_of(target), rows_in(source.snapshot, adds))
    assert result.total.rows == 8  # as read back, not as given
