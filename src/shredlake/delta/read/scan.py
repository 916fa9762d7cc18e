"""Reads a table. The log prunes files, and only the columns that a query needs are read from the other files.

```
all files ─ partition values ─▶ ─ column and Variant statistics ─▶ files ─ row groups, pages ─▶ rows
```
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.files import as_adds
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.read.bind import canonical, condition
from shredlake.delta.read.data_file import WHOLE, DataFile, Query, Reading, is_large, nullable_schema
from shredlake.delta.schema.names import resolve
from shredlake.delta.schema.types import arrow_field
from shredlake.delta.stats.skipping import FileStatistics, Verdict, prune
from shredlake.errors import ConstraintViolation, InvalidFile
from shredlake.expr import Column, Expr, Projection, join_name
from shredlake.expr.evaluate import evaluate
from shredlake.expr.parse import read_columns, read_condition
from shredlake.expr.sql import spelled
from shredlake.formatting import bytes_text, counted, html_text
from shredlake.kernels.arrow.extension import with_marks
from shredlake.kernels.cast_options import DEFAULT, CastOptions
from shredlake.parquet.arrow_stream import ArrowStream, columns_text, first_rows
from shredlake.parquet.read.explain import Explain, cost_lines
from shredlake.parquet.read.file_reader import FileReader, Finish, Found, Job
from shredlake.parquet.read.statistics import Extreme
from shredlake.runner import OrderedRunner

# The number of files that become Python objects at a time, so that scans of a million files need little
# memory.
BATCH_OF_FILES = 512

# The number of rows in the first batch of a stream.
FIRST_ROWS = 1024

# Files of at most this size together are read by one thread. On two cores, a path of four files of 0.4 MB
# took 2.5 ms with one thread and 5.6 ms with two, of 4 MB 5.4 and 7.3; Variants 20 and 17, and 124 and 83 ms.
BYTES_FOR_ONE_THREAD = 1 << 20

# The fields of an action that are needed to read its file. Statistics are not among them.
NEEDED_TO_READ = ("path", "partitionValues", "size", "deletionVector")


# If a file has more recorded rows per byte than this, the recorded count is checked against the file.
ROWS_PER_BYTE = 1000.0


@dataclass(frozen=True)
class TableExplain:
    """How much of a table a scan read, and why it skipped the rest.

    >>> counts = dict(files_read=1, files_total=12, pruned_by_partition=10, pruned_by_statistics=1)
    >>> counts |= dict(row_groups_read=2, row_groups_total=16, pages_read=3, pages_total=96)
    >>> print(TableExplain(**counts, bytes_read=40_000, bytes_total=80_000_000, columns=("v",), rows=17))
    17 rows of 1 of 12 files
    pruned by partition values 10, by statistics 1
    row groups     2 of     16   12.5%   in the files read
    pages          3 of     96    3.1%   in the columns read
    bytes     40.0 kB of 80.0 MB    0.1%
    columns   v
    """

    files_read: int
    files_total: int
    pruned_by_partition: int
    pruned_by_statistics: int
    row_groups_read: int
    row_groups_total: int
    pages_read: int
    pages_total: int
    bytes_read: int
    bytes_total: int
    columns: tuple[str, ...]
    rows: int

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{counted(self.rows, 'row')} of {self.files_read:,} of {counted(self.files_total, 'file')}",
                f"pruned by partition values {self.pruned_by_partition}, "
                f"by statistics {self.pruned_by_statistics}",
                *cost_lines(self, "   in the files read"),
            ]
        )

    def _repr_html_(self) -> str:
        return html_text(str(self))


@dataclass
class TableRun:
    """The files that one run of a scan read, with the cost of each."""

    files: list[Explain] = field(default_factory=list)


class Part(NamedTuple):
    """The result of one job of a scan."""

    reader: FileReader
    found: tuple[Found, ...]
    """The result of one window of a large file, or of all windows of a small file."""
    is_last: bool = False
    """Whether the file has no more windows."""


class TableScan(ArrowStream):
    """A lazy query over one version of a table. It is an Arrow stream: `pa.table(scan)` reads it.

    >>> from shredlake.example import example_table
    >>> scan = TableScan(example_table("table-scan").snapshot, ["v:a::int AS a"], "id = 2")
    >>> scan.schema.names, scan.count(), scan.to_arrow().to_pylist()
    (['a'], 1, [{'a': 20}])
    >>> scan.explain().files_read
    1
    """

    def __init__(
        self,
        snapshot: Snapshot,
        columns: str | Sequence[str | Projection] | None,
        where: str | Expr | None,
        *,
        options: CastOptions = DEFAULT,
        threads: int | None = None,
        checked: bool = True,
        checksums: bool = True,
    ) -> None:
        """Pass `checked=False` if `where` comes from an engine that has already checked its types."""
        self.checksums = checksums
        self.snapshot = snapshot
        self.threads = threads
        if checked or isinstance(where, str):
            predicate = condition(where, snapshot.schema, options.overridden_by(False))
        else:
            found = read_condition(where)
            predicate = None if found is None else canonical(found, snapshot.schema)
        projections = tuple(self._projections(columns, options))
        self.query = Query(
            projections=projections,
            predicate=predicate,
            schema=self._output_schema(projections, options.overridden_by(False)),
            options=options,
        )

    @property
    def schema(self) -> pa.Schema:
        """The columns and types of the result."""
        return self.query.schema

    def _projections(
        self, columns: str | Sequence[str | Projection] | None, options: CastOptions
    ) -> Iterator[Projection]:
        if columns is None:
            for item in self.snapshot.schema.fields:
                yield Projection(item.name, Column(join_name((item.name,))))
            return
        for found in read_columns(columns, options):
            yield Projection(found.name, canonical(found.expr, self.snapshot.schema))

    def _output_schema(self, projections: Sequence[Projection], options: CastOptions) -> pa.Schema:
        empty = nullable_schema(self.snapshot.arrow_schema).empty_table()
        fields = []
        for projection in projections:
            if isinstance(projection.expr, Column):
                column = resolve(self.snapshot.schema, projection.expr.name)[-1]
                fields.append(arrow_field(replace(column, name=projection.name, nullable=True)))
            else:
                kind = evaluate(projection.expr, empty, options).type
                fields.append(with_marks(pa.field(projection.name, kind)))
        return pa.schema(fields)

    @cached_property
    def verdict(self) -> Verdict:
        """The files that must be read."""
        return prune(self.snapshot, self.query.predicate, self.query.options)

    def files(self) -> pa.Table:
        """The files that the log can't rule out."""
        return self.snapshot.files.table(keep=self.verdict.keep)

    def _adds(self) -> Iterator[Add]:
        table = self.snapshot.files.table(NEEDED_TO_READ, self.verdict.keep)
        for start in range(0, table.num_rows, BATCH_OF_FILES):
            yield from as_adds(table.slice(start, BATCH_OF_FILES))

    def plan(self) -> dict[str, str]:
        """The table, columns and condition of the scan, and the files that the log can't rule out."""
        kept, sizes = self.verdict, self.files().column("size")
        predicate = self.query.predicate
        pruned = f"pruned by partition values {kept.by_partition}, by statistics {kept.by_statistics}"
        return {
            "TableScan": f"{self.snapshot.storage.uri} version {self.snapshot.version}",
            "columns": columns_text(self.schema),
            **({} if predicate is None else {"where": spelled(predicate)}),
            "files": f"{len(sizes):,} of {len(self.snapshot.files):,}, "
            f"{bytes_text(pc.sum(sizes).as_py() or 0)}; {pruned}",
        }

    def _batches(self) -> Iterator[pa.RecordBatch]:
        return self._rows()

    def _rows(self, run: TableRun | None = None) -> Iterator[pa.RecordBatch]:
        """The rows; with a limit, of as many files as it takes."""
        first = None if self._limit is None else max(1, min(self._limit, FIRST_ROWS))
        return _batches_of(self._parts(Reading(first_rows=first), FileReader.batches, run))

    def encoded_batches(
        self,
        run: TableRun | None = None,
        extremes: Mapping[str, Extreme] | None = None,
        finish: Finish | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows for an engine that takes columns as files have them: strings as indexes into a dictionary.

        Each batch has dictionaries of its own. A column of one value may be run-end encoded, with one run.
        Of columns in `extremes`, only the minimum or maximum of equal rows is needed. `run` learns what was
        read. `finish` is applied to each batch on the thread that reads it.
        """
        reading = Reading(indexes=True, runs=extremes or {}, finish=finish)
        return _batches_of(self._parts(reading, FileReader.batches, run))

    def _parts(
        self, reading: Reading, jobs_of: Callable[[FileReader], Iterator[Job]], run: TableRun | None = None
    ) -> Iterator[Part]:
        """Reads the files in order, on one pool of threads. `run` is told the cost of each."""
        reader: FileReader | None = None
        rows = 0

        def end(reader: FileReader) -> None:
            reader.close()
            if run is not None:
                run.files.append(reader.cost(rows))

        gradual = reading.first_rows is not None
        size = _bytes_of if reading.indexes else None  # an engine reads to the end, others may stop early
        with OrderedRunner(self.threads or self._best_threads()) as runner:
            try:
                for part in runner.run(self._jobs(reading, jobs_of), gradual=gradual, size=size):
                    reader, rows = part.reader, rows + _rows_of(part)
                    if part.is_last:
                        end(reader)
                        reader, rows = None, 0
                    yield part
            finally:
                if reader is not None:
                    end(reader)

    def _best_threads(self) -> int:
        """One thread for small local files: several would wait for each other longer than they work."""
        if self.snapshot.storage.is_local:
            sizes = self.snapshot.files.table(("size",), self.verdict.keep).column("size")
            if (pc.sum(sizes).as_py() or 0) <= BYTES_FOR_ONE_THREAD:
                return 1
        return int(pa.cpu_count())

    def _jobs(
        self, reading: Reading, jobs_of: Callable[[FileReader], Iterator[Job]]
    ) -> Iterator[Callable[[], Part]]:
        """The windows of large files, and small files as a whole: one line of jobs over all files.

        So threads begin with the next file while others still read the last windows of the one before it. If
        the first batch is to be small, every file is read window by window.
        """

        def opened(add: Add) -> FileReader:
            return DataFile(self.snapshot, add, checksums=self.checksums).reader(self.query, reading)

        def whole(add: Add) -> Part:
            with self._naming_the_table():
                reader = opened(add)
                found = tuple(job() for job in jobs_of(reader))
                reader.close()
                return Part(reader, found, True)

        def window(reader: FileReader, job: Job) -> Part:
            with self._naming_the_table():
                return Part(reader, (job(),))

        for add in self._adds():
            if not is_large(add) and reading.first_rows is None:
                yield partial(whole, add)
                continue
            with self._naming_the_table():
                reader = opened(add)
                for job in jobs_of(reader):
                    yield partial(window, reader, job)
            yield partial(Part, reader, (), True)

    def first_file(self) -> DataFile | None:
        """The first file that the log can't rule out, opened."""
        add = next(self._adds(), None)
        return None if add is None else DataFile(self.snapshot, add, checksums=self.checksums)

    def stream(self, first_rows: int = FIRST_ROWS) -> Iterator[pa.RecordBatch]:
        """The rows as a stream. The first batch is small and arrives early; later batches grow.

        Files are read one after another, only a little ahead of the consumer.

        >>> from shredlake.example import example_table
        >>> next(example_table("stream").scan(["id"]).stream(first_rows=1)).to_pylist()
        [{'id': 1}]
        """

        return _batches_of(self._parts(Reading(first_rows=first_rows), FileReader.batches))

    def count(self) -> int:
        """How many rows match."""
        if self._limit is not None:
            return sum(batch.num_rows for batch in self.to_batches())
        if self.query.predicate is None:
            known = self._recorded_rows()
            if known is not None:
                return known
        parts = self._parts(WHOLE, FileReader.counts)
        return sum(map(_rows_of, parts))

    def _recorded_rows(self) -> int | None:
        """The sum of the recorded counts, if every file has a plausible one."""
        counts = FileStatistics.of(self.snapshot).row_counts
        files = self.snapshot.files
        if files.live is not None:
            counts = counts.filter(pa.array(files.live))
        if counts.null_count:
            return None
        table = files.table(["size", "deletionVector"])
        deleted = pc.fill_null(pc.struct_field(table.column("deletionVector"), ["cardinality"]), 0)
        if not _plausible(counts, deleted, table.column("size")):
            return None
        return int((pc.sum(counts).as_py() or 0) - (pc.sum(deleted).as_py() or 0))

    def explain(self) -> TableExplain:
        """Runs the scan and reports how much of the table it read."""
        run = TableRun()
        batches = self._rows(run)
        for _ in batches if self._limit is None else first_rows(batches, self._limit):
            pass
        return self.summary(run.files)

    def summary(self, reports: Sequence[Explain]) -> TableExplain:
        """How much of the table a run read, from the reports of its files."""
        sizes = self.snapshot.files.table(["size"]).column(0)
        columns = dict.fromkeys(column for report in reports for column in report.columns)
        rows = sum(report.rows for report in reports)
        return TableExplain(
            files_read=len(reports),
            files_total=len(sizes),
            pruned_by_partition=self.verdict.by_partition,
            pruned_by_statistics=self.verdict.by_statistics,
            row_groups_read=sum(report.row_groups_read for report in reports),
            row_groups_total=sum(report.row_groups_total for report in reports),
            pages_read=sum(report.pages_read for report in reports),
            pages_total=sum(report.pages_total for report in reports),
            bytes_read=sum(report.bytes_read for report in reports),
            bytes_total=int(pc.sum(sizes).as_py() or 0),
            columns=tuple(columns),
            rows=rows if self._limit is None else min(rows, self._limit),
        )

    @contextmanager
    def _naming_the_table(self) -> Iterator[None]:
        try:
            yield
        except InvalidFile as error:
            error.at(self.snapshot.storage.uri)
            raise


def _batches_of(parts: Iterator[Part]) -> Iterator[pa.RecordBatch]:
    with closing(cast(Generator[Part], parts)):
        for part in parts:
            yield from (found.batch for found in part.found if found.batch is not None)


def _rows_of(part: Part) -> int:
    return sum(found.rows for found in part.found)


def _bytes_of(part: Part) -> int:
    return sum(found.bytes for found in part.found)


def _plausible(counts: pa.ChunkedArray, deleted: pa.ChunkedArray, sizes: pa.ChunkedArray) -> bool:
    """Whether every file has at least as many rows as were deleted, and no more than its bytes can hold."""
    possible = pc.and_(pc.greater_equal(deleted, 0), pc.less_equal(deleted, counts))
    most = pc.multiply(_float(sizes), ROWS_PER_BYTE)
    possible = pc.and_(possible, pc.less_equal(_float(counts), most))
    return bool(pc.all(possible, min_count=0).as_py())


def _float(numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    """Any integers as floats; those beyond 2^53 are rounded, which a safe cast refuses."""
    return pc.cast(numbers, pa.float64(), safe=False)


def check_rows(snapshot: Snapshot, name: str, text: str) -> None:
    """Refuse a CHECK constraint that existing rows violate."""
    total, held = TableScan(snapshot, [], None).count(), TableScan(snapshot, [], text).count()
    if held < total:
        raise ConstraintViolation(
            f"{total - held} of {total} rows break the CHECK constraint {name} ({text}); it was not added"
        )
