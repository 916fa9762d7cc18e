"""Samples of text: spread over all of it, bounded, and made of valid documents only."""

from __future__ import annotations

import base64
from itertools import pairwise
from pathlib import Path

import pytest

from shredlake.jobs.ingest.parse_task import Parsing
from shredlake.jobs.ingest.sampling import FILES_PER_WINDOW, sample_splits, sample_windows
from shredlake.jobs.ingest.sources import SourceFile, Split, cut, find_files
from shredlake.shredding.inference.profile import Profile


def split(name: str, size: int) -> Split:
    return Split(SourceFile(name, size, ""), 0, size, 0, "lines")


@pytest.mark.parametrize("windows", [1, 3, 16])
def test_windows_are_spread_evenly(windows: int) -> None:
    found = sample_windows([split("a", 10_000), split("b", 10_000)], windows, 100)
    starts = [one.start + (10_000 if one.file.uri == "b" else 0) for [one] in found]
    assert len(found) == windows
    steps = {after - before for before, after in pairwise(starts)}
    assert all(abs(step - 20_000 / windows) <= 1 for step in steps)


def test_nothing_is_sampled_twice() -> None:
    for count in (1, 5, 64):
        found = sample_windows([split(str(n), 37) for n in range(count)], 16, 30)
        read = [(one.file.uri, one.start) for window in found for one in window]
        assert len(read) == len(set(read))


def test_a_window_opens_few_files() -> None:
    small = [Split(SourceFile(str(n), 2, ""), 0, 2, 0) for n in range(1000)]
    assert max(map(len, sample_windows(small, 2, 1 << 20))) == FILES_PER_WINDOW


def test_no_text_gives_no_sample() -> None:
    assert sample_windows([], 16, 100) == []
    assert sample_splits(Parsing(), 100, []) == ""


def test_invalid_documents_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text('{"a": 1}\n{"a":\n{"a": "x", "b": 2}\n')
    splits = cut(find_files([str(tmp_path / "a.ndjson")], {}), 1 << 20)
    found = sample_splits(Parsing(), 1 << 20, [tuple(splits)])
    assert Profile.from_bytes(base64.b64decode(found)).rows == 2
