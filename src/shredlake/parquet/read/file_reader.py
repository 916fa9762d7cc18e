"""Reads one file of a query: the row groups and pages that can match, as jobs that each read a window.

```
row groups ─ statistics ─▶ row groups that can match ─ page index ─▶ pages ─ memory ─▶ windows, each a job
```

The caller runs the jobs on its threads: `Scan` for files, `TableScan` for a table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

import pyarrow as pa

from shredlake.expr.ast import Expr
from shredlake.parquet.format.row_ranges import Range, Rows
from shredlake.parquet.read.bind import Bound
from shredlake.parquet.read.explain import Explain, cost_of
from shredlake.parquet.read.skipping import (
    certain_row_groups,
    matching_row_groups,
    matching_rows,
    page_columns,
)
from shredlake.parquet.read.window import ConstantRows, Task, Window

MOST_KNOWN_ROWS: Final = 1 << 30
"""The most rows of a batch that consists of runs, whose ends are 32-bit numbers."""

WINDOW_BYTES: Final = 64 << 20
"""The maximum decoded size of one window."""

WINDOW_GROWTH: Final = 4
"""The growth factor of windows after a small first one."""

STREAMED_ROWS: Final = 16 << 10
"""The smallest window of a row group without page indexes, which is read sequentially."""

Finish: TypeAlias = Callable[[pa.RecordBatch], pa.RecordBatch]
"""A function that completes a batch after it was read."""


class Found(NamedTuple):
    """The result of one job."""

    rows: int
    """The number of rows that match."""
    batch: pa.RecordBatch | None
    """The finished batch; None if no row matches, or if rows are only counted."""

    @property
    def bytes(self) -> int:
        """The bytes of the batch."""
        return 0 if self.batch is None else int(self.batch.nbytes)


Job: TypeAlias = Callable[[], Found]
"""Reads one window."""


class FileReader:
    """One run of a query over one file: its windows as jobs. Call `close` after the last one."""

    def __init__(
        self,
        task: Task,
        predicate: Expr | None,
        *,
        first_rows: int | None = None,
        finish: Finish | None = None,
    ) -> None:
        """With `first_rows`, the first window has about that many rows, and later windows grow.

        `finish` is applied to each batch by its job, so that threads share this work.
        """
        self.task = task
        self._predicate = predicate
        self._first_rows = first_rows
        self._finish = finish
        task.file.tally.reset()

    def batches(self) -> Iterator[Job]:
        """The jobs that read the rows, in the order of the file."""
        return (partial(self._batch_of, window) for window in self._windows(self.task.outputs))

    def counts(self) -> Iterator[Job]:
        """The jobs that only count the rows. Without a condition, the footer alone is read."""
        if self._predicate is None and self.task.live is None:
            yield partial(Found, sum(self.task.file.chunks.row_counts), None)
            return
        for window in self._windows(()):
            yield partial(_count_of, window)

    def close(self) -> None:
        """Closes the file."""
        self.task.file.close()

    def cost(self, rows: int) -> Explain:
        """How much of the file the jobs read, which found so many rows."""
        return cost_of([self.task.file], rows)

    def _batch_of(self, window: Window | ConstantRows) -> Found:
        rows = window.filter().count
        batch = window.batch() if rows else None
        return Found(rows, batch if batch is None or self._finish is None else self._finish(batch))

    def _windows(self, outputs: Sequence[Bound]) -> Iterator[Window | ConstantRows]:
        """The windows that can match, of a size that the leaves of `outputs` and of the condition allow."""
        task, predicate = self.task, self._predicate
        file, options = task.file, task.options
        groups = possible_groups(task, predicate)
        sizes = _growing(self._first_rows)
        certain = [
            certain_row_groups(file, condition.written, task.statistics, options)
            if condition.written is not None
            else frozenset()
            for condition in (task.conditions if groups else ())
        ]
        undecided = [group for group in groups if any(group not in sure for sure in certain)]
        if undecided:  # all page indexes at once, in one request on an object store
            file.pages(undecided, page_columns(file, undecided[0], task.statistics))
        known = ConstantRows(task)
        for group in groups:
            row_count = file.chunks.row_counts[group]
            open_ = [one for one, sure in zip(task.conditions, certain, strict=True) if group not in sure]
            if not open_ and task.live is None and known.count + row_count < MOST_KNOWN_ROWS:
                values = task.known_outputs(group)
                if values is not None:
                    known.add(row_count, values)
                    continue
            if known.count:
                yield known
                known = ConstantRows(task)
            rows = Rows.all(row_count)
            if predicate is not None and open_:
                rows = matching_rows(file, group, predicate, task.statistics, options)
            for window in _cut(task, group, rows, sizes, open_, outputs) if rows.count else ():
                if window.rows.count:
                    yield window
        if known.count:
            yield known


def possible_groups(task: Task, predicate: Expr | None) -> list[int]:
    """The row groups that have rows and can match."""
    groups = [group for group, rows in enumerate(task.file.chunks.row_counts) if rows]
    if predicate is None or not groups:
        return groups
    kept = set(matching_row_groups(task.file, predicate, task.statistics, task.options))
    return [group for group in groups if group in kept]


def _count_of(window: Window | ConstantRows) -> Found:
    return Found(window.filter().count, None)


def _growing(first_rows: int | None) -> Iterator[int]:
    """Growing sizes of windows; unbounded if `first_rows` is None.

    >>> sizes = _growing(5)
    >>> [next(sizes) for _ in range(4)]
    [5, 20, 80, 320]
    """
    size = first_rows or sys.maxsize
    while True:
        yield size
        size = min(size * WINDOW_GROWTH, sys.maxsize)


def _cut(
    task: Task,
    group: int,
    rows: Rows,
    sizes: Iterator[int],
    conditions: Sequence[Bound],
    outputs: Sequence[Bound],
) -> Iterator[Window]:
    """Cuts rows into windows that fit into memory: of pages if there is a page index, else of a stream.

    `conditions` are those that not all rows of the row group meet.
    """
    file = task.file
    bounds = (*conditions, *outputs)
    columns = task.columns(group, {reference for bound in bounds for reference in bound.references})
    row_count = file.chunks.row_counts[group]
    weight = sum(file.chunks.chunk(group, column).decoded_size for column in columns) / row_count
    most = max(int(WINDOW_BYTES / weight), 1024) if weight else row_count
    read, read_leaves = partial(file.read, group), partial(file.read_leaves, group)
    first = next(sizes)
    if rows.count <= min(most, first):
        yield Window(task, group, _living(task, group, rows), read, read_leaves, conditions=conditions)
    elif all(pages is not None for pages in file.pages([group], columns).values()):
        for part in _split(rows.ranges, (min(most, size) for size in chain([first], sizes))):
            yield Window(
                task, group, _living(task, group, Rows(part)), read, read_leaves, conditions=conditions
            )
    else:
        for span, arrays in file.stream(group, columns, min(most, max(first, STREAMED_ROWS))):
            if inside := rows.within(span):
                living = _living(task, group, Rows(inside))
                read_here = _from_memory(span, arrays)
                yield Window(task, group, living, read_here, together=columns, conditions=conditions)


def _living(task: Task, group: int, rows: Rows) -> Rows:
    """The rows that were not deleted."""
    if task.live is None:
        return rows
    first = sum(task.file.chunks.row_counts[:group])
    return rows.masked(
        pa.concat_arrays([task.live(first + start, first + stop) for start, stop in rows.ranges])
    )


def _split(ranges: Sequence[Range], sizes: Iterator[int]) -> Iterator[tuple[Range, ...]]:
    """Splits ranges into portions of at most as many rows as `sizes` yields.

    >>> list(_split([(0, 5), (7, 9)], iter([3] * 4)))
    [((0, 3),), ((3, 5), (7, 8)), ((8, 9),)]
    """
    portion: list[Range] = []
    room = next(sizes)
    for start, stop in ranges:
        while start < stop:
            step = min(room, stop - start)
            portion.append((start, start + step))
            start, room = start + step, room - step
            if not room:
                yield tuple(portion)
                portion, room = [], next(sizes)
    if portion:
        yield tuple(portion)


def _from_memory(
    span: Range, arrays: dict[str, pa.Array]
) -> Callable[[frozenset[int], Rows], dict[str, pa.Array]]:
    def read(_: frozenset[int], rows: Rows) -> dict[str, pa.Array]:
        return {name: rows.pick(array, (span,)) for name, array in arrays.items()}

    return read
