"""Ingests through Spark SQL a DataFrame, or text whose rows need expressions that only Spark can evaluate.

```
frame or text ─ parse ─ Spark SQL: computed, generated, default columns, constraints ─ shred ─ write ─▶ adds
                worker                                                                  worker
```

Every partition is one task. Spark SQL, which supports every constraint that a table can have, checks the
constraints in the same pass. A row that violates one fails the job before anything is committed.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.schema.types import Field, arrow_schema, from_arrow, parse_schema
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.constraints import DEFAULT, GENERATED, checks_of
from shredlake.errors import InvalidExpression, InvalidSchema, UnsupportedExpression
from shredlake.jobs.ingest.folder_columns import check_folders, folder_fields, refuse_for_columns
from shredlake.jobs.ingest.ingest import (
    IngestOptions,
    claim_text,
    finish,
    ingest_text,
    layout_of_documents,
    open_or_plan,
    open_or_reason,
    sample,
    with_layout,
)
from shredlake.jobs.ingest.once import Claim, already_done, claim_job, job_transaction
from shredlake.jobs.ingest.parse_task import TaskResult, WriteJob, count_lines
from shredlake.jobs.ingest.rejects import LineNumbers, rejects_place
from shredlake.jobs.ingest.sources import find_files, spooled
from shredlake.jobs.ingest.tasks import LARGEST_TASK, text_tasks
from shredlake.jobs.report import IngestReport, progress
from shredlake.kernels.profile import merge_profiles, profile_bytes
from shredlake.spark.arrow import from_spark, spark_type
from shredlake.spark.columns import at, from_log, from_user, spark_order
from shredlake.spark.engine import SparkEngine, collected, translated
from shredlake.spark.frame_tasks import (
    DOCUMENT,
    HELD,
    REJECT,
    REJECT_COLUMNS,
    REJECT_DDL,
    Parse,
    ParseText,
    Write,
)
from shredlake.spark.given import check_frame
from shredlake.spark.shared import shared, shared_step
from shredlake.spark.store_assignment import stored

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

SAMPLE_PARTITIONS = 16
SAMPLE_ROWS = 2_000
"""The number of rows sampled from each of SAMPLE_PARTITIONS partitions to infer the layout."""

Lines = Callable[[Sequence[TaskResult]], LineNumbers]


def ingest_frame(
    frame: DataFrame, table: str, options: IngestOptions, document: str | None = None
) -> IngestReport:
    """Ingests a DataFrame on the Spark session that it belongs to."""
    parsed = _parsed(frame, options, document)
    claim = claim_job(options.transaction or job_transaction(options.job_id))
    return _ingest(
        parsed,
        table,
        options,
        claim,
        source="DataFrame",
        input_bytes=0,
        tasks=0,
        profile=lambda: _sampled(parsed),
        lines=lambda results: LineNumbers([]),
    )


def _parsed(frame: DataFrame, options: IngestOptions, document: str | None) -> DataFrame:
    """The frame with its documents as Variants. Refuses frames that can't be ingested."""
    refuse_for_columns(options.folder_columns, options.multi_line)
    named = document_column(frame, options.column, document)
    check_frame(frame, named)
    if named != options.column and options.column in frame.columns:
        raise InvalidSchema(
            f"the documents in {named!r} go to the column {options.column!r}, but the frame also has "
            "a column of that name. Drop or rename it."
        )
    others = [field for field in frame.schema.fields if field.name != named]
    parse = Parse(named, tuple(field.name for field in others), options.parsing)
    return frame.mapInArrow(parse, _parsed_schema(others))


def ingest_files(
    engine: SparkEngine, source: Sequence[str], table: str, options: IngestOptions
) -> IngestReport:
    """Ingests text files, through Spark SQL if the rows need its functions or a global sort."""
    if options.range_partition:
        return ingest_text_by_sql(engine.spark, source, table, options)
    opened = open_or_reason(table, options)
    if isinstance(opened, UnsupportedExpression):
        return ingest_text_by_sql(engine.spark, source, table, options)
    return ingest_text(engine, source, table, options, opened)


def ingest_text_by_sql(
    spark: SparkSession, source: str | Iterable[str], table: str, options: IngestOptions
) -> IngestReport:
    """Ingests text files, and lets Spark SQL compute columns and check constraints."""
    with spooled(find_files(source, options.storage_options), here=False) as found:
        pass  # rejects pipes, which workers cannot read
    schema = _parsed_schema(_folder_fields(options))
    nothing = spark.createDataFrame([], schema)
    snapshot = _opened(_with_computed(nothing, options), table, options)
    engine = SparkEngine(spark)
    claim = claim_text(snapshot, found, options, engine)
    if (done := already_done(snapshot, claim)) is not None:
        return done
    check_folders(claim.files, options.folder_columns)
    files = [replace(file, multi_line=options.multi_line) for file in claim.files]
    total = sum(file.size for file in files)
    splits, tasks = text_tasks(files, options.task_bytes, engine.parallelism)

    def lines(results: Sequence[TaskResult]) -> LineNumbers:
        # Sorting may have moved rows to other tasks, so lines are counted separately, and only if needed.
        if not any(result.rejected for result in results):
            return LineNumbers([])
        return LineNumbers(zip(splits, map(int, engine.run(splits, count_lines)), strict=True))

    numbers = spark.range(0, len(tasks), 1, len(tasks))
    parsed = numbers.mapInArrow(
        ParseText(shared(spark, tasks), options.parsing, options.folder_columns), schema
    )
    return _ingest(
        parsed,
        table,
        options,
        claim,
        source="text",
        input_bytes=total,
        tasks=len(tasks),
        profile=lambda: sample(engine, splits, options),
        lines=lines,
    )


def check_frame_ingest(
    frame: DataFrame, table: str, options: IngestOptions, document: str | None = None
) -> None:
    """Raises what `ingest_frame` would raise before its first task. Only the columns of the frame matter."""
    nothing = frame.sparkSession.createDataFrame([], frame.schema)
    _check_parsed(_parsed(nothing, options, document), table, options)


def check_files_ingest(spark: SparkSession, table: str, options: IngestOptions) -> None:
    """Raises what `ingest_files` would raise before it looks for files."""
    opened = open_or_reason(table, options)
    if isinstance(opened, Snapshot):
        layout_of_documents(opened, options, bytes)
    else:
        nothing = spark.createDataFrame([], _parsed_schema(_folder_fields(options)))
        _check_parsed(nothing, table, options)


def _check_parsed(parsed: DataFrame, table: str, options: IngestOptions) -> None:
    frame = _with_computed(parsed, options)
    snapshot = _opened(frame, table, options)
    layout_of_documents(snapshot, options, bytes)
    rows, _ = _completed(frame, snapshot)
    _arranged(rows, snapshot, options, 0)


def _ingest(
    parsed: DataFrame,
    table: str,
    options: IngestOptions,
    claim: Claim,
    *,
    source: str,
    input_bytes: int,
    tasks: int,
    profile: Callable[[], bytes],
    lines: Lines,
) -> IngestReport:
    started = time.monotonic()
    frame = _with_computed(parsed, options)
    snapshot = _opened(frame, table, options)
    storage = snapshot.storage
    if (done := already_done(snapshot, claim)) is not None:
        return done
    layout = layout_of_documents(snapshot, options, profile)
    staging = rejects_place(storage, options.rejects, claim.key, options.storage_options)[1]
    files = replace(options.file_job(snapshot), sort_by=())
    job = with_layout(WriteJob(files, options.column, staging, parsing=options.parsing), layout)
    rows, demands = _completed(frame, snapshot)
    rows = _arranged(rows, snapshot, options, input_bytes)
    write = shared_step(rows.sparkSession, Write(job, demands))
    with progress("ingest", tasks, input_bytes, options.show_progress) as watch:
        answers = collected(rows.mapInArrow(write, "result string"), watch)
    results = [TaskResult.from_json(row["result"]) for row in answers]
    return finish(
        snapshot,
        results,
        options,
        claim,
        source=source,
        started=started,
        input_bytes=input_bytes,
        layout=layout,
        lines=lines(results),
    )


def _opened(frame: DataFrame, table: str, options: IngestOptions) -> Snapshot:
    """The table's snapshot, or the planned snapshot of a new table with these columns."""
    storage = Storage(table, dict(options.storage_options))
    return open_or_plan(storage, options, _other_fields(frame, options))


def document_column(frame: DataFrame, column: str, given: str | None) -> str:
    """The frame's column of documents: the given column, the table's column name, or the only candidate."""
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
        "can't tell which column of the frame has the documents. "
        f"Candidates: {', '.join(fitting) or 'none'}. Name it with document=..."
    )


def _parsed_schema(others: Sequence[Any]) -> Any:
    from pyspark.sql.types import StructField, StructType, VariantType

    return StructType([*others, StructField(DOCUMENT, VariantType()), *StructType.fromDDL(REJECT_DDL).fields])


def _folder_fields(options: IngestOptions) -> list[Any]:
    from pyspark.sql.types import StructField

    fields = from_arrow(pa.schema(folder_fields(options.folder_columns))).fields
    return [StructField(item.name, spark_type(item.type)) for item in fields]


# ── Columns ─────────────────────────────────────────────────────────────────────────────────────────────


def _with_computed(parsed: DataFrame, options: IngestOptions) -> DataFrame:
    """The parsed documents under the name of the table's column, with the computed columns added."""
    frame = parsed.withColumnRenamed(DOCUMENT, options.column)
    try:
        for name, expression in options.computed.items():
            with _accepted(f"the computed column {name!r}", frame):
                frame = frame.withColumn(name, from_user(expression))
                _ = frame.schema  # raises over Connect too
    except Exception as error:
        raise translated(error) from error
    return frame


def _other_fields(frame: DataFrame, options: IngestOptions) -> list[pa.Field]:
    """The frame's other columns as in a new table. Spark and Delta write types in the same JSON format."""
    from pyspark.sql.types import StructType

    ours = (options.column, *REJECT_COLUMNS)
    others = StructType([field for field in frame.schema.fields if field.name not in ours])
    return [pa.field(item.name, item.type) for item in arrow_schema(parse_schema(others.json()))]


def _sampled(parsed: DataFrame) -> bytes:
    """A profile of the first rows of some partitions, computed by the workers and merged. Empty without rows.

    Coalesced partitions are read one after another, and each task stops at its first rows. Most partitions
    are therefore never read.
    """

    def summarize(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = pc.drop_null(from_spark(batch.column(0).slice(0, SAMPLE_ROWS)))
            if len(rows):
                text = base64.b64encode(profile_bytes(rows, threads=1)).decode()
                yield pa.RecordBatch.from_pydict({"part": [text]})
                # Spark ends a worker that leaves input unread, and a new one takes a second to start. One
                # more batch finds the end of a small input, which keeps the worker.
                next(batches, None)
                return

    some = parsed.select(DOCUMENT).coalesce(SAMPLE_PARTITIONS)
    rows = collected(some.mapInArrow(summarize, "part string"))
    return merge_profiles([base64.b64decode(row["part"]) for row in rows]) if rows else b""


def _completed(frame: DataFrame, snapshot: Snapshot) -> tuple[DataFrame, tuple[str, ...]]:
    """The rows with exactly the table's columns, plus one boolean column per constraint."""
    from pyspark.sql import functions as F

    present = {name.casefold(): name for name in frame.columns}
    unknown = [
        name for name in frame.columns if not name.startswith(REJECT) and snapshot.schema.get(name) is None
    ]
    if unknown:
        raise InvalidSchema(
            f"the frame has the column {unknown[0]!r}, which the table lacks. Drop it from the frame, "
            'or add it to the table with schema_mode="merge"'
        )
    demands = {f"the {one.kind} {one.name} ({one.text})": from_log(one.text) for one in checks_of(
        snapshot.schema, snapshot.properties
    )}  # fmt: skip
    types = {field.name: field.dataType for field in frame.schema.fields}
    plain, generated = [], []
    for item in snapshot.schema.fields:
        value: Column
        if item.name.casefold() in present:
            named = present[item.name.casefold()]
            value = stored(at((named,)), types[named], spark_type(item.type), item.name)
            if GENERATED in item.metadata:
                text = str(item.metadata[GENERATED])
                demands[f"the expression of generated column {item.name} ({text})"] = at(
                    (item.name,)
                ).eqNullSafe(from_log(text))
        elif GENERATED in item.metadata:
            generated.append(item)
            continue
        elif DEFAULT in item.metadata:
            value = from_log(str(item.metadata[DEFAULT])).cast(spark_type(item.type))
        else:
            value = F.lit(None).cast(spark_type(item.type))
        plain.append(_partition_value(value, item, snapshot).alias(item.name))
    rejects = [F.col(name) for name in REJECT_COLUMNS]
    rows = frame.select(*plain, *rejects)
    for item in generated:
        made = from_log(str(item.metadata[GENERATED]))
        source = rows.select(made.alias("made")).schema.fields[0].dataType
        value = stored(made, source, spark_type(item.type), item.name)
        rows = rows.withColumn(item.name, _partition_value(value, item, snapshot))
    for index, demand in enumerate(demands.values()):
        rows = rows.withColumn(f"{HELD}{index}", F.coalesce(demand, F.lit(False)))
    return rows, tuple(demands)


def _partition_value(value: Column, item: Field, snapshot: Snapshot) -> Column:
    """The value as readers will see it. In a partition column, an empty string or binary becomes null."""
    from pyspark.sql import functions as F

    if item.name not in snapshot.metadata.partition_columns or item.type not in ("string", "binary"):
        return value
    return F.when(F.length(value) > 0, value)


def _arranged(rows: DataFrame, snapshot: Snapshot, options: IngestOptions, input_bytes: int) -> DataFrame:
    """The rows, partitioned and sorted for writing."""
    if not options.sort_by:
        return rows
    places = [at((name,)) for name in snapshot.metadata.partition_columns]
    keys = spark_order(options.sort_by)
    with _accepted("sort_by", rows):
        if options.range_partition:
            tasks = [-(-input_bytes // (options.task_bytes or LARGEST_TASK))] if input_bytes else []
            rows = rows.repartitionByRange(*tasks, *places, *keys)
        rows = rows.sortWithinPartitions(*places, *keys)
        _ = rows.schema  # raises over Connect too
    return rows


@contextmanager
def _accepted(option: str, frame: DataFrame) -> Iterator[None]:
    """Raises for an expression that Spark does not accept, with the columns of the user.

    Spark's own message suggests columns that only this module knows.
    """
    from pyspark.errors import AnalysisException

    try:
        yield
    except AnalysisException as error:
        reason = str(error).partition(" Did you mean")[0].partition("\n")[0]
        columns = ", ".join(name for name in frame.columns if not name.startswith((REJECT, HELD)))
        raise InvalidExpression(
            f"Spark does not accept {option}: {reason.rstrip('.')}. The columns are {columns}"
        ) from None
