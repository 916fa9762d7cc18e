"""The public functions that write: ingest, stream, optimize, migrate_draft, unshred."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Unpack

from shredlake.errors import PipelineError, TableError
from shredlake.jobs.arguments import (
    Address,
    ConvertArguments,
    IngestArguments,
    MigrateArguments,
    OptimizeArguments,
    UnshredArguments,
    addresses,
)
from shredlake.jobs.convert.convert import ConvertOptions, convert_table
from shredlake.jobs.ingest.ingest import IngestOptions
from shredlake.jobs.migrate import migrate_files
from shredlake.jobs.optimize import OptimizeReport, optimize_table
from shredlake.jobs.report import IngestReport
from shredlake.jobs.unshred import unshred_table
from shredlake.jobs.verbs import ingest as ingest_here
from shredlake.jobs.verbs import ingest_options
from shredlake.parquet.arrow_stream import ArrowData
from shredlake.signatures import options_of
from shredlake.spark.engine import SparkEngine, described
from shredlake.spark.file_stream import StreamOptions, start_stream
from shredlake.spark.given import check_source, check_stream_options, is_in_memory, stream_folder
from shredlake.spark.ingest_frame import ingest_files, ingest_frame
from shredlake.spark.query.tables.given import Given
from shredlake.spark.session import ensure_supported
from shredlake.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery


@options_of(IngestOptions)
def ingest(
    spark: SparkSession,
    source: Address | Iterable[Address] | DataFrame | ArrowData,
    table: Given,
    *,
    document: str | None = None,
    **options: Unpack[IngestArguments],
) -> IngestReport:
    """Ingests JSON into a shredded Delta table: NDJSON files, JSON arrays, or a DataFrame.

    `source` is a path, a glob, a folder, a list of these, or a DataFrame whose column `document` holds
    text, Variants or structs. This process ingests pandas and Arrow data. The options are those
    of `sl.ingest`. Invalid documents go to the rejects table. The job checks that documents = rows +
    rejects, and then publishes all rows in one commit.

    >>> import pathlib, tempfile
    >>> from shredlake.spark import session
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.ndjson").write_text('{"id": 1}\\n{"id": 2}\\n{"id":\\n')
    >>> report = ingest(session(), str(folder / "a.ndjson"), folder / "table")
    >>> report.documents, report.rows, report.rejects
    (3, 2, 1)
    """
    ensure_supported(spark)
    address = _address(table, options)
    chosen = ingest_options(options)
    if is_in_memory(source):
        return ingest_here(source, address, document=document, **options)
    check_source(source)
    given: Any = source
    with described(spark, "ingest into", address):
        if hasattr(source, "mapInArrow"):
            return ingest_frame(given, address, chosen, document)
        return ingest_files(SparkEngine(spark), addresses(given), address, chosen)


@options_of(IngestOptions)
def stream(
    spark: SparkSession,
    source: Address | DataFrame,
    table: Given,
    checkpoint: Address,
    *,
    document: str | None = None,
    files_per_batch: int | None = None,
    writers: int = 1,
    compact_every: int | None = None,
    trigger: Mapping[str, Any] | None = None,
    on_batch: Callable[[IngestReport], None] | None = None,
    **options: Unpack[IngestArguments],
) -> StreamingQuery:
    """Streams JSON into a shredded table, exactly once across restarts from the same checkpoint.

    `source` is a folder of text files to watch, or a streaming DataFrame, such as Kafka's, whose column
    `document` holds the JSON. `writers` limits the files that a batch adds. After every `compact_every`
    batches, small files are compacted. `trigger` goes to Spark (`{"processingTime": "1 minute"}`); without
    it, the stream ingests the available data and ends. The other options are those of `ingest`.

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
    ensure_supported(spark)
    how = StreamOptions(document, files_per_batch, writers, compact_every, trigger, on_batch)
    address = _address(table, options)
    chosen = ingest_options(options)
    if not hasattr(source, "mapInArrow"):
        source = stream_folder(source, dict(chosen.storage_options))
    elif not getattr(source, "isStreaming", True):
        raise PipelineError("stream takes a streaming DataFrame; ingest this one with sls.ingest")
    check_stream_options(source, document=document, files_per_batch=files_per_batch)
    return start_stream(source, spark, address, os.fspath(checkpoint), chosen, how)


@options_of(optimize_table)
def optimize(spark: SparkSession, table: Given, **options: Unpack[OptimizeArguments]) -> OptimizeReport:
    """Compacts, sorts and re-shreds a table's files in one commit that changes no row.

    Files that `where` rules out are not rewritten. With `sort_by`, rows are sorted across all files, so that
    files barely overlap on the key. `shredding` applies to `column`, or without it to all Variant columns.
    Row counts and checksums are compared before the commit.

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
    with _job(spark, "optimize", _address(table, options)) as (engine, address):
        return optimize_table(engine, address, **options)


@options_of(ConvertOptions)
def convert(
    spark: SparkSession, table: Given, columns: Sequence[str], **options: Unpack[ConvertArguments]
) -> IngestReport:
    """Converts string columns that hold JSON to Variants, in place or at `target`.

    Rows that are not JSON go unchanged to the rejects table. Every value is verified before the commit. An
    interrupted job continues when it is run again. See `sl.convert`.

    >>> import tempfile, pyarrow as pa, shredlake as sl
    >>> from shredlake.spark import session
    >>> folder = tempfile.mkdtemp()
    >>> table = sl.Table.create(folder, pa.schema([("payload", pa.string())]))
    >>> _ = table.append([{"payload": '{"a": 1}'}, {"payload": "x"}])
    >>> report = convert(session(), folder, ["payload"])
    >>> report.rows, report.rejects, report.layout
    (1, 1, 'struct<a bigint>')
    """
    with _job(spark, "convert", _address(table, options)) as (engine, address):
        return convert_table(engine, address, columns, **options)


@options_of(migrate_files)
def migrate_draft(
    spark: SparkSession,
    source: Address | Iterable[Address],
    table: Given,
    **options: Unpack[MigrateArguments],
) -> IngestReport:
    """Migrates Parquet files in the older draft layout into a table, shredded as they were.

    Values are compared by checksum before the commit. Files that the table already has are skipped.

    >>> import pathlib, tempfile, pyarrow as pa, shredlake as sl
    >>> from shredlake.parquet.legacy.convert import write_draft
    >>> from shredlake.spark import session
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> data = pa.table({"v": sl.from_json(pa.array(['{"id": 1}']))})
    >>> write_draft(data, folder / "draft.parquet", {"v": "struct<id bigint>"})
    >>> migrate_draft(session(), str(folder / "draft.parquet"), folder / "table").layout
    'struct<id bigint>'
    """
    with _job(spark, "migrate into", _address(table, options)) as (engine, address):
        return migrate_files(engine, source, address, **options)


@options_of(unshred_table)
def unshred(
    spark: SparkSession, table: Given, target: Address, **options: Unpack[UnshredArguments]
) -> IngestReport:
    """Copies a table to one whose files are not shredded, for engines that cannot read shredded files.

    >>> import tempfile, pyarrow as pa, shredlake as sl
    >>> from shredlake.spark import session
    >>> table, plain = tempfile.mkdtemp(), tempfile.mkdtemp()
    >>> _ = sl.Table.create(table, pa.schema([("v", sl.variant())])).append(
    ...     pa.table({"v": sl.from_json(pa.array(['{"id": 1}']))})
    ... )
    >>> unshred(session(), table, plain).rows
    1
    """
    if isinstance(table, Table) and table.is_pinned:
        options.setdefault("version", table.version)
    with _job(spark, "unshred", _address(table, options, reads=True)) as (engine, address):
        return unshred_table(engine, address, target, **options)


@contextmanager
def _job(spark: SparkSession, verb: str, address: str) -> Iterator[tuple[SparkEngine, str]]:
    """Runs a job on a table with Spark; the Spark UI shows the verb and the table."""
    ensure_supported(spark)
    with described(spark, verb, address):
        yield SparkEngine(spark), address


def _address(table: Given, options: Any, *, reads: bool = False) -> str:
    """The address of a table. A `Table` has its own storage options, which go to the options of the call."""
    if not isinstance(table, Table):
        return os.fspath(table)
    if table.is_pinned and not reads:
        raise TableError(f"{table!r} was opened at one version and can only be read; open the newest")
    options["storage_options"] = table.snapshot.storage.options
    return table.uri
