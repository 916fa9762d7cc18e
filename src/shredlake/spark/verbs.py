"""The public verbs of the pipeline: ingest, stream, optimize, migrate_draft, unshred."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from shredlake.errors import PipelineError, UnsupportedExpression
from shredlake.jobs.ingest import IngestOptions, ingest_text
from shredlake.jobs.migrate import migrate_files
from shredlake.jobs.optimize import OptimizeReport, optimize_table
from shredlake.jobs.report import IngestReport
from shredlake.jobs.unshred import unshred_table
from shredlake.spark.engine import SparkEngine
from shredlake.spark.ingest_frame import ingest_frame, ingest_text_by_sql
from shredlake.spark.session import fit
from shredlake.spark.stream import StreamOptions, start_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

Address = str | os.PathLike[str]


def ingest(
    spark: SparkSession,
    source: str | Iterable[str] | DataFrame,
    table: Address,
    *,
    document: str | None = None,
    **options: Any,
) -> IngestReport:
    """JSON into a shredded Delta table: NDJSON files, JSON arrays, or a DataFrame.

    `source` is a path, a glob, a directory, a list of these, or a DataFrame whose column `document` holds
    text, Variants or structs. The options are the fields of `IngestOptions`: `column`, `shredding`,
    `rejects`, `max_rejects`, `sort_by`, `partition_by`, `computed`, `job_id` and more. Bad documents go to
    the rejects table; rows in = rows written + rejects, checked before the one commit that makes the job
    visible.

    >>> import pathlib, tempfile
    >>> from shredlake.spark import session
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.ndjson").write_text('{"id": 1}\\n{"id": 2}\\n{"id":\\n')
    >>> report = ingest(session(), str(folder / "a.ndjson"), folder / "table")
    >>> report.documents, report.rows, report.rejects
    (3, 2, 1)
    """
    fit(spark)
    chosen = ingest_options(options)
    if hasattr(source, "mapInArrow"):
        return ingest_frame(source, os.fspath(table), chosen, document)
    if not chosen.range_partition:
        with suppress(UnsupportedExpression):  # then Spark SQL evaluates it
            return ingest_text(SparkEngine(spark), source, os.fspath(table), chosen)
    return ingest_text_by_sql(spark, source, os.fspath(table), chosen)


def ingest_options(given: Mapping[str, Any]) -> IngestOptions:
    """Options by name, with a helpful word for one that does not exist."""
    known = {field.name for field in fields(IngestOptions)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise PipelineError(f"ingest has no option {unknown[0]!r}; it has: {', '.join(sorted(known))}")
    tuples = {name: _tuple(given[name]) for name in ("sort_by", "partition_by") if name in given}
    return IngestOptions(**{**given, **tuples})


def _tuple(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def stream(
    spark: SparkSession,
    source: str | DataFrame,
    table: Address,
    checkpoint: Address,
    *,
    document: str | None = None,
    files_per_batch: int | None = None,
    writers: int = 1,
    compact_every: int | None = None,
    trigger: Mapping[str, Any] | None = None,
    on_batch: Callable[[IngestReport], None] | None = None,
    **options: Any,
) -> StreamingQuery:
    """A stream of JSON into a shredded table, exactly once over restarts from the same checkpoint.

    `source` is a folder of text files to watch, or any streaming DataFrame (Kafka's, say) whose column
    `document` holds the JSON. `writers` bounds the files that a batch adds, and `compact_every` says after
    how many batches small files are put together. `trigger` goes to Spark (`{"processingTime": "1 minute"}`);
    without it, all that is there is taken and the stream ends. Other options are those of `ingest`.

    >>> import pathlib, tempfile
    >>> from shredlake import Table
    >>> from shredlake.spark import session
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> (folder / "in").mkdir()
    >>> _ = (folder / "in" / "a.ndjson").write_text('{"id": 1}\\n')
    >>> stream(session(), str(folder / "in"), folder / "table", folder / "state").awaitTermination()
    >>> Table(folder / "table").scan().count()
    1
    """
    fit(spark)
    how = StreamOptions(document, files_per_batch, writers, compact_every, trigger, on_batch)
    chosen = ingest_options(options)
    return start_stream(source, spark, os.fspath(table), os.fspath(checkpoint), chosen, how)


def optimize(
    spark: SparkSession,
    table: Address,
    *,
    where: str | None = None,
    sort_by: str | Sequence[str] = (),
    shredding: Any = "infer",
    **options: Any,
) -> OptimizeReport:
    """Compacts, sorts and re-shreds a table's files in one commit that changes no row.

    Files that `where` rules out are left alone. With `sort_by` rows are sorted over all files, so that the
    files hardly overlap on the key. Counts and checksums are compared before anything is committed.

    >>> import tempfile, pyarrow as pa, shredlake as sl
    >>> from shredlake.spark import session
    >>> folder = tempfile.mkdtemp()
    >>> table = sl.Table.create(folder, pa.schema([("v", sl.variant())]))
    >>> for text in ('{"id": 2}', '{"id": 1}'):
    ...     _ = table.append(pa.table({"v": sl.from_json(pa.array([text]))}))
    >>> report = optimize(session(), folder, sort_by="v:id::bigint")
    >>> report.files_before, report.files_after, report.rows
    (2, 1, 2)
    """
    fit(spark)
    keys = _tuple(sort_by)
    return optimize_table(
        SparkEngine(spark), os.fspath(table), where=where, sort_by=keys, shredding=shredding, **options
    )


def migrate_draft(
    spark: SparkSession, source: str | Iterable[str], table: Address, **options: Any
) -> IngestReport:
    """Parquet files in the older draft layout into a table, value for value, shredded as they were.

    Values are compared by checksum before the commit. Running it again changes nothing.

    >>> import pathlib, tempfile, pyarrow as pa, shredlake as sl
    >>> from shredlake.parquet.legacy.convert import write_draft
    >>> from shredlake.spark import session
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> data = pa.table({"v": sl.from_json(pa.array(['{"id": 1}']))})
    >>> write_draft(data, folder / "draft.parquet", {"v": "struct<id bigint>"})
    >>> migrate_draft(session(), str(folder / "draft.parquet"), folder / "table").layout
    'struct<id bigint>'
    """
    fit(spark)
    return migrate_files(SparkEngine(spark), source, os.fspath(table), **options)


def unshred(spark: SparkSession, table: Address, target: Address, **options: Any) -> IngestReport:
    """A copy of a table whose files are not shredded, for engines that can't read those that are.

    >>> import tempfile, pyarrow as pa, shredlake as sl
    >>> from shredlake.spark import session
    >>> table, plain = tempfile.mkdtemp(), tempfile.mkdtemp()
    >>> _ = sl.Table.create(table, pa.schema([("v", sl.variant())])).append(
    ...     pa.table({"v": sl.from_json(pa.array(['{"id": 1}']))})
    ... )
    >>> unshred(session(), table, plain).rows
    1
    """
    fit(spark)
    return unshred_table(SparkEngine(spark), os.fspath(table), os.fspath(target), **options)
