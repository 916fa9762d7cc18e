"""Finds and parses a Parquet file's footer, and adds the VARIANT annotation that pyarrow omits.

```
PAR1  row groups  [bloom filters]  [page index]  footer  length (4, little-endian)  PAR1
                                                 └─ FileMetaData, Thrift compact
```

The footer is at the end of a file and no offset points into it, so a longer footer shifts no offset.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO, Final, TypeAlias

from shredlake.errors import InvalidFile
from shredlake.parquet.format import thrift
from shredlake.parquet.format.schema import (
    ELEMENT_CONVERTED_TYPE,
    ELEMENT_LOGICAL_TYPE,
    LOGICAL_TIMESTAMP,
    LOGICAL_VARIANT,
    SchemaNode,
    schema_tree,
)
from shredlake.parquet.format.seal import Seal
from shredlake.parquet.format.thrift import Reader, Struct, Writer

Extent: TypeAlias = tuple[int, int]
"""Offset and length of a range of bytes."""

MAGIC: Final = b"PAR1"
ENCRYPTED_MAGIC: Final = b"PARE"
TAIL: Final = 8  # length and magic
VARIANT_VERSION: Final = 1

# Field numbers of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData.
FILE_SCHEMA: Final = 2
FILE_NUM_ROWS: Final = 3
FILE_ROW_GROUPS: Final = 4
FILE_KEY_VALUES: Final = 5
FILE_CREATED_BY: Final = 6

ROW_GROUP_COLUMNS: Final = 1
ROW_GROUP_TOTAL_BYTES: Final = 2
ROW_GROUP_NUM_ROWS: Final = 3

CHUNK_META: Final = 3

META_NUM_VALUES: Final = 5
META_UNCOMPRESSED_SIZE: Final = 6
META_COMPRESSED_SIZE: Final = 7
META_DATA_PAGE_OFFSET: Final = 9
META_DICTIONARY_PAGE_OFFSET: Final = 11
META_SIZE_STATISTICS: Final = 16

# Page index: one ColumnIndex and one OffsetIndex per column chunk.
COLUMN_INDEX_NULL_PAGES: Final = 1
COLUMN_INDEX_MIN_VALUES: Final = 2
COLUMN_INDEX_MAX_VALUES: Final = 3
COLUMN_INDEX_NULL_COUNTS: Final = 5

OFFSET_INDEX_PAGES: Final = 1
PAGE_OFFSET: Final = 1
PAGE_COMPRESSED_SIZE: Final = 2
PAGE_FIRST_ROW: Final = 3


@dataclass(frozen=True)
class Footer:
    """A footer's bytes, and their offset in the file."""

    raw: bytes
    start: int
    known_schema: SchemaNode | None = field(default=None, compare=False, repr=False)
    """The schema, if it was parsed before, since parsing that of a wide file is slow."""
    seal: Seal | None = field(default=None, compare=False, repr=False)
    """Checksums of the page indexes, where the footer was compared with its own."""

    @cached_property
    def schema(self) -> SchemaNode:
        """The schema tree; cheap, because nothing else is parsed."""
        return self.known_schema or schema_tree(_schema_elements(self.raw)[0])

    @cached_property
    def tree(self) -> Struct:
        """The whole FileMetaData: all row groups and column chunks, with offsets of their page indexes."""
        return thrift.read_struct(self.raw)

    @property
    def parsed(self) -> Struct | None:
        """The whole FileMetaData if it was parsed before."""
        return self.__dict__.get("tree")

    def row_groups(self) -> list[Struct]:
        return self.tree.structs(FILE_ROW_GROUPS)


def read_footer(file: IO[bytes], name: str = "the file") -> Footer:
    """Reads the footer of an open, seekable file.

    >>> import io, pyarrow as pa, pyarrow.parquet as pq
    >>> sink = io.BytesIO()
    >>> pq.write_table(pa.table({"a": [1, 2]}), sink)
    >>> print(read_footer(sink).schema)
    required group schema {
      optional int64 a;
    }
    """
    file.seek(0, os.SEEK_END)
    size = file.tell()
    if size < 2 * len(MAGIC) + 4:
        raise InvalidFile(f"{name} is not a Parquet file: it has {size} bytes")
    file.seek(size - TAIL)
    length = footer_length(file.read(TAIL), size, name)
    start = size - TAIL - length
    file.seek(start)
    return Footer(file.read(length), start)


def footer_length(tail: bytes, size: int, name: str = "the file") -> int:
    """The footer's length, from the last 8 bytes of a file of `size` bytes."""
    magic = tail[-4:]
    if magic == ENCRYPTED_MAGIC:
        raise InvalidFile(f"{name} has an encrypted footer, which shredlake does not read")
    if magic != MAGIC:
        raise InvalidFile(f"{name} is not a Parquet file: it ends in {magic!r}, not {MAGIC!r}")
    length = int.from_bytes(tail[-8:-4], "little")
    if length > size - TAIL - len(MAGIC):
        raise InvalidFile(f"{name} is truncated: its footer has {length} bytes, but the file has {size}")
    return length


def footer_bytes(raw: bytes) -> bytes:
    """A footer as written at the end of a file, followed by its length and the magic number."""
    return raw + len(raw).to_bytes(4, "little") + MAGIC


def annotate(footer: Footer, groups: Iterable[tuple[str, ...]]) -> Footer:
    """Annotates each of these groups as VARIANT(1); every other byte stays the same.

    A group is given by the names on its path, without the root. Timestamps without a zone also get the old
    converted type, which the format requires and pyarrow omits.
    """
    raw = footer.raw
    elements, start, end = _schema_elements(raw)
    tree = schema_tree(elements)
    for path in groups:
        logical = Struct()
        logical.set(1, thrift.I8, VARIANT_VERSION)
        union = Struct({LOGICAL_VARIANT: (thrift.STRUCT, logical)})
        elements[tree.find(path).index].set(ELEMENT_LOGICAL_TYPE, thrift.STRUCT, union)
    for element in elements:
        _add_converted_timestamp(element)
    writer = Writer()
    writer.value(thrift.LIST, thrift.List(thrift.STRUCT, list(elements)))
    return Footer(raw[:start] + bytes(writer.data) + raw[end:], footer.start, schema_tree(elements))


def without_variants(footer: Footer) -> Footer:
    """Removes all VARIANT annotations; every other byte stays the same."""
    elements, start, end = _schema_elements(footer.raw)
    for element in elements:
        remove_variant(element)
    writer = Writer()
    writer.value(thrift.LIST, thrift.List(thrift.STRUCT, list(elements)))
    return Footer(footer.raw[:start] + bytes(writer.data) + footer.raw[end:], footer.start)


def remove_variant(element: Struct) -> None:
    """Turns an annotated schema element into a plain group."""
    logical = element.struct(ELEMENT_LOGICAL_TYPE)
    if logical is not None and LOGICAL_VARIANT in logical:
        element.remove(ELEMENT_LOGICAL_TYPE)


CONVERTED_TIMESTAMP: Final = {1: 9, 2: 10}
"""TimeUnit (millis, micros) to the converted type. Nanos do not have one."""


def _add_converted_timestamp(element: Struct) -> None:
    logical = element.struct(ELEMENT_LOGICAL_TYPE)
    timestamp = logical.struct(LOGICAL_TIMESTAMP) if logical else None
    unit = timestamp.struct(2) if timestamp else None
    if unit is None or ELEMENT_CONVERTED_TYPE in element:
        return
    for number, converted in CONVERTED_TIMESTAMP.items():
        if number in unit:
            element.set(ELEMENT_CONVERTED_TYPE, thrift.I32, converted)


def _schema_elements(raw: bytes) -> tuple[list[Struct], int, int]:
    """The schema elements, and the start and end of their list. The bytes after it are not parsed."""
    reader = Reader(raw)
    for number, kind in reader.field_headers():
        start = reader.position
        value = reader.field_value(kind)
        if number == FILE_SCHEMA and isinstance(value, thrift.List):
            elements = [element for element in value.items if isinstance(element, Struct)]
            return elements, start, reader.position
    raise InvalidFile("the Parquet footer has no schema")
