"""The data that `shredlake advise` profiles: a table, a Parquet file or JSON text, as batches of Variants."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from shredlake.delta.schema.names import resolve
from shredlake.delta.write.layout import newest_layout
from shredlake.errors import InvalidFile, InvalidSchema
from shredlake.expr import join_name
from shredlake.jobs.ingest.documents import is_array, split_elements, split_lines
from shredlake.kernels.arrow.types import is_variant, shredding_schema
from shredlake.kernels.from_json import from_json
from shredlake.kernels.unshred import unshred
from shredlake.parquet.read.scan import scan_parquet
from shredlake.parquet.write.writer import write_parquet
from shredlake.shredding.schema import ShreddingSchema, Untyped
from shredlake.table import Table

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


def open_data(source: str, column: str | None) -> Data:
    """Opens the Variants of a table, of a Parquet file, or of JSON text."""
    path = Path(source)
    if path.is_dir() or "://" in source:
        return _from_table(source, column)
    if not path.exists():
        raise InvalidFile(f"{source} does not exist")
    with path.open("rb") as file:
        head = file.read(4)
    return _from_parquet(source, column) if head == b"PAR1" else Data(source, "", _from_text(source))


def _from_table(source: str, column: str | None) -> Data:
    table = Table(source)
    name = _only_variant(table.schema, column, source)
    scan = table.scan(columns=[name])
    physical = resolve(table.snapshot.schema, join_name((name,)))[0].physical_name
    previous = newest_layout(table.snapshot).get(physical)
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
    raise InvalidSchema(f"{source}: {wanted}. Choose one with --column: {', '.join(names) or 'none found'}")


def _variants(array: pa.Array) -> pa.Array:
    return array if shredding_schema(array.type) is None else unshred(array)


def _from_text(source: str) -> Iterator[pa.Array]:
    """Documents of NDJSON or of one JSON array, compressed or not. Invalid JSON counts as NULL."""
    with pa.input_stream(source, compression="detect") as stream:
        rest = stream.read(BLOCK_BYTES)
        whole = is_array(rest[: 1 << 16])
        if whole:
            rest = rest[rest.index(b"[") + 1 :]
        split = split_elements if whole else split_lines
        while True:
            more = stream.read(BLOCK_BYTES)
            documents = split(rest, final=not more)
            if len(documents.rows):
                yield from_json(documents.rows, on_error="null")
            if documents.closed or not more:
                return
            rest = rest[documents.taken :] + more
