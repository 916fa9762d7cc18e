"""Reads single pages, by giving pyarrow a small file in memory that holds only these pages.

The page index gives the offset and the rows of each page of a column. The wanted pages are fetched and placed
after the column's dictionary page, with a new footer, and pyarrow's reader decodes the result like any other
file.

```
the file       PAR1 │ d │ p0 │ p1 │ p2 │ p3 │ other columns ... │ page index │ footer
wanted               d             p2   p3
the page file  PAR1 │ d │ p2 │ p3 │ footer: one row group, with the requested columns
```
"""

from __future__ import annotations

import base64
import inspect
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from shredlake.caches import cached
from shredlake.errors import InvalidFile
from shredlake.kernels.arrow.types import variant
from shredlake.parquet.format import footer as numbers
from shredlake.parquet.format import thrift
from shredlake.parquet.format.chunks import META_CODEC, META_ENCODINGS, META_PATH, META_TYPE, Chunk
from shredlake.parquet.format.footer import (
    MAGIC,
    Extent,
    Footer,
    footer_bytes,
    remove_variant,
    without_variants,
)
from shredlake.parquet.format.row_ranges import Range, Rows, merge_ranges
from shredlake.parquet.format.schema import ELEMENT_NUM_CHILDREN, MAX_SCHEMA_DEPTH, SchemaNode
from shredlake.parquet.format.thrift import I32, I64, Struct, read_struct
from shredlake.parquet.io.source import Source
from shredlake.parquet.nested import prune_schema

FILE_VERSION: Final = 1
ARROW_SCHEMA: Final = b"ARROW:schema"

DEPTH_LIMIT: Final = (
    {"schema_depth_limit": MAX_SCHEMA_DEPTH}
    if "schema_depth_limit" in inspect.signature(pq.ParquetFile).parameters
    else {}
)
"""The options that let pyarrow open schemas of more than 100 levels, which older releases reject."""

K = TypeVar("K")


@dataclass(frozen=True)
class PageBounds:
    """A ColumnIndex: statistics of each page, as bytes. None means unknown."""

    null_pages: Sequence[bool]
    minimums: Sequence[bytes]
    maximums: Sequence[bytes]
    null_counts: Sequence[int] | None


@dataclass(frozen=True)
class Pages:
    """The data pages of one column chunk, from its OffsetIndex."""

    dictionary: Extent | None
    extents: Sequence[Extent]
    first_rows: Sequence[int]
    row_count: int
    """The number of rows of the row group."""
    bounds: PageBounds | None = None

    def __len__(self) -> int:
        return len(self.extents)

    def rows(self, page: int) -> Range:
        """The rows of a page."""
        last = page + 1 == len(self.first_rows)
        return self.first_rows[page], self.row_count if last else self.first_rows[page + 1]

    def page_of(self, row: int) -> int:
        """The page that holds a row."""
        return bisect_right(self.first_rows, row) - 1

    def touched(self, rows: Rows) -> list[int]:
        """The pages that contain any of the rows."""
        return [page for page in range(len(self)) if rows.touch(*self.rows(page))]

    def coverage(self, pages: Sequence[int]) -> tuple[Range, ...]:
        """The rows of some pages."""
        return merge_ranges(self.rows(page) for page in pages)


def read_page_indexes(source: Source, chunks: Mapping[K, tuple[Chunk, int]]) -> dict[K, Pages | None]:
    """The page index of some column chunks, each given with its row group's rows; None if it has none.

    An index has a few hundred bytes and writers place them together, so all are fetched together.
    """
    wanted = [
        (key, extent)
        for key, (chunk, _) in chunks.items()
        for extent in (chunk.offset_index, chunk.column_index)
        if extent is not None
    ]
    parts = source.read([extent for _, extent in wanted])
    for (key, extent), data in zip(wanted, parts, strict=True):
        chunk = chunks[key][0]
        if chunk.index_sums is None:
            continue
        if zlib.crc32(data) != chunk.index_sums[extent == chunk.column_index]:
            raise InvalidFile(f"{source.name} is damaged: a page index does not match its checksum")
    try:
        trees = {place: read_struct(data) for place, data in zip(wanted, parts, strict=True)}
    except InvalidFile as error:
        raise InvalidFile(f"{source.name}: the page index is damaged. {error}") from error
    found: dict[K, Pages | None] = {}
    for key, (chunk, row_count) in chunks.items():
        offsets = None if chunk.offset_index is None else trees[key, chunk.offset_index]
        bounds = None if chunk.column_index is None else trees[key, chunk.column_index]
        found[key] = None if offsets is None else _pages(chunk, offsets, bounds, row_count)
    return found


def _pages(chunk: Chunk, offsets: Struct, bounds: Struct | None, row_count: int) -> Pages | None:
    """The pages of a chunk; None if the index contradicts the chunk and cannot be trusted."""
    locations = offsets.structs(numbers.OFFSET_INDEX_PAGES)
    extents = [
        (place.integer(numbers.PAGE_OFFSET) or 0, place.integer(numbers.PAGE_COMPRESSED_SIZE) or 0)
        for place in locations
    ]
    first_rows = [place.integer(numbers.PAGE_FIRST_ROW) or 0 for place in locations]
    if not extents:
        return None
    start, size = chunk.extent
    ordered = all(a < b for a, b in zip(first_rows, [*first_rows[1:], row_count], strict=True))
    inside = all(start <= offset and offset + length <= start + size for offset, length in extents)
    if first_rows[0] != 0 or not ordered or not inside:
        return None
    first_page = extents[0][0]
    dictionary = (start, first_page - start) if first_page > start else None
    return Pages(dictionary, extents, first_rows, row_count, _bounds(bounds, len(extents)))


def _bounds(tree: Struct | None, count: int) -> PageBounds | None:
    if tree is None:
        return None
    null_pages = [flag is True for flag in tree.sequence(numbers.COLUMN_INDEX_NULL_PAGES)]
    minimums = _binaries(tree, numbers.COLUMN_INDEX_MIN_VALUES)
    maximums = _binaries(tree, numbers.COLUMN_INDEX_MAX_VALUES)
    nulls = [n for n in tree.sequence(numbers.COLUMN_INDEX_NULL_COUNTS) if isinstance(n, int)]
    if not len(null_pages) == len(minimums) == len(maximums) == count:
        return None
    return PageBounds(null_pages, minimums, maximums, nulls if len(nulls) == count else None)


def _binaries(tree: Struct, number: int) -> list[bytes]:
    return [value for value in tree.sequence(number) if isinstance(value, bytes)]


@dataclass(frozen=True)
class PageSchema:
    """The part of a file's schema that a page file contains: some leaves and the groups above them."""

    columns: tuple[int, ...]
    """The leaves, by their position in the whole file, in order."""
    elements: tuple[Struct, ...]
    arrow: pa.Schema | None
    """The Arrow schema that the writer stored in the file, pruned; None if there is none."""

    @staticmethod
    def of(
        schema: SchemaNode, elements: Sequence[Struct], arrow: pa.Schema | None, columns: Sequence[int]
    ) -> PageSchema:
        wanted = frozenset(columns)
        kept: list[Struct] = []
        _keep(schema, elements, wanted, kept)
        return PageSchema(
            tuple(sorted(wanted)), tuple(kept), None if arrow is None else prune_schema(arrow, wanted)
        )

    def key_values(self) -> list[Struct]:
        if self.arrow is None:
            return []
        encoded = base64.b64encode(self.arrow.serialize())
        return [Struct({1: (thrift.BINARY, ARROW_SCHEMA), 2: (thrift.BINARY, encoded)})]


def _keep(node: SchemaNode, elements: Sequence[Struct], wanted: frozenset[int], kept: list[Struct]) -> bool:
    """Appends the elements of a node and of the wanted leaves below it; returns whether there were any."""
    if not node.is_group:
        if node.column in wanted:
            kept.append(elements[node.index])
        return node.column in wanted
    place = len(kept)
    group = Struct(dict(elements[node.index].fields))
    remove_variant(group)
    kept.append(group)
    count = sum(_keep(child, elements, wanted, kept) for child in node.children)
    group.set(ELEMENT_NUM_CHILDREN, I32, count)
    if not count:
        del kept[place:]
    return count > 0


@dataclass(frozen=True)
class ChosenPages:
    """Some pages of one column chunk."""

    chunk: Chunk
    pages: Pages
    chosen: tuple[int, ...]

    @property
    def extents(self) -> list[Extent]:
        """The byte ranges to fetch; adjacent pages are one range."""
        joined: list[Extent] = [self.pages.dictionary] if self.pages.dictionary else []
        for page in self.chosen:
            offset, length = self.pages.extents[page]
            if joined and sum(joined[-1]) == offset:
                joined[-1] = joined[-1][0], joined[-1][1] + length
            else:
                joined.append((offset, length))
        return joined

    @property
    def coverage(self) -> tuple[Range, ...]:
        return self.pages.coverage(self.chosen)


def open_pages(
    source: Source,
    schema: PageSchema,
    columns: Mapping[int, ChosenPages],
    *,
    repeated: frozenset[int],
    checksums: bool,
) -> pq.ParquetReader:
    """Fetches the chosen pages and opens them as a Parquet file of one row group.

    Pages of different columns hold different rows, so only columns with the same coverage are read together.
    `repeated` are the columns inside lists, where a page holds more values than rows. With `checksums`, pages
    that have a checksum are verified.
    """
    parts: list[bytes | memoryview] = [MAGIC]
    position = len(MAGIC)
    extents = [columns[column].extents for column in schema.columns]
    data = iter(source.read([extent for each in extents for extent in each]))
    chunks: list[Struct] = []
    for column, ranges in zip(schema.columns, extents, strict=True):
        size = sum(length for _, length in ranges)
        parts.extend(next(data) for _ in ranges)
        chunks.append(_chunk(columns[column], position, size, column in repeated))
        position += size
    # The row count of the whole row group is an upper bound: reading ends with a column's last page.
    row_count = max(choice.pages.row_count for choice in columns.values())
    parts.append(footer_bytes(thrift.write_struct(_footer(schema, chunks, row_count))))
    try:
        return open_reader(_joined(parts), checksums=checksums)
    except (pa.ArrowException, OSError) as error:
        raise InvalidFile(
            f"{source.name}: the page index refers to pages that can't be read: {error}"
        ) from error


def _joined(parts: Sequence[bytes | memoryview]) -> pa.Buffer:
    """The parts in Arrow's memory, which its threads can let go of at any time (see `FileView`)."""
    whole = pa.allocate_buffer(sum(map(len, parts)))
    with pa.FixedSizeBufferWriter(whole) as writer:
        for part in parts:
            writer.write(part)
    return whole


def open_reader(
    source: object,
    *,
    metadata: pq.FileMetaData | None = None,
    buffer_size: int = 0,
    dictionaries: Iterable[int] = (),
    checksums: bool = True,
) -> pq.ParquetReader:
    """Opens pyarrow's reader without `ParquetFile`, which lists all column names whenever it is opened."""
    reader = pq.ParquetReader()
    reader.open(
        source,
        metadata=metadata,
        buffer_size=buffer_size,
        pre_buffer=False,
        arrow_extensions_enabled=True,
        coerce_int96_timestamp_unit="us",  # nanoseconds end in 2262, but 9999-12-31 is common
        read_dictionary=sorted(dictionaries),
        page_checksum_verification=checksums,
        **DEPTH_LIMIT,
    )
    return reader


def open_footer(footer: Footer) -> pq.ParquetReader:
    """Opens a footer with pyarrow, with Variants as structs.

    If a program has registered an extension type for Variants, pyarrow converts annotated groups to it and
    then refuses to read some of their leaves. So the annotations are hidden from pyarrow.
    """
    seen = without_variants(footer) if is_extension_registered() else footer
    return open_reader(pa.BufferReader(MAGIC + footer_bytes(seen.raw)))


def is_extension_registered() -> bool:
    """Whether pyarrow converts a field marked as a Variant to an extension type."""
    try:
        return isinstance(pa.ipc.read_schema(_marked_schema()).field(0).type, pa.BaseExtensionType)
    except Exception:  # raised by the registered type, which expects something else
        return True


@cached(1, "marked schema")
def _marked_schema() -> pa.Buffer:
    mark = {"ARROW:extension:name": "arrow.parquet.variant", "ARROW:extension:metadata": ""}
    return pa.schema([pa.field("v", variant(), metadata=mark)]).serialize()


def _chunk(choice: ChosenPages, position: int, size: int, repeated: bool) -> Struct:
    meta = choice.chunk.meta
    dictionary = choice.pages.dictionary
    # Counting the values of a page inside lists requires decoding it; the chunk's count is an upper bound.
    values = choice.chunk.values if repeated else sum(b - a for a, b in choice.coverage)
    fields: dict[int, tuple[int, object]] = {
        number: meta.fields[number] for number in (META_TYPE, META_ENCODINGS, META_PATH, META_CODEC)
    }
    fields[numbers.META_NUM_VALUES] = (I64, values)
    fields[numbers.META_UNCOMPRESSED_SIZE] = (I64, choice.chunk.uncompressed_size)
    fields[numbers.META_COMPRESSED_SIZE] = (I64, size)
    fields[numbers.META_DATA_PAGE_OFFSET] = (I64, position + (dictionary[1] if dictionary else 0))
    if dictionary:
        fields[numbers.META_DICTIONARY_PAGE_OFFSET] = (I64, position)
    return Struct({2: (I64, 0), numbers.CHUNK_META: (thrift.STRUCT, Struct(fields))})


def _footer(schema: PageSchema, chunks: list[Struct], row_count: int) -> Struct:
    row_group = Struct(
        {
            numbers.ROW_GROUP_COLUMNS: (thrift.LIST, thrift.List(thrift.STRUCT, list(chunks))),
            numbers.ROW_GROUP_TOTAL_BYTES: (I64, 0),
            numbers.ROW_GROUP_NUM_ROWS: (I64, row_count),
        }
    )
    fields: dict[int, tuple[int, object]] = {
        FILE_VERSION: (I32, 2),
        numbers.FILE_SCHEMA: (thrift.LIST, thrift.List(thrift.STRUCT, list(schema.elements))),
        numbers.FILE_NUM_ROWS: (I64, row_count),
        numbers.FILE_ROW_GROUPS: (thrift.LIST, thrift.List(thrift.STRUCT, [row_group])),
    }
    if key_values := schema.key_values():
        fields[numbers.FILE_KEY_VALUES] = (thrift.LIST, thrift.List(thrift.STRUCT, list(key_values)))
    return Struct(fields)
