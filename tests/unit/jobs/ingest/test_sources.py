"""Source files: found by path, glob or folder, and sampled evenly."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import obstore
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shredlake.delta.storage.storage import Storage
from shredlake.errors import PipelineError
from shredlake.jobs.ingest.sampling import sample_windows
from shredlake.jobs.ingest.sources import SourceFile, Split, cut, find_files, open_at


def test_finding_files(tmp_path: Path) -> None:
    for name in ["b/y.ndjson", "a/x.ndjson", "a/.hidden", "_log/z.ndjson", "a/w.json"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1\n")
    everything = find_files(str(tmp_path))
    assert [str(Path(file.uri).relative_to(tmp_path)) for file in everything] == [
        "a/w.json",
        "a/x.ndjson",
        "b/y.ndjson",
    ]
    assert len(find_files(str(tmp_path / "*" / "*.ndjson"))) == 3
    assert len(find_files([str(tmp_path / "a"), str(tmp_path / "a/x.ndjson")])) == 2
    with pytest.raises(PipelineError, match="no file matches"):
        find_files(str(tmp_path / "*.nothing"))


def lines_split(file: SourceFile, start: int, end: int) -> Split:
    return Split(file, start, end, 0, "lines")


@pytest.mark.parametrize("pattern", ["a%20b", "a%20b/part%231.json", "a%20b/part?1.json", "a b/part#*"])
@pytest.mark.parametrize("prefix", ["file://", "file:", "file://localhost"])
def test_a_local_url_is_decoded_and_may_be_a_glob(tmp_path: Path, prefix: str, pattern: str) -> None:
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "part#1.json").write_text("1\n")
    [file] = find_files(f"{prefix}{tmp_path}/{pattern}")
    assert file.uri == str(tmp_path / "a b" / "part#1.json")


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.ndjson")).write_text("1\n")
    for source in (tmp_path, tmp_path / "*.ndjson"):
        with pytest.raises(PipelineError, match=r"\\udcff.ndjson': the name is not UTF-8"):
            find_files(str(source))


@given(
    size=st.integers(1, 100_000),
    part=st.integers(1, 100_000),
    windows=st.integers(1, 40),
    window_bytes=st.integers(1, 3000),
)
def test_a_sample_does_not_depend_on_how_the_text_is_cut(
    size: int, part: int, windows: int, window_bytes: int
) -> None:
    file = SourceFile("a.ndjson", size, "")
    part = max(part, size // 100)
    cuts = [lines_split(file, start, min(start + part, size)) for start in range(0, size, part)]
    whole, parts = (
        [[(one.start, one.end) for one in window] for window in sample_windows(splits, windows, window_bytes)]
        for splits in ([lines_split(file, 0, size)], cuts)
    )
    assert parts == whole
    length = min(window_bytes, -(-size // windows))
    assert all(end - start == min(length, size - start) for [(start, end)] in parts)
    assert len(parts) == min(windows, -(-size // -(-size // windows)))


@pytest.mark.parametrize("count", [1, 31, 33, 1000, 10_000])
def test_a_sample_of_many_small_files_is_spread_over_them(count: int) -> None:
    splits = [Split(SourceFile(f"{n}", 45, ""), 0, 45, 0) for n in range(count)]
    windows = sample_windows(splits, 32, 256 << 10)
    files = [int(split.file.uri) for window in windows for split in window]
    assert len(set(files)) == len(files) >= min(count, 1000)
    assert max(files) >= count * 0.95 - 32


def test_a_link_that_leads_to_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text("1\n")
    (tmp_path / "b.ndjson").symlink_to("gone.ndjson")
    with pytest.raises(PipelineError, match=r"b\.ndjson is a link that leads to no file"):
        find_files(str(tmp_path))


def test_a_folder_that_can_not_be_listed_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text("1\n")
    inner = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):  # a path longer than the system accepts
        os.mkdir("x" * 250, dir_fd=inner)
        outer, inner = inner, os.open("x" * 250, os.O_RDONLY, dir_fd=inner)
        os.close(outer)
    os.close(inner)
    with pytest.raises(PipelineError, match=r"can't be listed: File name too long. Nothing was ingested"):
        find_files(str(tmp_path))


def test_a_file_that_was_removed_after_it_was_found(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text("1\n")
    [file] = find_files(str(tmp_path))
    (tmp_path / "a.ndjson").unlink()
    with pytest.raises(PipelineError, match=r"a\.ndjson can't be read: No such file"):
        open_at(file)


def test_an_object_that_is_replaced_while_it_is_read() -> None:
    store = Storage("memory://replaced", {}).store
    obstore.put(store, "a.ndjson", b"1\n" * 100)
    [file] = find_files("memory://replaced/a.ndjson")
    text = open_at(file, piece=10)
    assert text.read(10) == b"1\n" * 5
    obstore.put(store, "a.ndjson", b"2\n" * 100)
    with pytest.raises(PipelineError, match=r"a\.ndjson was changed while it was read"):
        text.read(100)


def test_an_object_that_is_replaced_between_its_splits() -> None:
    store = Storage("memory://replaced-between", {}).store
    obstore.put(store, "a.ndjson", b"1\n" * 100)
    splits = cut(find_files("memory://replaced-between/a.ndjson"), 50)
    assert open_at(splits[0].file).read(4) == b"1\n1\n"
    obstore.put(store, "a.ndjson", b"22\n2" * 50)
    with pytest.raises(PipelineError, match=r"a\.ndjson was changed while it was read"):
        open_at(pickle.loads(pickle.dumps(splits[1])).file, 49).read(10)
