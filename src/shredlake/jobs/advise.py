"""`advise`: profiles a table, a Parquet file or JSON text, and recommends which paths to shred."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from shredlake.delta.log.snapshot import load_snapshot
from shredlake.delta.read.scan import TableScan
from shredlake.delta.schema.names import resolve
from shredlake.delta.storage.storage import Storage, normalized_uri
from shredlake.delta.write.layout import newest_layout
from shredlake.errors import InvalidFile, InvalidSchema, NotATable, PipelineError, WrongType
from shredlake.formatting import bytes_text, counted, html_text
from shredlake.jobs.ingest.ingest_arrow import document_columns
from shredlake.jobs.ingest.sources import SourceFile, cut, find_files, open_stream, spooled
from shredlake.jobs.ingest.text import pieces
from shredlake.kernels.arrow.types import is_variant, shredding_schema
from shredlake.kernels.from_json import from_json
from shredlake.kernels.profile import merge_profiles, profile_bytes
from shredlake.kernels.unshred import unshred
from shredlake.parquet.read.scan import scan_parquet
from shredlake.parquet.write.writer import write_parquet
from shredlake.shredding.inference import MAX_LEAVES
from shredlake.shredding.inference.infer import infer_schema
from shredlake.shredding.inference.profile import Profile
from shredlake.shredding.inference.report import InferredSchema
from shredlake.shredding.schema import ShreddingSchema, Untyped
from shredlake.variant.identifiers import quote

BLOCK_BYTES = 32 << 20
RUN_ROWS = 256
SAMPLE_RUNS = 100
SAMPLE_BYTES = 64 << 20


@dataclass(frozen=True)
class Data:
    """A Variant column that can be read once."""

    source: str
    column: str
    batches: Iterator[pa.Array]
    previous: ShreddingSchema | None = None
    """The layout that the data already has, if any."""


class Sample:
    """Short runs of rows, spread evenly over the data, few enough to be written quickly."""

    def __init__(self) -> None:
        self.runs: list[pa.Array] = []
        self.every = 1
        self.seen = 0

    def take(self, variants: pa.Array) -> None:
        """Keeps every n-th run of a batch; when there are too many, drops every second one and doubles n."""
        for start in range(0, len(variants), RUN_ROWS):
            if self.seen % self.every == 0:
                self.runs.append(variants.slice(start, RUN_ROWS))
            self.seen += 1
            if len(self.runs) > SAMPLE_RUNS or sum(run.nbytes for run in self.runs) > SAMPLE_BYTES:
                self.runs = self.runs[::2]
                self.every *= 2

    @property
    def rows(self) -> int:
        """The number of rows kept."""
        return sum(len(run) for run in self.runs)

    def size(self, schema: ShreddingSchema | None) -> int:
        """The size in bytes of a file with these rows, shredded by a schema."""
        table = pa.table({"v": pa.chunked_array(self.runs)})
        layout = None if schema is None or isinstance(schema.root, Untyped) else {"v": schema}
        with tempfile.TemporaryDirectory() as folder:
            return write_parquet(table, str(Path(folder) / "sample.parquet"), shredding=layout).size


@dataclass(frozen=True)
class Advice:
    """A recommended schema, and the size of a sample without it and with it."""

    schema: InferredSchema
    column: str
    """The column that was profiled; empty for JSON text."""
    rows: int
    """The rows of the sample that was written both ways."""
    bytes_before: int
    bytes_after: int

    def sample(self) -> dict[str, int]:
        """The measured sizes, for JSON."""
        return {"rows": self.rows, "bytes_before": self.bytes_before, "bytes_after": self.bytes_after}

    def __str__(self) -> str:
        return (
            f"{self.schema.report()}\nsample of {counted(self.rows, 'row')}: "
            f"{bytes_text(self.bytes_before)} unshredded, {bytes_text(self.bytes_after)} shredded"
        )

    def _repr_html_(self) -> str:
        return html_text(str(self))


def advise(
    source: str | os.PathLike[str] | IO[Any] | Iterable[Any],
    *,
    column: str | None = None,
    queries: Sequence[str] = (),
    max_leaves: int = MAX_LEAVES,
    storage_options: Mapping[str, str] | None = None,
) -> Advice:
    """Recommends which paths to shred, with reasons, and measures the effect on the size of a sample.

    `source` is a Delta table, a Parquet file (Variants, or JSON in a string column) or JSON text: a file, a
    glob, a folder, `-` for standard input, an open file, or an iterable of documents (JSON text or Python
    objects). `queries` are paths that queries use: they get a column however rare they are.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.ndjson"
    >>> _ = file.write_text('{"id": 1, "name": "x"}\\n' * 100)
    >>> advice = advise(file)
    >>> str(advice.schema), advice.rows
    ('struct<id bigint, name string>', 100)
    >>> str(advise({"id": n} for n in range(100)).schema)
    'struct<id bigint>'
    """
    return advice_on(open_data(source, column, storage_options), queries, max_leaves)


def advice_on(data: Data, queries: Sequence[str], max_leaves: int) -> Advice:
    """Profiles the data, infers a schema, and writes a sample both ways."""
    profiles: list[bytes] = []
    sample = Sample()
    for variants in data.batches:
        sample.take(variants)
        profiles.append(profile_bytes(variants))
    if not sample.rows:
        raise InvalidFile(f"{data.source} has no rows to profile")
    profile = Profile.from_bytes(merge_profiles(profiles))
    schema = infer_schema(profile, queries=list(queries), max_leaves=max_leaves, previous=data.previous)
    return Advice(schema, data.column, sample.rows, sample.size(None), sample.size(schema))


def open_data(
    source: str | os.PathLike[str] | IO[Any] | Iterable[Any],
    column: str | None,
    storage_options: Mapping[str, str] | None = None,
) -> Data:
    """Opens the Variants of a table, of a Parquet file, or of JSON documents."""
    if not isinstance(source, str | os.PathLike):
        if hasattr(source, "read"):
            return Data("the open file", "", _from_files([open_stream(source)]))
        if isinstance(source, Mapping | bytes | bytearray) or not isinstance(source, Iterable):
            raise WrongType(
                f"a {type(source).__name__} is not a source: pass a path, an open file or documents"
            )
        columns = document_columns(source)
        return Data("the documents", "", (one if is_variant(one.type) else _parsed(one) for one in columns))
    address = os.fspath(source)
    if "://" in address or os.path.isdir(address):
        try:
            return _from_table(address, column, storage_options)
        except NotATable:
            files = _documents_at(address, storage_options)
            if not files:
                raise
            return Data(address, "", _from_files(files))
    if os.path.isfile(address):
        with open(address, "rb") as file:
            if file.read(4) == b"PAR1":
                return _from_parquet(address, column)
    files = _documents_at(address, storage_options)
    if not files:
        raise InvalidFile(f"{address} does not exist")
    return Data(address, "", _from_files(files))


def _documents_at(address: str, storage_options: Mapping[str, str] | None) -> list[SourceFile]:
    """The files at an address that may hold JSON; none if there are only Parquet files or no files."""
    try:
        files = find_files(address, storage_options)
    except PipelineError:
        return []
    return [file for file in files if not file.uri.endswith(".parquet")]


def _from_table(source: str, column: str | None, storage_options: Mapping[str, str] | None) -> Data:
    snapshot = load_snapshot(Storage(normalized_uri(source), dict(storage_options or {})))
    name = _only_variant(snapshot.arrow_schema, column, source)
    scan = TableScan(snapshot, [quote(name)], None)
    physical = resolve(snapshot.schema, quote(name))[0].physical_name
    previous = newest_layout(snapshot).get(physical)
    return Data(source, name, (_variants(batch.column(0)) for batch in scan.to_batches()), previous)


def _from_parquet(source: str, column: str | None) -> Data:
    schema = pq.read_schema(source)
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    if column in texts or (column is None and len(texts) == len(schema) == 1):
        name = str(column or texts[0])
        batches = pq.ParquetFile(source).iter_batches(columns=[name])
        return Data(source, name, (from_json(batch.column(0), on_error="null") for batch in batches))
    name = _only_variant(schema, column, source)
    layout = shredding_schema(schema.field(name).type)
    scan = scan_parquet(source, columns=[name])
    return Data(source, name, (_variants(batch.column(0)) for batch in scan.to_batches()), layout)


def _only_variant(schema: pa.Schema, column: str | None, source: str) -> str:
    names: list[str] = [field.name for field in schema if is_variant(field.type)]
    if column is None and len(names) == 1:
        return names[0]
    if column is not None and column in names:
        return column
    wanted = f"there is no Variant column {column!r}" if column else f"there are {len(names)} Variant columns"
    if not names:
        raise InvalidSchema(
            f"{source} has no Variant column; convert turns columns of JSON text into Variants"
        )
    raise InvalidSchema(f"{source}: {wanted}. Choose one with --column: {', '.join(names)}")


def _variants(array: pa.Array) -> pa.Array:
    return array if shredding_schema(array.type) is None else unshred(array)


def _from_files(files: Sequence[SourceFile]) -> Iterator[pa.Array]:
    """Documents of NDJSON or of JSON arrays, compressed or not. Invalid JSON counts as NULL."""
    with spooled(files) as found:
        for split in cut(found, BLOCK_BYTES):
            for piece in pieces(split):
                if len(piece.rows) and piece.problem is None:
                    yield _parsed(piece.rows)


def _parsed(texts: pa.Array) -> pa.Array:
    return from_json(texts, on_error="null")
