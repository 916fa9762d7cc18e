"""Rows chosen by ranges and masks, bytes fetched by ranges."""

from __future__ import annotations

import errno
import io
import os
import threading
import weakref
from collections import defaultdict
from pathlib import Path

import obstore.store
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.errors import InvalidFile
from shredlake.parquet.io import source as module
from shredlake.parquet.io.source import REMOTE_GAP, FileView, coalesce, find_files, open_input


def test_coalesce_keeps_each_range_findable() -> None:
    extents = [(500, 10), (0, 10), (505, 20), (12, 3)]
    merged, places = coalesce(extents, gap=2)
    assert merged == [(0, 15), (500, 25)]
    found = [(merged[which][0] + at, extents[n][1]) for n, (which, at) in enumerate(places)]
    assert found == extents


DATA = bytes(range(256)) * 1000


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "data.bin"
    path.write_bytes(DATA)
    return path


def test_every_source_reads_the_same_ranges_and_counts_them(stored: Path) -> None:
    extents = [(100, 50), (200_000, 7), (0, 4)]
    expected = [DATA[offset : offset + length] for offset, length in extents]
    memory = obstore.store.MemoryStore()
    obstore.put(memory, "some/key", DATA)
    sources = [
        open_input(stored),
        open_input(io.BytesIO(DATA)),
        open_input(str(stored), store=pyarrow.fs.LocalFileSystem()),
        open_input("some/key", store=memory),
        open_input(f"file://{stored}"),
    ]
    for source in sources:
        assert source.size == len(DATA)
        assert [bytes(part) for part in source.read(extents)] == expected
        source.close()
        assert bytes(source.read([(1, 2)])[0]) == DATA[1:3]
    assert [source.bytes_read for source in sources[:3]] == [63] * 3
    remote = sources[3]
    assert REMOTE_GAP > 100  # so that the two near ranges are one request
    assert remote.requests == 3
    assert remote.bytes_read == 150 + 7 + 2


def test_a_file_cut_short_says_so(tmp_path: Path) -> None:
    path = tmp_path / "short"
    path.write_bytes(b"PAR1")
    with pytest.raises(InvalidFile, match="short is not a Parquet file: it has 4 bytes"):
        open_input(path).footer()
    with pytest.raises(InvalidFile, match="truncated: it refers to 10 bytes at 2, but has 4 bytes"):
        open_input(path).read([(2, 10)])
    with pytest.raises(InvalidFile, match=r"absent.parquet can't be opened: it does not exist"):
        open_input(tmp_path / "absent.parquet")


def test_a_remote_footer_takes_one_request(tmp_path: Path) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": range(100_000)}), sink)
    memory = obstore.store.MemoryStore()
    obstore.put(memory, "f", sink.getvalue())
    source = open_input("f", store=memory)
    assert source.footer() == open_input(sink).footer()
    assert source.requests == 1


def test_files_of_a_directory_a_glob_and_a_list(tmp_path: Path) -> None:
    for name in ("b.parquet", "a.parquet", "day=1/c.parquet", "_delta_log/0.json", ".hidden", "_SUCCESS"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = [str(Path(str(path)).relative_to(tmp_path)) for path in find_files(tmp_path)]
    assert found == ["a.parquet", "b.parquet", "day=1/c.parquet"]
    assert find_files(str(tmp_path / "*.parquet")) == [
        str(tmp_path / "a.parquet"),
        str(tmp_path / "b.parquet"),
    ]
    assert find_files([tmp_path / "b.parquet", tmp_path / "a.parquet"]) == [
        str(tmp_path / "b.parquet"), str(tmp_path / "a.parquet"),
    ]  # fmt: skip
    assert find_files(str(tmp_path), pyarrow.fs.LocalFileSystem()) == [
        str(tmp_path / name) for name in ("a.parquet", "b.parquet", "day=1/c.parquet")
    ]
    store = obstore.store.LocalStore(tmp_path)
    assert find_files("", store) == ["a.parquet", "b.parquet", "day=1/c.parquet"]
    assert find_files("day=1", store) == ["day=1/c.parquet"]
    with pytest.raises(InvalidFile, match="no Parquet file at"):
        find_files(str(tmp_path / "*.orc"))


def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f.parquet")
    for read in (sl.read_parquet, sl.inspect, sl.check):
        with pytest.raises(InvalidFile, match="is a pipe or device, but a Parquet file"):
            read(str(tmp_path / "f.parquet"))
    with pytest.raises(InvalidFile, match="is a pipe or device"):
        sl.inspect("/dev/zero")


def test_a_folder_in_place_of_a_file_says_what_it_is(tmp_path: Path) -> None:
    sl.Table.create(str(tmp_path / "t"), pa.schema([("id", pa.int64())]))
    for read in (sl.inspect, sl.check):
        with pytest.raises(InvalidFile, match="is a folder, not a file: open it as a Delta table"):
            read(tmp_path / "t")
        with pytest.raises(InvalidFile, match="is a folder, not a file: give the path of one Parquet file"):
            read(tmp_path)


def test_a_name_that_no_file_can_have() -> None:
    with pytest.raises(InvalidFile, match="null"):
        sl.inspect("a\0b")


class FailingDisk(io.BytesIO):
    """Reads the end of a file, and fails before it."""

    def read(self, size: int | None = -1) -> bytes:
        if self.tell() < 100:
            raise OSError(errno.EIO, "Input/output error")
        return super().read(size)


def test_a_failing_disk_is_not_the_fault_of_the_file() -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": range(10)}), sink)
    for read in (sl.read_parquet, sl.scan_parquet):
        with pytest.raises(sl.ReadFailed, match="Input/output error"):
            list(read(FailingDisk(sink.getvalue())).to_batches())


def test_a_view_waits_for_threads_that_hold_what_they_read(stored: Path) -> None:
    """Such a thread needs the interpreter, and would abort the process if that had ended."""
    view = FileView(open_input(stored))
    view.hold([(0, 100)])
    held = [view.read_buffer(100)]
    threading.Timer(0.05, held.clear).start()
    view.release()
    assert not held


def test_a_view_does_not_wait_forever(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_WAIT", 0.01)
    view = FileView(open_input(stored))
    view.hold([(0, 100)])
    held = view.read_buffer(100)
    view.release()
    assert len(held) == 100


def test_nothing_that_was_read_outlives_its_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pa.array([f'{{"a": {n}, "b": "{n % 7}", "c": {{"d": {n}}}}}' for n in range(20_000)])
    groups = sl.WriteOptions(row_group_rows=2_000)
    sl.write_parquet(pa.table({"v": sl.from_json(texts)}), tmp_path / "a.parquet", options=groups)
    given: defaultdict[FileView, list[weakref.ref[pa.Buffer]]] = defaultdict(list)
    left: list[int] = []
    read, release = FileView.read_buffer, FileView.release

    def watched(self: FileView, length: int = -1) -> pa.Buffer:
        buffer = read(self, length)
        given[self].append(weakref.ref(buffer))
        return buffer

    def released(self: FileView) -> None:
        release(self)
        left.append(sum(buffer() is not None for buffer in given.pop(self)))

    monkeypatch.setattr(FileView, "read_buffer", watched)
    monkeypatch.setattr(FileView, "release", released)
    for _ in range(50):
        sl.scan_parquet(tmp_path / "a.parquet").to_arrow()
    assert len(left) >= 50
    assert not any(left)
