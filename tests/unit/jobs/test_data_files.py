"""Rows in data files: cut, sorted and partitioned, and counted by their writers."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.storage.storage import decode_path
from shredlake.delta.write.data_files import file_spec
from shredlake.jobs.data_files import FileJob, Gauge, Written, ordered, write_tables

SCHEMA = pa.schema([("part", pa.string()), ("v", sl.variant())])


def rows(count: int) -> pa.Table:
    texts = [f'{{"n": {(7 * n) % count}, "s": "some text"}}' for n in range(count)]
    return pa.table({"part": [f"p{n % 2}" for n in range(count)], "v": sl.from_json(texts)}, schema=SCHEMA)


def job(place: Path, partition_by: tuple[str, ...] = (), **options: object) -> FileJob:
    properties = {"delta.enableVariantShredding": "true"}
    table = sl.Table.create(place, SCHEMA, partition_by=partition_by, properties=properties)
    spec = file_spec(table.snapshot, {"v": "struct<n bigint>"})
    return FileJob(spec, **options)  # type: ignore[arg-type]


def test_a_known_number_of_rows_cuts_files(tmp_path: Path) -> None:
    written = Written("v")
    adds = write_tables(job(tmp_path, rows_per_file=40), [rows(100), rows(10)], written)
    counts = [len(sl.read_parquet(tmp_path / decode_path(add.path))) for add in adds]
    assert counts == [40, 40, 30]
    assert written.rows == 110


def test_bytes_are_those_of_the_files(tmp_path: Path) -> None:
    written = Written("v")
    adds = write_tables(job(tmp_path), [rows(1000)], written)
    report = sl.inspect(tmp_path / decode_path(adds[0].path)).variants[0]
    assert 0 < written.typed_bytes < written.total_bytes == report.bytes


def test_a_column_whose_name_begins_alike_is_not_counted(tmp_path: Path) -> None:
    schema = pa.schema([("v", sl.variant()), ("v2", sl.variant())])
    table = sl.Table.create(tmp_path, schema, properties={"delta.enableVariantShredding": "false"})
    column = sl.from_json(["1"] * 100)
    sizes = []
    for name in ("v", "v2", "absent"):
        written = Written(name)
        write_tables(FileJob(file_spec(table.snapshot, {})), [pa.table({"v": column, "v2": column})], written)
        sizes.append(written.total_bytes)
    assert sizes[0] == sizes[1] > sizes[2] == 0


def test_rows_are_sorted_and_divided_by_partition(tmp_path: Path) -> None:
    adds = write_tables(job(tmp_path, ("part",), sort_by=("v:n::bigint",)), [rows(50), rows(50)])
    assert [add.partition_values for add in adds] == [{"part": "p0"}, {"part": "p1"}]
    for add in adds:
        found = sl.read_parquet(tmp_path / decode_path(add.path), ["v:n::bigint AS n"])["n"].to_pylist()
        assert found == sorted(found)


def test_a_failure_leaves_no_file(tmp_path: Path) -> None:
    def failing() -> object:
        yield rows(10)
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        write_tables(job(tmp_path), failing())  # type: ignore[arg-type]
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_gauge_learns_the_ratio(tmp_path: Path) -> None:
    gauge = Gauge(job(tmp_path, file_bytes=1000))
    batch = pa.record_batch({"n": pa.array(range(500), pa.int64())})  # 4,000 bytes
    gauge.wrote(batch, 0, 0)
    assert gauge.full, "four bytes of Arrow are taken for one of a file"
    gauge.closed(100)
    gauge.wrote(batch, 0, 0)
    assert not gauge.full, "it was one of forty"


def test_no_sort_key_means_no_copy() -> None:
    table = rows(3)
    assert ordered(table, ()) is table
