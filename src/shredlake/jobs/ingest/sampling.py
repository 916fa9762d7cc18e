"""Samples the text of an ingest, to choose a layout: windows spread evenly over all of it."""

from __future__ import annotations

import base64
import logging
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

import pyarrow.compute as pc

from shredlake.formatting import bytes_text, counted
from shredlake.jobs.ingest.parse_task import Parsing, parse
from shredlake.jobs.ingest.sources import Split
from shredlake.jobs.ingest.text import pieces
from shredlake.kernels.profile import merge_profiles, profile_bytes

_log = logging.getLogger(__name__)

SAMPLE_READ = 256 << 10

Window = tuple[Split, ...]
"""Contiguous text: a range of one file, continued in the following files if that is short."""

FILES_PER_WINDOW = 32
"""The most files in a window, since opening a file costs more than reading a small one."""

SAMPLE_PATIENCE = 4 << 20
"""A window that begins inside a line is given up if the line does not end within this many bytes."""


def sample_splits(parsing: Parsing, limit: int, windows: Sequence[Window]) -> str:
    """Profiles `limit` bytes of valid documents of each window, to choose a layout."""
    parts = [part for window in windows for part in _sample_window(parsing, limit, window)]
    return base64.b64encode(merge_profiles(parts)).decode() if parts else ""


def _sample_window(parsing: Parsing, limit: int, window: Window) -> Iterator[bytes]:
    seen = 0
    for split in window:
        passed = 0
        for piece in pieces(
            split, max_document=parsing.max_document, read_size=SAMPLE_READ, patience=SAMPLE_PATIENCE
        ):
            passed += piece.rows.nbytes
            if piece.problem is None:
                column, _ = parse(piece.rows, parsing)
                good = pc.drop_null(column)
                if len(good):
                    yield profile_bytes(good, threads=1)
                    seen += piece.rows.nbytes * len(good) // len(column)
            if seen >= limit:
                return
            if passed >= 4 * limit:
                break  # this file holds little JSON; the next one may hold more


def sample_windows(splits: Sequence[Split], windows: int, window_bytes: int) -> list[Window]:
    """A fair sample: windows spread evenly over all the text, across all files.

    Text that can only be read from its beginning (compressed, small, arrays) is sampled there.

    >>> from shredlake.jobs.ingest.sources import SourceFile
    >>> whole = Split(SourceFile("a.ndjson", 1000, ""), 0, 1000, 0, "lines")
    >>> [[(split.start, split.end) for split in window] for window in sample_windows([whole], 4, 10)]
    [[(0, 10)], [(250, 260)], [(500, 510)], [(750, 760)]]
    >>> small = [Split(SourceFile(f"{n}.ndjson", 4, ""), 0, 4, 0) for n in range(100)]
    >>> [len(window) for window in sample_windows(small, 4, 10)]
    [3, 3, 3, 3]
    """
    ends = list(accumulate(split.size for split in splits))
    total = ends[-1] if ends else 0
    step = max(-(-total // windows), 1)
    chosen: list[Window] = []
    fresh = 0  # splits before this index are sampled
    for due in range(0, total, step):
        index = max(bisect_right(ends, due), fresh)
        if index >= len(splits):
            break
        split = splits[index]
        start = split.start
        if not split.whole:
            start += max(due - (ends[index] - split.size), 0)
        window: list[Split] = []
        left = min(window_bytes, step)
        while left > 0 and len(window) < FILES_PER_WINDOW:
            # Past the end of the split: steps and splits coincide, and one byte of it may be left.
            end = split.end if split.whole else min(start + left, split.file.size)
            window.append(replace(split, start=start, end=end))
            left -= end - start
            fresh = index + 1 if split.whole else index
            while index < len(splits) and splits[index].file.uri == split.file.uri:
                index += 1
            if index == len(splits):
                break
            split, start = splits[index], splits[index].start
        chosen.append(tuple(window))
    read = [split for window in chosen for split in window]
    most = bytes_text(sum(min(split.size, window_bytes) for split in read))
    files = counted(len({split.file.uri for split in read}), "file")
    places = f"{counted(len(chosen), 'place')} in {files}"
    _log.info("a sample of at most %s, from %s, decides what to shred", most, places)
    return chosen
