"""Ingest of a DataFrame: a column of JSON text, of Variants or of structs, other columns taken along.

```
frame ─ Spark SQL: computed, generated and default columns ─ mapInArrow: parse ─ check ─ shred ─ write ─▶ adds
```

Every partition of the frame is one task. The documents' column is parsed in the worker; what the table
demands of its rows (constraints, generated columns, defaults) is evaluated by Spark SQL, which knows all of
it, before a file is written.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.constraints import CHECK_PREFIX, DEFAULT, GENERATED
from shredlake.delta.snapshot import Snapshot
from shredlake.delta.spec import file_spec
from shredlake.delta.storage import Storage
from shredlake.errors import ConstraintViolation, InvalidSchema
from shredlake.kernels import from_arrow, from_json
from shredlake.kernels.layout import is_variant, variant
from shredlake.kernels.profile import merge_profiles, profile_bytes
from shredlake.spark.engine import translated
from shredlake.spark.frames import from_spark, spark_batch, spark_type
from shredlake.spark.ingest import (
    IngestOptions,
    already_done,
    application,
    check_counts,
    commit_adds,
    layout_from_profile,
    open_or_create,
    rejects_of,
    settled_layout,
    summary,
    write_rejects,
)
from shredlake.spark.report import IngestReport
from shredlake.spark.task import TaskResult, WriteJob, stage_rejects, write_tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SAMPLE_ROWS = 20_000
REASON = "\u0000reason"
"""A column beside the parsed document: why it was refused, null where it was not."""


def ingest_frame(
    frame: DataFrame, table: str, options: IngestOptions, document: str | None = None
) -> IngestReport:
    """Runs an ingest of a DataFrame on its own Spark session."""
    started = time.monotonic()
    job_id = options.job_id or uuid.uuid4().hex
    named = document_column(frame, options.column, document)
    storage = Storage(table, dict(options.storage_options))
    taken = [
        field for field in frame.schema.fields if field.name != named and field.name not in options.computed
    ]
    snapshot = open_or_create(storage, options, _arrow_fields(frame, taken, options))
    mark = options.transaction or (application(job_id), 1)
    if (done := already_done(snapshot, mark)) is not None:
        return done
    parsed = _parsed(frame, named, options)
    layout = settled_layout(snapshot, options)
    if layout is None:
        layout = layout_from_profile(snapshot, options, _sampled(parsed, options.column))
    rejects, staging = rejects_of(storage, options, job_id)
    job = WriteJob(
        spec=file_spec(snapshot, layout, options.writing),
        column=options.column,
        sort_by=tuple(options.sort_by),
        rejects=staging,
        enforce=False,
    )
    completed = _completed(parsed, snapshot, options)
    _enforce(completed, snapshot)
    try:
        answers = completed.mapInArrow(_Write(job), "result string").collect()
    except Exception as error:
        raise translated(error) from error
    results = [TaskResult.from_json(row["result"]) for row in answers]
    check_counts(results, options.max_rejects, storage.uri)
    write_rejects(rejects, staging, [(result, 0) for result in results], mark)
    version = commit_adds(snapshot, results, mark, "DataFrame")
    return summary(snapshot, version, results, rejects, 0, layout, started)


def document_column(frame: DataFrame, column: str, given: str | None) -> str:
    """The frame's column that holds the documents: as named, called as in the table, or the only one."""
    if given is not None:
        if given not in frame.columns:
            raise InvalidSchema(f"the frame has no column {given!r}; it has {', '.join(frame.columns)}")
        return given
    if column in frame.columns:
        return column
    fitting = [
        field.name
        for field in frame.schema.fields
        if field.dataType.typeName() in ("string", "variant", "struct")
    ]
    if len(fitting) == 1:
        return str(fitting[0])
    raise InvalidSchema(
        f"which column of the frame holds the documents? Candidates: {', '.join(fitting) or 'none'}; "
        "say it with document=..."
    )


def _arrow_fields(frame: DataFrame, taken: list[Any], options: IngestOptions) -> list[pa.Field]:
    """The frame's other columns as they will be in a new table."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    wanted = [field for field in taken if field.name != options.column]
    schema: pa.Schema = to_arrow_schema(StructType(wanted))
    return [_stored(field) for field in schema]


def _stored(field: pa.Field) -> pa.Field:
    """Spark's Arrow names zones by the session; the table knows UTC."""
    if pa.types.is_timestamp(field.type) and field.type.tz is not None:
        return field.with_type(pa.timestamp("us", tz="UTC"))
    if pa.types.is_struct(field.type) and {item.name for item in field.type} == {"value", "metadata"}:
        return field.with_type(variant())
    return field


@dataclass(frozen=True)
class _Parse:
    """Turns the documents of a batch into Variants, in the worker."""

    document: str
    column: str
    names: tuple[str, ...]
    duplicate_keys: Any
    max_depth: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            source = from_spark(batch.column(self.document))
            reasons = pa.nulls(len(source), pa.string())
            raw = pa.nulls(len(source), pa.binary())
            if is_variant(source.type):
                column = source
            elif pa.types.is_struct(source.type):
                column = from_arrow(source)
            else:
                column, bad = from_json(
                    source,
                    on_error="collect",
                    duplicate_keys=self.duplicate_keys,
                    max_depth=self.max_depth,
                    threads=1,
                )
                if bad.num_rows:
                    rows = bad.column("row").combine_chunks()
                    wrong = pc.is_in(pa.array(range(len(source)), pa.int64()), value_set=rows)
                    reasons = pc.replace_with_mask(reasons, wrong, bad.column("reason").combine_chunks())
                    raw = pc.if_else(wrong, source.cast(pa.binary()), raw)
            others = [batch.column(name) for name in self.names]
            yield spark_batch(
                [*others, column, reasons, raw], [*self.names, self.column, REASON, "\u0000raw"]
            )


def _parsed(frame: DataFrame, named: str, options: IngestOptions) -> DataFrame:
    """The frame with its documents as Variants, and the reasons of those that are not JSON."""
    from pyspark.sql.types import BinaryType, StringType, StructField, StructType, VariantType

    others = [field for field in frame.schema.fields if field.name not in (named, options.column)]
    schema = StructType(
        [
            *others,
            StructField(options.column, VariantType()),
            StructField(REASON, StringType()),
            StructField("\u0000raw", BinaryType()),
        ]
    )
    parse = _Parse(
        named,
        options.column,
        tuple(field.name for field in others),
        options.parsing.duplicate_keys,
        options.parsing.max_depth,
    )
    return frame.mapInArrow(parse, schema)


def _sampled(parsed: DataFrame, column: str) -> bytes:
    """Profiles of a sample, made by the workers and merged."""

    def summarize(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = [profile_bytes(pc.drop_null(from_spark(batch.column(0)))) for batch in batches]
        yield pa.RecordBatch.from_pydict({"part": [merge_profiles(parts)]})

    rows = parsed.select(column).limit(SAMPLE_ROWS).mapInArrow(summarize, "part binary").collect()
    return merge_profiles([bytes(row["part"]) for row in rows])


def _completed(parsed: DataFrame, snapshot: Snapshot, options: IngestOptions) -> DataFrame:
    """The rows with exactly the table's columns: computed, generated and default values by Spark SQL."""
    from pyspark.sql import functions as F

    frame = parsed
    for name, expression in options.computed.items():
        frame = frame.withColumn(name, F.expr(expression))
    columns = []
    for item in snapshot.schema.fields:
        kind = spark_type(item.type)
        if item.name in frame.columns:
            value = F.col(_quoted(item.name))
        elif GENERATED in item.metadata:
            value = F.expr(str(item.metadata[GENERATED]))
        elif DEFAULT in item.metadata:
            value = F.expr(str(item.metadata[DEFAULT]))
        else:
            value = F.lit(None)
        columns.append(
            value.cast(kind).alias(item.name) if item.type != "variant" else value.alias(item.name)
        )
    unknown = [
        name
        for name in frame.columns
        if snapshot.schema.get(name) is None and name not in (REASON, "\u0000raw")
    ]
    if unknown:
        raise InvalidSchema(
            f"the frame has the column {unknown[0]!r}, which the table lacks: drop it from the frame, "
            "or add it to the table first"
        )
    return frame.select(*columns, REASON, F.col("`\u0000raw`"))


def _enforce(frame: DataFrame, snapshot: Snapshot) -> None:
    """Looks for a row that breaks a demand of the table, before anything is written."""
    from pyspark.sql import functions as F

    demands = {
        f"CHECK constraint {key.removeprefix(CHECK_PREFIX)}": text
        for key, text in snapshot.properties.items()
        if key.startswith(CHECK_PREFIX)
    }
    for item in snapshot.schema.fields:
        if not item.nullable:
            demands[f"NOT NULL of column {item.name}"] = f"{_quoted(item.name)} IS NOT NULL"
        if GENERATED in item.metadata:
            same = f"{_quoted(item.name)} <=> ({item.metadata[GENERATED]})"
            demands[f"the expression of generated column {item.name}"] = same
    if not demands:
        return
    good = frame.where(F.col(f"`{REASON}`").isNull())
    held = " AND ".join(f"coalesce(({text}), false)" for text in demands.values())
    broken = good.where(f"NOT ({held})").limit(1)
    rows = broken.selectExpr("to_json(struct(*)) AS row", *[
        f"coalesce(({text}), false) AS d{n}" for n, text in enumerate(demands.values())
    ]).collect()  # fmt: skip
    for row in rows:
        name = next(name for n, name in enumerate(demands) if not row[f"d{n}"])
        raise ConstraintViolation(
            f"{snapshot.storage.uri}: a row breaks {name} ({demands[name]}): {row['row'][:500]}. "
            "Nothing was committed"
        )


@dataclass(frozen=True)
class _Write:
    """Writes the rows of one partition, in the worker."""

    job: WriteJob

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counts = {"documents": 0, "rejected": 0}
        refused: list[pa.Table] = []

        def tables() -> Iterator[pa.Table]:
            for batch in batches:
                counts["documents"] += batch.num_rows
                table = pa.table([from_spark(column) for column in batch.columns], names=batch.schema.names)
                reasons = table.column(REASON)
                if reasons.null_count < len(reasons):
                    bad = table.filter(pc.is_valid(reasons))
                    counts["rejected"] += bad.num_rows
                    refused.append(bad.select([REASON, "\u0000raw"]))
                    table = table.filter(pc.is_null(reasons))
                if table.num_rows:
                    yield self._fitted(table.drop_columns([REASON, "\u0000raw"]))

        adds = write_tables(self.job, tables())
        staged = stage_rejects(self.job.rejects, refused) if refused else None
        written = counts["documents"] - counts["rejected"]
        result = TaskResult(tuple(adds), counts["documents"], written, counts["rejected"], staged)
        yield pa.RecordBatch.from_pydict({"result": [result.to_json()]})

    def _fitted(self, table: pa.Table) -> pa.Table:
        from shredlake.delta.conform import conform

        return conform(table, self.job.spec.schema)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
