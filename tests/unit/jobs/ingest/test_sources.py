"""Source files: found by path, glob or folder, and sampled evenly."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shredlake.errors import PipelineError
from shredlake.jobs.ingest.sampling import sample_windows
from shredlake.jobs.ingest.sources import SourceFile, Split, find_files


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
