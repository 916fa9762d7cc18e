"""Scans of Parquet files, and reading them in one call.

```
files ─ footers ─▶ a plan ─ a reader per file ─▶ windows ─ threads ─▶ batches, in order
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias, TypedDict, Unpack

import pyarrow as pa

from shredlake.errors import InvalidExpression
from shredlake.expr.ast import Expr, Projection
from shredlake.expr.parse import read_columns, read_condition
from shredlake.expr.sql import spelled
from shredlake.kernels.cast_options import CastOptions
from shredlake.parquet.arrow_stream import ArrowStream, columns_text
from shredlake.parquet.io.source import Location, find_files
from shredlake.parquet.io.stores import Store
from shredlake.parquet.read.bind import View
from shredlake.parquet.read.explain import Explain, cost_of
from shredlake.parquet.read.file_reader import FileReader, Found, Job, possible_groups
from shredlake.parquet.read.open_file import OpenFile
from shredlake.parquet.read.plan import Plan, make_plan
from shredlake.runner import in_order
from shredlake.signatures import options_of

OPENING_THREADS: Final = 8
"""The least number of threads that read footers, which mostly wait."""

SHOWN_FILES: Final = 3
"""How many files a `repr` names."""

VIEWS: Final[tuple[View, ...]] = ("variant", "struct", "json")
Views: TypeAlias = View | Mapping[str, View]


class Scan(ArrowStream):
    """A query over Parquet files; only footers are read until rows are requested.

    Returned by `scan_parquet`. `schema` is the schema of the result. It is an Arrow stream: `pa.table(scan)`
    reads it.
    """

    def __init__(self, plan: Plan, *, batch_size: int | None = None, threads: int | None = None) -> None:
        self._plan = plan
        self._batch_size = batch_size
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
        kept = groups if predicate is None else sum(len(possible_groups(task, predicate)) for task in tasks)
        return {
            "Scan": ", ".join(names[:SHOWN_FILES]) + (", ..." if len(names) > SHOWN_FILES else ""),
            "columns": columns_text(self.schema),
            **({} if predicate is None else {"where": spelled(predicate)}),
            "files": f"{len(names):,}",
            "row groups": f"{kept:,} of {groups:,} can match",
        }

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the rows in the order of the files; a few windows are in memory at a time."""
        for found in self._run(FileReader.batches):
            if found.batch is not None:
                step = self._batch_size or max(found.batch.num_rows, 1)
                yield from (found.batch.slice(start, step) for start in range(0, found.batch.num_rows, step))

    def count(self) -> int:
        """Counts the matching rows; without a condition, from the footers alone."""
        if self._limit is not None:
            return sum(batch.num_rows for batch in self.to_batches())
        return sum(found.rows for found in self._run(FileReader.counts))

    def explain(self) -> Explain:
        """The cost of the last run. Runs the scan if it has not run yet."""
        if self._explain is None:
            for _ in self.to_batches():
                pass
        assert self._explain is not None
        return self._explain

    def _run(self, jobs_of: Callable[[FileReader], Iterator[Job]]) -> Iterator[Found]:
        """Yields the result of every window in order. A file is closed once the next file has a result."""
        plan = self._plan
        readers = [FileReader(task, plan.predicate, first_rows=self._limit) for task in plan.tasks]
        files = [task.file for task in plan.tasks]
        jobs = (partial(_with_file, reader.task.file, job) for reader in readers for job in jobs_of(reader))
        gradual = self._limit is not None  # the first window may have enough rows
        previous: OpenFile | None = None
        rows = 0
        try:
            for file, found in in_order(jobs, self._threads, gradual=gradual):
                if previous is not None and previous is not file:
                    previous.close()
                previous = file
                rows += found.rows
                yield found
            for file in files:
                file.close()
        finally:
            most = rows if self._limit is None else min(rows, self._limit)
            self._explain = cost_of(files, most)


class ScanArguments(TypedDict, total=False):
    """The keyword arguments of `scan_parquet` and `read_parquet`."""

    strict: bool
    variants: Views
    batch_size: int | None
    threads: int | None
    timezone: str
    store: Store | None
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
    store: Store | None = None,
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
    return scan_with(
        path,
        columns,
        where,
        CastOptions.of(strict=strict, timezone=timezone),
        variants=variants,
        batch_size=batch_size,
        threads=threads,
        store=store,
        checksums=checksums,
    )


def scan_with(
    path: Location | Sequence[Location],
    columns: str | Sequence[str | Projection] | None,
    where: str | Expr | None,
    options: CastOptions,
    *,
    variants: Views = "variant",
    batch_size: int | None = None,
    threads: int | None = None,
    store: Store | None = None,
    checksums: bool = True,
) -> Scan:
    """`scan_parquet` with the cast options of a query, which include the dialect of its engine.

    >>> import io, pyarrow as pa, pyarrow.parquet as pq
    >>> file = io.BytesIO()
    >>> pq.write_table(pa.table({"id": [1, 2]}), file)
    >>> scan_with(file, ["id"], "id > 1", CastOptions(on_error="raise")).count()
    1
    """
    projections = None if columns is None else read_columns(columns, options)
    predicate = read_condition(where, options)
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


@options_of(scan_parquet)
def read_parquet(
    path: Location | Sequence[Location],
    columns: str | Sequence[str | Projection] | None = None,
    where: str | Expr | None = None,
    **options: Unpack[ScanArguments],
) -> pa.Table:
    """Reads Parquet files of any writer and layout.

    `path` is a file, a directory, a glob, a URL, an open file or a list of these; with `store`, keys in an
    obstore store or paths in a pyarrow file system. `columns` and `where` are Spark SQL (`v:user.id::bigint
    AS id`); only the leaf columns that they need are read. A value that can't be cast is null, or an error
    with `strict`, which also refuses a Variant whose `value` and `typed_value` contradict each other.

    `variants` is the output form of whole Variant columns: "variant", "struct" (as stored in the file) or
    "json". A mapping sets it per column, and declares those columns as Variants if the file does not.

    Pages that carry a checksum, such as those of `write_parquet`, are verified; `checksums=False` skips that.

    >>> import io, pyarrow as pa, pyarrow.parquet as pq
    >>> file = io.BytesIO()
    >>> pq.write_table(pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]}), file)
    >>> read_parquet(file, columns=["name"], where="id > 1").to_pydict()
    {'name': ['b', 'c']}
    """
    return scan_parquet(path, columns, where, **options).to_arrow()


def _with_file(file: OpenFile, job: Job) -> tuple[OpenFile, Found]:
    return file, job()
