"""Scans: finds the row groups and pages that can match and reads them in order, a few windows ahead.

```
files ─ footers ─▶ row groups ─ statistics ─▶ segments ─ page index ─▶ windows ─ threads ─▶ batches, in order
```
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final, TypeAlias, TypedDict, TypeVar

import pyarrow as pa

from shredlake.errors import InvalidExpression
from shredlake.expr.arguments import read_columns, read_condition
from shredlake.expr.ast import Expr, Projection
from shredlake.expr.sql import spelled
from shredlake.kernels.cast_options import CastOptions
from shredlake.parquet.arrow_stream import ArrowStream, columns_text
from shredlake.parquet.format.row_ranges import Range, Rows
from shredlake.parquet.io.source import Location, find_files
from shredlake.parquet.read.bind import Bound, View
from shredlake.parquet.read.explain import Explain
from shredlake.parquet.read.open_file import OpenFile
from shredlake.parquet.read.plan import Plan, make_plan
from shredlake.parquet.read.skipping import (
    certain_row_groups,
    matching_row_groups,
    matching_rows,
    page_columns,
)
from shredlake.parquet.read.window import ConstantRows, Task, Window
from shredlake.runner import OrderedRunner, in_order

MOST_KNOWN_ROWS: Final = 1 << 30
"""The most rows of a batch that consists of runs, whose ends are 32-bit numbers."""

WINDOW_BYTES: Final = 64 << 20
"""The maximum decoded size of one window."""

WINDOW_GROWTH: Final = 4
"""The growth factor of windows after a small first one."""
STREAMED_ROWS: Final = 16 << 10
"""The smallest window of a row group without page indexes, which is read sequentially."""

OPENING_THREADS: Final = 8
"""The least number of threads that read footers, which mostly wait."""

SHOWN_FILES: Final = 3
"""How many files a `repr` names."""

VIEWS: Final[tuple[View, ...]] = ("variant", "struct", "json")
Views: TypeAlias = View | Mapping[str, View]

Finish: TypeAlias = Callable[[pa.RecordBatch], pa.RecordBatch]
"""A function that completes a batch after it was read."""

Job: TypeAlias = Callable[[], tuple[OpenFile, tuple[int, pa.RecordBatch | None]]]
"""Reads a window: its file, the number of rows that match, and the finished batch."""

T = TypeVar("T")


class Scan(ArrowStream):
    """A query over Parquet files; only footers are read until rows are requested.

    Returned by `scan_parquet`. `schema` is the schema of the result. With `first_rows`, the first batch has
    about that many rows, and later batches grow. It is an Arrow stream: `pa.table(scan)` reads it.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        batch_size: int | None = None,
        threads: int | None = None,
        first_rows: int | None = None,
        runner: OrderedRunner | None = None,
        finish: Finish | None = None,
    ) -> None:
        """`runner` provides the threads of a larger scan; without it, the scan starts `threads` threads.

        `finish` is applied to each batch on the thread that reads it, so that threads share this work.
        """
        self._plan = plan
        self._finish = finish
        self._runner = runner
        self._batch_size = batch_size
        self._first_rows = first_rows
        self._threads = threads or pa.cpu_count()
        self._explain: Explain | None = None

    @property
    def schema(self) -> pa.Schema:
        return self._plan.schema

    def plan(self) -> dict[str, str]:
        """The files, columns and condition of the scan, and the row groups that may match."""
        tasks, predicate = self._plan.tasks, self._plan.predicate
        names = [task.file.name for task in tasks]
        groups = sum(len(task.file.chunks) for task in tasks)
        kept = groups if predicate is None else sum(len(self._groups(task)) for task in tasks)
        return {
            "Scan": ", ".join(names[:SHOWN_FILES]) + (", ..." if len(names) > SHOWN_FILES else ""),
            "columns": columns_text(self.schema),
            **({} if predicate is None else {"where": spelled(predicate)}),
            "files": f"{len(names):,}",
            "row groups": f"{kept:,} of {groups:,} can match",
        }

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the rows in the order of the files; a few windows are in memory at a time."""
        rows = 0
        self._reset()
        try:
            for found, batch in self._run(self._rows_of):
                rows += found
                if batch is not None:
                    step = self._batch_size or max(batch.num_rows, 1)
                    yield from (batch.slice(start, step) for start in range(0, batch.num_rows, step))
        finally:
            self._explain = self._report(rows if self._limit is None else min(rows, self._limit))

    def count(self) -> int:
        """Counts the matching rows; without a condition, from the footers alone."""
        if self._limit is not None:
            return sum(batch.num_rows for batch in self.to_batches())
        if self._plan.predicate is None and all(task.live is None for task in self._plan.tasks):
            return sum(sum(task.file.chunks.row_counts) for task in self._plan.tasks)
        rows = 0
        self._reset()
        try:
            for matching in self._run(_count_of):
                rows += matching
        finally:
            self._explain = self._report(rows)
        return rows

    def explain(self) -> Explain:
        """The cost of the last run. Runs the scan if it has not run yet."""
        if self._explain is None:
            for _ in self.to_batches():
                pass
        assert self._explain is not None
        return self._explain

    def jobs(self) -> Iterator[Job]:
        """The windows, for a caller that runs them on threads of its own and calls `close` after the last."""
        self._reset()
        return self._jobs(self._rows_of)

    def close(self, rows: int) -> Explain:
        """Closes the files of a scan whose jobs found so many rows, and reports its cost."""
        for task in self._plan.tasks:
            task.file.close()
        self._explain = self._report(rows)
        return self._explain

    def _run(self, finish: Callable[[Window | ConstantRows], T]) -> Iterator[T]:
        """Yields the result of every window in order. A file is closed once the next file has a result."""
        previous: OpenFile | None = None
        jobs = self._jobs(finish)
        gradual = self._limit is not None  # the first window may have enough rows
        if self._runner:
            results = self._runner.run(jobs, gradual=gradual, size=_bytes_of)
        else:
            results = in_order(jobs, self._threads, gradual=gradual, size=_bytes_of)
        for file, result in results:
            if previous is not None and previous is not file:
                previous.close()
            previous = file
            yield result
        for task in self._plan.tasks:
            task.file.close()

    def _jobs(
        self, finish: Callable[[Window | ConstantRows], T]
    ) -> Iterator[Callable[[], tuple[OpenFile, T]]]:
        for task in self._plan.tasks:
            for window in self._windows(task):
                yield partial(_job, task.file, finish, window)

    def _rows_of(self, window: Window | ConstantRows) -> tuple[int, pa.RecordBatch | None]:
        """The number of rows that match, and the finished batch."""
        rows = window.filter().count
        batch = window.batch() if rows else None
        return rows, batch if batch is None or self._finish is None else self._finish(batch)

    def _windows(self, task: Task) -> Iterator[Window | ConstantRows]:
        file, predicate = task.file, self._plan.predicate
        groups = self._groups(task)
        sizes = _growing(self._first_rows or self._limit)
        certain = [
            certain_row_groups(file, condition.written, task.statistics, self._plan.options)
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
                rows = matching_rows(file, group, predicate, task.statistics, self._plan.options)
            for window in _cut(task, group, rows, sizes, open_) if rows.count else ():
                if window.rows.count:
                    yield window
        if known.count:
            yield known

    def _groups(self, task: Task) -> list[int]:
        """The row groups that have rows and can match."""
        file, predicate = task.file, self._plan.predicate
        groups = [group for group, rows in enumerate(file.chunks.row_counts) if rows]
        if predicate is None or not groups:
            return groups
        kept = set(matching_row_groups(file, predicate, task.statistics, self._plan.options))
        return [group for group in groups if group in kept]

    def _reset(self) -> None:
        for task in self._plan.tasks:
            task.file.tally.reset()

    def _report(self, rows: int) -> Explain:
        files = [task.file for task in self._plan.tasks]
        read = {file: file.tally for file in files}
        columns = {file: sorted(tally.columns) for file, tally in read.items()}
        return Explain(
            files_read=sum(bool(tally.row_groups) for tally in read.values()),
            files_total=len(files),
            row_groups_read=sum(len(tally.row_groups) for tally in read.values()),
            row_groups_total=sum(len(file.chunks) for file in files),
            pages_read=sum(tally.pages for tally in read.values()),
            pages_total=sum(
                file.page_count(group, columns[file]) for file in files for group in range(len(file.chunks))
            ),
            columns=tuple(
                dict.fromkeys(file.leaves[column].dotted for file in files for column in columns[file])
            ),
            bytes_read=sum(tally.bytes_read for tally in read.values()),
            bytes_total=sum(file.source.size for file in files),
            rows=rows,
        )


class ScanArguments(TypedDict, total=False):
    """The keyword arguments of `scan_parquet` and `read_parquet`."""

    strict: bool
    variants: Views
    batch_size: int | None
    threads: int | None
    timezone: str
    store: Any
    checksums: bool


def scan_parquet(
    path: Location | Sequence[Location],
    columns: str | Sequence[str | Projection] | None = None,
    where: str | Expr | None = None,
    *,
    strict: bool = False,
    variants: Views = "variant",
    batch_size: int | None = None,
    threads: int | None = None,
    timezone: str = "UTC",
    store: Any = None,
    checksums: bool = True,
) -> Scan:
    """A lazy query over Parquet files: `to_batches()`, `to_arrow()`, `count()`, `explain()`.

    Arguments are those of `read_parquet`.

    >>> import io, pyarrow as pa, pyarrow.parquet as pq
    >>> file = io.BytesIO()
    >>> pq.write_table(pa.table({"id": range(1000)}), file, row_group_size=100)
    >>> scan = scan_parquet(file, where="id >= 950")
    >>> scan.count()
    50
    >>> scan.explain().row_groups_read, scan.explain().row_groups_total
    (1, 10)
    """
    options = CastOptions.of(strict=strict, timezone=timezone)
    projections = None if columns is None else read_columns(columns, timezone=timezone)
    predicate = read_condition(where, timezone=timezone)
    asked = variants.values() if isinstance(variants, Mapping) else [variants]
    for view in asked:
        if view not in VIEWS:
            raise InvalidExpression(f"variants={view!r}: expected one of {', '.join(map(repr, VIEWS))}")
    declared = tuple(variants) if isinstance(variants, Mapping) else ()
    locations = find_files(path, store)
    open_ = partial(OpenFile, store=store, variants=declared, checksums=checksums)
    if len(locations) == 1:
        files = [open_(locations[0])]
    else:
        opening = (partial(open_, location) for location in locations)
        files = list(in_order(opening, max(threads or pa.cpu_count(), OPENING_THREADS)))
        for file in files:
            file.close()  # many files may need many descriptors; each file is reopened when it is read
    plan = make_plan(files, projections, predicate, views=variants, options=options, check=True)
    return Scan(plan, batch_size=batch_size, threads=threads)


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
    task: Task, group: int, rows: Rows, sizes: Iterator[int], conditions: Sequence[Bound]
) -> Iterator[Window]:
    """Cuts rows into windows that fit into memory: of pages if there is a page index, else of a stream.

    `conditions` are those that not all rows of the row group meet.
    """
    file = task.file
    bounds = (*conditions, *task.outputs)
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


def _job(
    file: OpenFile, finish: Callable[[Window | ConstantRows], T], window: Window | ConstantRows
) -> tuple[OpenFile, T]:
    return file, finish(window)


def _bytes_of(result: tuple[OpenFile, Any]) -> int:
    """The bytes of a finished window: of its batch, if it is not a count."""
    found = result[1]
    batch = found[1] if isinstance(found, tuple) else None
    return 0 if batch is None else batch.nbytes


def _count_of(window: Window | ConstantRows) -> int:
    return window.filter().count
