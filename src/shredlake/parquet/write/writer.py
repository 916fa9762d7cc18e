"""Writes Parquet files with Variants: shredded, annotated, and either complete or absent.

```
batches ─ buffer up to a row group ─ arrange (shred, order, nullability) ─ pyarrow ─▶ temporary file
                                                     footer: VARIANT(1) ─ fsync ─ rename ─▶ final name
```
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from shredlake.errors import InvalidExpression, InvalidFile, InvalidSchema
from shredlake.expr import Get
from shredlake.expr.parse import parse_columns
from shredlake.kernels.arrow.nested import Names
from shredlake.kernels.arrow.normalize import normal_schema, normal_table
from shredlake.parquet.format.chunks import Chunks
from shredlake.parquet.format.footer import annotate, footer_bytes, read_footer
from shredlake.parquet.format.schema import SchemaNode
from shredlake.parquet.format.seal import KEY, blank, sealed
from shredlake.parquet.given import Rows, given_tables
from shredlake.parquet.io.destination import Destination, destination
from shredlake.parquet.io.stores import Store
from shredlake.parquet.leaves import LeafStatistics, leaf_statistics, leaves, nan_leaves
from shredlake.parquet.read.counts import FooterCounts
from shredlake.parquet.variant_columns import ColumnLayout, layout_json, variant_column
from shredlake.parquet.write.arrange import Chosen, arrange, choose_schemas, requested_schemas
from shredlake.parquet.write.bounds import binary_leaves, without_bounds
from shredlake.parquet.write.encodings import LEVELS, QUICK_LEVELS, Encodings, choose_encodings
from shredlake.shredding.request import Shredding
from shredlake.shredding.schema import ShreddingSchema


@dataclass(frozen=True)
class WriteOptions:
    """Options for writing a file. The defaults suit files that are filtered by path and read by Spark.

    >>> WriteOptions(compression_level=9).compression
    'zstd'
    """

    compression: str = "zstd"
    compression_level: int | None = None
    """The compression level of all columns; None chooses a zstd level per column from the data."""
    row_group_rows: int = 122_880
    """Rows of a row group, the unit that readers without a page index skip; five pages."""
    row_group_bytes: int = 128 << 20
    """Arrow bytes after which a row group is written even with fewer rows; bounds the writer's memory."""
    page_rows: int = 24_576
    """Rows of a data page, the unit that the page index skips. Smaller pages compress worse: 12,288 rows cost
    1.2% to 1.6% of a file's size.
    """
    page_bytes: int = 4 << 20
    """Bytes after which a data page ends even with fewer rows, for whole documents in one column. 1 MB costs
    GitHub's events 3%, 2 MB 1%.
    """
    bloom_filters: tuple[str, ...] = ()
    """Paths such as `v:user.id`, or leaf columns by dotted name, that get a Bloom filter, for lookups by
    unsorted keys. A path that the file does not store as a column is ignored.
    """
    bloom_filter_fpp: float = 0.05
    encodings: Mapping[str, str] = field(default_factory=dict)
    """Encodings of leaf columns by dotted name, which override the choice made from the data."""
    compression_levels: tuple[int, ...] = ()
    """zstd levels to choose from, the fastest first; empty for 1, 2, 3 and 9, and for ingest without 9."""

    def quick(self) -> WriteOptions:
        """The options for ingest: without the slowest level, unless levels are given.

        >>> WriteOptions().quick().compression_levels
        (1, 2, 3)
        """
        return replace(self, compression_levels=self.compression_levels or QUICK_LEVELS)


@dataclass(frozen=True)
class VariantFacts:
    """The contents of one Variant column in a written file."""

    schema: ShreddingSchema | None
    """The shredding schema; None for unshredded."""
    residual: frozenset[str]
    """Normalised paths of the levels whose `value` holds data, with `[*]` for array elements."""
    objects: frozenset[str]
    """Normalised paths of the objects that every row has, as objects."""
    null_count: int
    """The number of NULL Variants."""
    leaves: Mapping[str, LeafStatistics]
    """Statistics of the `typed_value` of every scalar level, by normalised path."""


@dataclass(frozen=True)
class FileFacts:
    """A finished file: its location, its size, and exact statistics of every leaf."""

    path: str
    size: int
    num_rows: int
    variants: Mapping[str, VariantFacts]
    """By the column's dotted name: `v`, `s.v`, `l.list.element`."""
    leaves: Mapping[str, LeafStatistics]
    """Statistics of every leaf column, by dotted name."""

    def layout_json(self) -> str:
        """The layout of the shredded columns, as stored in a table's log."""
        return layout_json(
            {
                name: ColumnLayout(facts.schema, facts.residual, facts.objects)
                for name, facts in self.variants.items()
                if facts.schema is not None
            }
        )


class ParquetWriter:
    """Writes batches to one file, which appears under its name only when `close()` succeeds.

    >>> import pyarrow as pa, shredlake as sl, tempfile
    >>> batch = pa.record_batch({"v": sl.from_json(pa.array(['{"a": 1}', '{"a": 2}']))})
    >>> path = tempfile.mkdtemp() + "/f.parquet"
    >>> with ParquetWriter(path, batch.schema, shredding={"v": "struct<a bigint>"}) as writer:
    ...     writer.write(batch)
    ...     writer.write(batch)
    >>> writer.facts.num_rows, writer.facts.variants["v"].leaves["$['a']"].maximum.as_py()
    (4, 2)
    """

    facts: FileFacts
    """Set by `close()`."""

    def __init__(
        self,
        where: str | os.PathLike[str],
        schema: pa.Schema,
        *,
        shredding: Shredding = "infer",
        options: WriteOptions | None = None,
        store: Store | None = None,
        metadata: Mapping[str, str] | None = None,
        variants: Collection[Names] | None = None,
    ) -> None:
        """`variants` names the Variant columns; by default, those with a Variant's shape.

        Schemas are inferred from the first row group.
        """
        self.options = options or WriteOptions()
        self._schema = schema = normal_schema(schema)
        self._asked = requested_schemas(schema, shredding, variants)
        self._chosen: Chosen = {}
        self._metadata = dict(metadata or {})
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = self._waiting_bytes = self._written_bytes = self._chunks = 0
        self._nan: set[int] = set()
        self._destination: Destination = destination(where, store)
        self._file: pq.ParquetWriter | None = None
        self._closed = False

    def write(self, data: pa.Table | pa.RecordBatch) -> None:
        """Appends a batch or a table with the writer's schema; writes a row group when it is full."""
        if self._closed:
            raise ValueError("the writer is closed")
        try:
            for batch in self._checked(data).to_batches(max_chunksize=self.options.row_group_rows):
                self._take(batch)
        except BaseException:
            self.abort()
            raise

    def _checked(self, data: pa.Table | pa.RecordBatch) -> pa.Table:
        table = normal_table(data if isinstance(data, pa.Table) else pa.Table.from_batches([data]))
        if table.schema.equals(self._schema):
            return table
        if set(table.column_names) != set(self._schema.names):
            raise InvalidSchema(
                f"the batch has the columns {table.column_names}, but the file has {self._schema.names}"
            )
        try:
            return table.select(self._schema.names).cast(self._schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, TypeError) as error:
            raise InvalidSchema(f"the batch does not fit the file's schema: {error}") from error

    def _take(self, batch: pa.RecordBatch) -> None:
        options = self.options
        while batch.num_rows:
            room = options.row_group_rows - self._waiting_rows
            part, batch = batch.slice(0, room), batch.slice(room)
            self._waiting.append(part)
            self._waiting_rows += part.num_rows
            self._waiting_bytes += part.nbytes
            if self._waiting_rows >= options.row_group_rows or self._waiting_bytes >= options.row_group_bytes:
                self._flush()

    def _flush(self) -> None:
        """Writes the buffered rows as one row group."""
        # Concatenated, because many small chunks of a wide layout cost more per leaf than a copy.
        table = pa.Table.from_batches(self._waiting, self._schema).combine_chunks()
        self._waiting.clear()
        self._written_bytes += self._waiting_bytes
        self._waiting_rows = self._waiting_bytes = 0
        if self._file is None:
            self._chosen = choose_schemas(self._asked, table)
        arranged = arrange(table, self._chosen)
        del table  # shredded columns share only the metadata with it
        self._nan |= nan_leaves(arranged)
        if self._file is None:
            self._file = self._open(arranged)
        self._file.write_table(arranged, row_group_size=max(arranged.num_rows, 1))
        self._chunks += sum(1 for _ in leaves(arranged.schema))

    def _open(self, first: pa.Table) -> pq.ParquetWriter:
        options = self.options
        by_column = options.compression == "zstd" and options.compression_level is None
        levels = (options.compression_levels or LEVELS) if by_column else (1,)
        encodings: Encodings = choose_encodings(first, options.encodings, levels)
        writer = pq.ParquetWriter(
            str(self._destination.temporary),
            first.schema,
            version="2.6",
            compression=options.compression,
            compression_level=encodings.levels if by_column else options.compression_level,
            use_dictionary=encodings.dictionary,
            column_encoding=encodings.others,
            data_page_size=options.page_bytes,
            max_rows_per_page=options.page_rows,
            write_batch_size=min(1024, options.page_rows),
            write_page_index=True,
            write_page_checksum=True,
            store_schema=False,
            store_decimal_as_integer=True,
            bloom_filter_options={
                name: {"ndv": options.row_group_rows, "fpp": options.bloom_filter_fpp}
                for name in _with_bloom_filters(options.bloom_filters, first.schema)
            }
            or None,
        )
        if self._metadata:
            writer.add_key_value_metadata(self._metadata)
        return writer

    @property
    def measured(self) -> tuple[int, int]:
        """Arrow bytes of the rows written to the file so far, and their size in the file."""
        size = self._destination.temporary.stat().st_size if self._written_bytes else 0
        return self._written_bytes, size

    def close(self) -> FileFacts:
        """Finishes the file, gives it its name, and returns its facts."""
        if self._closed:
            if not hasattr(self, "facts"):
                raise InvalidFile(f"{self._destination.name}: the write was aborted, so there is no file")
            return self.facts
        try:
            if self._waiting or self._file is None:
                self._flush()
            assert self._file is not None
            self._file.add_key_value_metadata({KEY: blank(self._chunks)})
            self._file.close()
            temporary = self._destination.temporary
            counts = _annotate_file(temporary, list(self._chosen))
            self.facts = _facts(self._destination.name, temporary, counts, self._nan)
            self._destination.commit()
        except BaseException:
            self.abort()
            raise
        self._closed = True
        return self.facts

    def abort(self) -> None:
        """Aborts the write and removes the temporary file."""
        if self._closed:
            return
        self._closed = True
        self._waiting.clear()
        try:
            if self._file is not None and self._file.is_open:
                self._file.close()
        except Exception:  # the disk may be full; the temporary file is removed in any case
            pass
        finally:
            self._destination.abort()

    def __enter__(self) -> ParquetWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.abort()
        elif not self._closed:
            self.close()


def write_parquet(
    table: Rows,
    where: str | os.PathLike[str],
    *,
    shredding: Shredding = "infer",
    options: WriteOptions | None = None,
    store: Store | None = None,
    metadata: Mapping[str, str] | None = None,
    variants: Collection[str] = (),
) -> FileFacts:
    """Writes a table to one Parquet file, with Variant columns annotated and shredded.

    `table` is an Arrow table, batch or reader, a pandas or Polars frame, anything with an Arrow stream, a
    list of dicts or a dict of lists. `variants` names columns to write as Variants; so do the names in
    `shredding`. Texts in such columns are JSON, and other Python objects become Variants.
    `shredding` maps the dotted name of a Variant column (`v`, `s.v`, `l.list.element`) to a schema or its
    DDL, to "infer", or to None for unshredded. One of these by itself is for all Variant columns, a schema
    only if there is one. A column that is not named is inferred from the first row group; one that is
    already shredded keeps its schema. `where` is a path or a URL, or a path within `store`, an obstore store
    or a pyarrow filesystem. A failed write leaves no file.

    >>> import pyarrow as pa, shredlake as sl, tempfile
    >>> table = pa.table({"v": sl.from_json(pa.array(['{"a": 1}', '{"a": "x"}', None]))})
    >>> facts = write_parquet(table, tempfile.mkdtemp() + "/f.parquet", shredding={"v": "struct<a bigint>"})
    >>> facts.num_rows, facts.variants["v"].null_count, facts.variants["v"].residual
    (3, 1, frozenset({"$['a']"}))
    >>> rows = [{"id": 1, "v": {"a": [1]}}, {"id": 2, "v": '{"a": 2}'}]
    >>> write_parquet(rows, tempfile.mkdtemp() + "/f.parquet", variants=["v"]).num_rows
    2
    """
    named = shredding if isinstance(shredding, Mapping) else ()
    tables = given_tables(table, [*variants, *named])
    first = next(tables, None)
    if first is None:
        raise InvalidSchema("there are no rows and no columns to write; pass a table with a schema")
    writer = ParquetWriter(
        where, first.schema, shredding=shredding, options=options, store=store, metadata=metadata
    )
    with writer:
        writer.write(first)
        for more in tables:
            writer.write(more)
    return writer.facts


def _with_bloom_filters(asked: tuple[str, ...], schema: pa.Schema) -> Iterator[str]:
    """The leaf columns that get a Bloom filter; columns must exist, paths need not."""
    there = dict(leaves(schema))
    for name in asked:
        if ":" not in name:
            if name not in there:
                raise InvalidSchema(
                    f"there can be no Bloom filter on {name}: the file has no such leaf column"
                )
            if pa.types.is_boolean(there[name]):
                raise InvalidSchema(
                    f"there can be no Bloom filter on {name}: Parquet does not define them for booleans"
                )
            yield name
            continue
        [projection] = parse_columns([name])
        if not isinstance(projection.expr, Get):
            raise InvalidExpression(f"a Bloom filter needs a column or a path such as v:user.id, not {name}")
        column, path = projection.expr.column, projection.expr.path
        leaf = ".".join([column, *(f"typed_value.{step}" for step in path.steps), "typed_value"])
        if leaf in there and not pa.types.is_boolean(there[leaf]):
            yield leaf


def _annotate_file(temporary: Path, groups: list[Names]) -> list[FooterCounts]:
    """Replaces the footer of a finished file: annotated, and without bounds that readers cannot use.

    Returns the counts of the file's Variants.
    """
    with open(temporary, "r+b") as file:
        footer = annotate(read_footer(file, str(temporary)), groups)
        variants = tuple(variant_column(footer.schema.find(group)) for group in groups)
        footer = without_bounds(footer, binary_leaves(variants), str(temporary))
        chunks = Chunks(footer, str(temporary))
        raw = sealed(footer.raw, footer.start, _index_sums(file, chunks, footer.start))
        file.seek(footer.start)
        file.write(footer_bytes(raw))
        file.truncate()
    return [FooterCounts(footer.schema, chunks, column) for column in variants]


def _index_sums(file: IO[bytes], chunks: Chunks, end: int) -> list[int]:
    """The checksums of all page indexes, which lie side by side before the footer."""
    extents = [extent for chunk in chunks.all() for extent in chunk.index_extents]
    start = min((extent[0] for extent in extents if extent is not None), default=end)
    file.seek(start)
    indexes = memoryview(file.read(end - start))
    return [
        0 if extent is None else zlib.crc32(indexes[extent[0] - start : sum(extent) - start])
        for extent in extents
    ]


def _facts(name: str, temporary: Path, counts: list[FooterCounts], with_nan: set[int]) -> FileFacts:
    size = os.path.getsize(temporary)
    with pq.ParquetFile(temporary) as opened:
        metadata = opened.metadata
        leaves = leaf_statistics(metadata, opened.schema_arrow, with_nan)
        names = [opened.schema.column(i).path for i in range(len(leaves))]
    return FileFacts(
        path=name,
        size=size,
        num_rows=metadata.num_rows,
        variants={one.column.name: _variant_facts(one, leaves) for one in counts},
        leaves=dict(zip(names, leaves, strict=True)),
    )


def _variant_facts(counts: FooterCounts, leaves: list[LeafStatistics]) -> VariantFacts:
    def statistics(leaf: SchemaNode | None) -> LeafStatistics | None:
        return None if leaf is None or leaf.column is None else leaves[leaf.column]

    column = counts.column
    schema = column.schema
    residual, typed = set(), {}
    for level in column.levels():
        value = statistics(level.value)
        if schema is not None and value is not None and value.value_count:
            residual.add(level.path)
        scalar = statistics(level.typed)
        if scalar is not None:
            typed[level.path] = scalar
    metadata = statistics(column.metadata)
    assert metadata is not None
    objects = counts.objects_in_every_row()
    return VariantFacts(schema, frozenset(residual), objects, metadata.null_count, typed)
