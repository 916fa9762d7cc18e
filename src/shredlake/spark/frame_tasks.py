"""Worker tasks of an ingest through Spark SQL: parsing documents, and writing the completed rows.

```
batches of the frame ─ Parse ─▶ Variant + place and reason ─ Spark SQL ─▶ Write ─▶ files, rejects, counts
splits of text ─── ParseText ─┘
```

Between the two steps, every row has extra columns that hold its entry for the rejects table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.read.conform import conform
from shredlake.delta.write.constraints import Constraints, shown
from shredlake.errors import ConstraintViolation
from shredlake.jobs.ingest.folder_columns import folder_values
from shredlake.jobs.ingest.key_paths import PathWatch
from shredlake.jobs.ingest.parse_task import (
    Parsing,
    WriteJob,
    parsed_pieces,
    variants_of,
    write_rows,
)
from shredlake.jobs.ingest.rejects import REJECTS_SCHEMA, Staging
from shredlake.jobs.ingest.sources import Split
from shredlake.kernels.arrow.types import variant
from shredlake.spark.arrow import from_spark, spark_batch

DOCUMENT: Final = "__document"
"""The temporary name of the column of parsed documents."""

REJECT: Final = "__reject_"
"""Prefix of the columns that hold where a row came from and, for a rejected row, the reason."""

HELD: Final = "__held_"
"""Prefix of the columns that hold whether a row satisfies a constraint of the table."""

REJECT_COLUMNS: Final = tuple(REJECT + name for name in REJECTS_SCHEMA.names)
REJECT_DDL: Final = (
    f"{REJECT}file string, {REJECT}line bigint, {REJECT}offset bigint, "
    f"{REJECT}reason string, {REJECT}raw binary"
)


@dataclass(frozen=True)
class Parse:
    """Parses the document column of a frame into Variants, and keeps the other columns."""

    document: str
    others: tuple[str, ...]
    parsing: Parsing

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            column, rejects = variants_of(from_spark(batch.column(self.document)), self.parsing)
            others = [batch.column(name) for name in self.others]
            names = [*self.others, DOCUMENT, *REJECT_COLUMNS]
            yield spark_batch([*others, column, *_arrays(rejects)], names)


@dataclass(frozen=True)
class ParseText:
    """Reads and parses splits of text. The frame only holds the numbers of the tasks."""

    task: Callable[[int], Sequence[Split]]
    """Finds a task by its number (`shared.shared`)."""
    parsing: Parsing
    folder_columns: Mapping[str, str] = field(default_factory=dict)
    """Columns from the names of the files' folders, with their types."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        names = [*self.folder_columns, DOCUMENT, *REJECT_COLUMNS]
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for split in self.task(number):
                    folders = list(folder_values(split.file.uri, self.folder_columns).values())
                    for piece in parsed_pieces(split, self.parsing):
                        for rows in piece.column.chunks:
                            nothing = [pa.nulls(len(rows), item.type) for item in REJECTS_SCHEMA]
                            yield spark_batch([*_repeated(folders, len(rows)), rows, *nothing], names)
                        if piece.rejects.num_rows:
                            empty = pa.nulls(piece.rejects.num_rows, variant())
                            values = _repeated(folders, len(empty))
                            yield spark_batch([*values, empty, *_arrays(piece.rejects)], names)


def _repeated(values: Sequence[pa.Scalar], rows: int) -> list[pa.Array]:
    return [pa.repeat(value, rows) for value in values]


def _arrays(table: pa.Table) -> list[pa.Array]:
    return [column.combine_chunks() for column in table.columns]


@dataclass(frozen=True)
class Write:
    """Writes the completed rows of one partition, and stages the rejected ones."""

    job: WriteJob
    demands: tuple[str, ...]
    """The constraint behind each HELD column, as error messages show it."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rejects = Staging(self.job.rejects)
        documents = 0

        def tables() -> Iterator[pa.Table]:
            nonlocal documents
            for batch in batches:
                documents += batch.num_rows
                table = pa.table([from_spark(column) for column in batch.columns], names=batch.schema.names)
                refused = pc.is_valid(table.column(REJECT + "reason"))
                bad = table.filter(refused).select(list(REJECT_COLUMNS))
                rejects.take(bad.rename_columns(REJECTS_SCHEMA.names))
                good = table.filter(pc.invert(refused)) if bad.num_rows else table
                if good.num_rows:
                    yield self._finished(good)

        result = write_rows(self.job, tables(), rejects, PathWatch(self.job.files.paths))
        result = replace(result, documents=documents)
        yield pa.RecordBatch.from_pydict({"result": [result.to_json()]})

    def _finished(self, table: pa.Table) -> pa.Table:
        """The rows with the table's columns and types. Raises if a row violates a constraint."""
        extra = [name for name in table.column_names if name.startswith((REJECT, HELD))]
        schema = self.job.files.spec.schema
        rows = conform(table.drop_columns(extra), schema)
        for index, demand in enumerate(self.demands):
            broken = pc.index(table.column(f"{HELD}{index}"), False).as_py()
            if broken >= 0:
                raise ConstraintViolation(
                    f"{self.job.files.spec.storage.uri}: a row breaks {demand}: {shown(rows, broken)}. "
                    "Nothing was committed"
                )
        Constraints(schema, ()).enforce(rows, None)  # NOT NULL, at all depths
        return rows
