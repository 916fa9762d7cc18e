"""Cuts and packs the text of an ingest into tasks.

```
1 file, 300 MB       ─ cut ──▶ 4 tasks of 75 MB
100,000 files, 1 kB  ─ pack ─▶ as if each were larger by what it costs to open: 50 tasks, in a store 788
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shredlake.jobs.ingest.sources import SourceFile, Split, cut
from shredlake.jobs.packing import OPENING_COST, pack

LOCAL_OPENING_COST: Final = 64 << 10
"""`OPENING_COST` of a text on a local disk, which needs no request to a store."""
SMALLEST_TASK: Final = 8 << 20
LARGEST_TASK: Final = 128 << 20
"""The least and the most bytes of a task, with those that stand for opening its files."""


def text_tasks(
    files: Sequence[SourceFile], task_bytes: int | None, parallelism: int
) -> tuple[list[Split], list[tuple[Split, ...]]]:
    """The splits of the files, and the same splits packed into tasks.

    With `task_bytes`, a task gets so much text, however many files that is.

    >>> files = [SourceFile(f"/in/{number}.json", 1000, "now") for number in range(100_000)]
    >>> [len(text_tasks(files, given, parallelism=2)[1]) for given in (None, 128 << 20)]
    [50, 1]
    """
    if task_bytes is not None:
        splits = cut(files, task_bytes)
        return splits, list(pack(splits, lambda split: split.size, task_bytes))
    size = task_size(sum(file.size + opening_cost(file) for file in files), parallelism)
    splits = cut(files, size)
    # One small file more is allowed. Otherwise the last of many would be left over for a task of their own.
    limit = size + max((opening_cost(file) for file in files), default=0)
    return splits, list(pack(splits, lambda split: split.size + opening_cost(split.file), limit))


def opening_cost(file: SourceFile) -> int:
    """The bytes that could be read in the time in which a text is opened."""
    return OPENING_COST if file.is_remote else LOCAL_OPENING_COST


def task_size(total: int, parallelism: int) -> int:
    """A size that gives as many tasks as can run at once, or a multiple of that, to keep all cores busy.

    >>> [task_size(total << 20, 2) >> 20 for total in (1, 100, 300, 1000, 10_000)]
    [8, 50, 75, 125, 125]
    """
    rounds = -(-total // (LARGEST_TASK * parallelism)) or 1
    return max(SMALLEST_TASK, -(-total // (rounds * parallelism)))
