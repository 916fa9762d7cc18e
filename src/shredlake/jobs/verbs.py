"""The public verbs without Spark: jobs on threads of this process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import chain
from typing import IO, Any, Unpack

import pyarrow as pa

from shredlake.errors import PipelineError
from shredlake.jobs.arguments import (
    Address,
    ConvertArguments,
    IngestArguments,
    MigrateArguments,
    OptimizeArguments,
    addresses,
    as_tuple,
)
from shredlake.jobs.convert.convert import ConvertOptions, convert_table
from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.ingest.ingest import IngestOptions, ingest_text
from shredlake.jobs.ingest.ingest_arrow import ingest_batches, ingest_documents
from shredlake.jobs.ingest.outcome import rejects_limit
from shredlake.jobs.ingest.sources import open_stream
from shredlake.jobs.migrate import migrate_files
from shredlake.jobs.optimize import OptimizeReport, optimize_table
from shredlake.jobs.report import IngestReport
from shredlake.parquet.arrow_stream import ArrowData
from shredlake.signatures import options_of
from shredlake.variant import Variant


def ingest_options(given: IngestArguments) -> IngestOptions:
    """Builds options from keyword arguments; raises on an unknown name and lists the known ones."""
    known = set(IngestArguments.__annotations__) & {field.name for field in fields(IngestOptions)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise PipelineError(f"ingest has no option {unknown[0]!r}; it has: {', '.join(sorted(known))}")
    arguments: dict[str, Any] = dict(given)
    for name in ("sort_by", "partition_by"):
        if name in arguments:
            arguments[name] = as_tuple(arguments[name])
    if isinstance(arguments.get("max_rejects"), str):
        arguments["max_rejects"] = rejects_limit(arguments["max_rejects"])
    return IngestOptions(**arguments)


Document = Mapping[str, Any] | str | bytes | Variant


@options_of(IngestOptions)
def ingest(
    source: Address | Iterable[Address] | Iterable[Document] | IO[Any] | ArrowData,
    table: Address,
    *,
    document: str | None = None,
    threads: int | None = None,
    **options: Unpack[IngestArguments],
) -> IngestReport:
    """Ingests JSON into a shredded Delta table, on threads of this process.

    `source` is a path, a glob, a folder, `-` for standard input, or a list of these, whose files hold NDJSON
    or JSON arrays; an open file; an iterable of documents; or Arrow data (anything with an Arrow stream)
    whose column `document` holds text, Variants or structs. In an iterable, a dict, a Variant, bytes, and a
    str that starts with `{` are documents; any other str is an address. The table is created if it does not
    exist. Invalid documents go to the rejects table; documents = rows + rejects, checked before the one
    commit. A file that the table already has is skipped; other sources are ingested each time, unless there
    is a `job_id`.

    | option | |
    |---|---|
    | `column` | the Variant column that stores the documents |
    | `shredding` | "infer" (from a sample), a schema or its DDL, or None for unshredded |
    | `computed` | columns computed from the document: `{"day": "v:ts::date"}` |
    | `folder_columns` | columns from folders such as `day=2026-01-01`: `{"day": "date"}` |
    | `multi_line` | whether documents span lines; None detects it |
    | `schema_mode` | "merge" adds columns that the table lacks; "strict" refuses them |
    | `partition_by` | partition columns of a new table |
    | `sort_by` | keys by which the rows of each file are sorted: `"v:ts::bigint"` |
    | `range_partition` | also sort over all files by `sort_by`, in memory |
    | `rejects`, `max_rejects` | the table for invalid documents; how many are allowed (100, 0.02, "2%") |
    | `job_id` | an idempotency key: a job whose key is committed is skipped |
    | `task_bytes`, `file_bytes` | how much text one task reads; the target size of a data file |
    | `parsing`, `writing` | `Parsing` and `WriteOptions`: how documents are read and files are written |
    | `properties`, `force` | properties of a new table; create it although its folder has other files |
    | `storage_options` | settings of the object store |

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.ndjson").write_text('{"id": 1}\\n{"id": 2}\\n{"id":\\n')
    >>> report = ingest(folder / "a.ndjson", folder / "table", sort_by="v:id::bigint")
    >>> report.documents, report.rows, report.rejects, report.layout
    (3, 2, 1, 'struct<id bigint>')
    >>> ingest(({"id": n} for n in range(3)), folder / "table").rows
    3
    """
    chosen = ingest_options(options)
    target = os.fspath(table)
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
        return ingest_batches(reader, reader.schema, document or chosen.column, target, chosen)
    engine = LocalEngine(threads)
    if isinstance(source, (str, os.PathLike)):
        return ingest_text(engine, addresses(source), target, chosen)
    if hasattr(source, "read"):
        return ingest_text(engine, open_stream(source), target, chosen)
    if isinstance(source, (Mapping, bytes, bytearray)) or not isinstance(source, Iterable):
        raise PipelineError(
            f"a {type(source).__name__} is not a source: pass a path, a list of paths or documents, an open "
            "file, or Arrow data"
        )
    items: Iterator[Any] = iter(source)
    first = next(items, None)
    everything = chain([] if first is None else [first], items)
    if first is None or _is_address(first):
        return ingest_text(engine, addresses(everything), target, chosen)
    return ingest_documents(everything, target, chosen)


def _is_address(item: Any) -> bool:
    """Whether an item of an iterable is an address rather than a document."""
    return isinstance(item, os.PathLike) or (isinstance(item, str) and not item.lstrip().startswith("{"))


@options_of(optimize_table)
def optimize(
    table: Address, *, threads: int | None = None, **options: Unpack[OptimizeArguments]
) -> OptimizeReport:
    """Compacts, sorts and re-shreds a table's files in one commit that changes no row.

    Files that `where` rules out are left alone. With `sort_by`, rows are sorted over all files, so that files
    barely overlap on the key; the sort spills to temporary files and takes bounded memory. `shredding` is for
    `column`, or for all Variant columns. Counts and checksums are compared before the commit.

    >>> import tempfile, pyarrow as pa, shredlake as sl
    >>> folder = tempfile.mkdtemp()
    >>> table = sl.Table.create(folder, pa.schema([("v", sl.variant())]))
    >>> for text in ('{"id": 2}', '{"id": 1}'):
    ...     _ = table.append(pa.table({"v": sl.from_json([text])}))
    >>> report = optimize(folder, sort_by="v:id::bigint")
    >>> report.files_before, report.files_after, report.rows
    (2, 1, 2)
    """
    return optimize_table(LocalEngine(threads), table, **options)


@options_of(ConvertOptions)
def convert(
    table: Address,
    columns: Sequence[str],
    *,
    threads: int | None = None,
    **options: Unpack[ConvertArguments],
) -> IngestReport:
    """Converts string columns that hold JSON to Variants.

    `table` is a Delta table or a folder of Parquet files. Without `target` it is converted in place, in one
    commit; with `target` it stays unchanged, and a new table is written. Rows that are not JSON go unchanged
    to the rejects table (`rejects`, by default the address of the table with `_rejects`). Counts and a
    checksum over all values are compared with the new files before the commit. An interrupted job continues
    when it is run again.

    >>> import tempfile, pyarrow as pa, shredlake as sl
    >>> folder = tempfile.mkdtemp()
    >>> t = sl.Table.create(folder, pa.schema([("id", pa.int64()), ("payload", pa.string())]))
    >>> _ = t.append([{"id": 1, "payload": '{"a": 1}'}, {"id": 2, "payload": '{"a": '}])
    >>> report = convert(folder, ["payload"])
    >>> report.rows, report.rejects
    (1, 1)
    >>> sl.Table(folder).scan(["id", "payload:a::bigint AS a"]).to_arrow().to_pylist()
    [{'id': 1, 'a': 1}]
    """
    return convert_table(LocalEngine(threads), table, columns, **options)


@options_of(migrate_files)
def migrate_draft(
    source: Address | Iterable[Address],
    table: Address,
    *,
    threads: int | None = None,
    **options: Unpack[MigrateArguments],
) -> IngestReport:
    """Migrates Parquet files in the older draft layout into a table, shredded as they were.

    Values are compared by checksum before the commit. Files that the table already has are skipped.

    >>> import pathlib, tempfile, pyarrow as pa, shredlake as sl
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> data = pa.table({"v": sl.from_json(['{"id": 1}'])})
    >>> sl.write_draft(data, folder / "draft.parquet", {"v": "struct<id bigint>"})
    >>> migrate_draft(folder / "draft.parquet", folder / "table").layout
    'struct<id bigint>'
    """
    return migrate_files(LocalEngine(threads), source, table, **options)
