"""Column chunks: offsets, sizes and statistics of one column in one row group.

A wide file has a hundred thousand column chunks, and a query needs two per row group. So the footer is
scanned once for the positions of all chunks, and each chunk is parsed on demand.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final, NoReturn

from shredlake.caches import cached
from shredlake.errors import InvalidFile
from shredlake.kernels.dispatch import dispatch
from shredlake.parquet.format import footer as numbers
from shredlake.parquet.format import thrift
from shredlake.parquet.format.footer import Extent, Footer
from shredlake.parquet.format.thrift import Reader, Struct

META_TYPE: Final = 1
META_ENCODINGS: Final = 2
META_PATH: Final = 3
META_CODEC: Final = 4
META_STATISTICS: Final = 12
META_ENCODING_STATS: Final = 13
PAGE_TYPE: Final = 1
PAGE_ENCODING: Final = 2
CHUNK_CRYPTO: Final = 8
CHUNK_ENCRYPTED_META: Final = 9
DATA_PAGE_TYPES: Final = (0, 3)
DICTIONARY_ENCODINGS: Final = (2, 8)
FILE_COLUMN_ORDERS: Final = 7
ORDER_BY_TYPE: Final = 1
SMALLEST_PAGE: Final = 15
"""The bytes of a data page's header: three numbers and a struct of four, with their fields and two ends."""


def check_values(values: int, rows: int, *, repeated: bool, place: str) -> None:
    """Raises if a chunk's number of values differs from its row group's rows; lists may have more."""
    if values < rows or (values > rows and not repeated):
        raise InvalidFile(f"{place} has {values} values, but its row group has {rows} rows")


def refuse_encrypted(chunk: Struct, place: str) -> None:
    """Raises if a column chunk is encrypted."""
    if CHUNK_CRYPTO in chunk or CHUNK_ENCRYPTED_META in chunk:
        raise InvalidFile(f"{place} is encrypted, and shredlake does not read encrypted columns")


class Chunk:
    """A column chunk. Its numbers are read at once, its tree (statistics, types) on demand."""

    def __init__(self, raw: bytes, place: int, numbers: tuple[int, ...]) -> None:
        self._raw = raw
        self.place = place
        self.index_sums: tuple[int, int] | None = None
        self.known: Struct | None = None
        """The tree, if the whole footer was parsed before."""
        (
            self.values,
            self.uncompressed_size,
            self._size,
            _,
            self._data_offset,
            _,
            self._dictionary_offset,
            *self._indexes,
            self._null_count,
            self._data_pages,
            self._unencoded,
        ) = numbers

    @cached_property
    def meta(self) -> Struct:
        meta = (self.known or Reader(self._raw, self.place).struct()).struct(numbers.CHUNK_META)
        if meta is None:
            raise InvalidFile("a column chunk has no metadata. Is the column encrypted?")
        return meta

    @property
    def statistics(self) -> Struct | None:
        return self.meta.struct(META_STATISTICS)

    @property
    def extent(self) -> Extent:
        """The byte range of the pages, with the dictionary page."""
        first, dictionary = self._data_offset, self._dictionary_offset
        return min(first, dictionary) if dictionary > 0 else first, self._size

    @property
    def null_count(self) -> int | None:
        return self._null_count if self._null_count >= 0 else None

    @property
    def is_all_null(self) -> bool:
        """Whether the statistics prove that the chunk has no values."""
        return self._null_count == self.values

    @property
    def data_pages(self) -> int | None:
        """The number of data pages according to the footer; None if it does not say, or can't be right."""
        return self._data_pages if 0 < self._data_pages <= self._size // SMALLEST_PAGE else None

    @cached_property
    def is_dictionary(self) -> bool:
        """Whether all data pages are dictionary-encoded, according to the footer."""
        if self._dictionary_offset <= 0:
            return False
        pages = [page for page in self.meta.sequence(META_ENCODING_STATS) if isinstance(page, Struct)]
        encodings = [
            page.integer(PAGE_ENCODING) for page in pages if page.integer(PAGE_TYPE) in DATA_PAGE_TYPES
        ]
        return bool(encodings) and all(encoding in DICTIONARY_ENCODINGS for encoding in encodings)

    @property
    def dictionary_size(self) -> int:
        """The compressed size of the dictionary, according to the footer; 0 without a dictionary."""
        return max(self._data_offset - self._dictionary_offset, 0) if self._dictionary_offset > 0 else 0

    @property
    def decoded_size(self) -> int:
        """The approximate size of the values in Arrow, where a dictionary entry counts once per use."""
        return max(self.uncompressed_size, max(self._unencoded, 0) + 4 * self.values)

    @property
    def index_extents(self) -> tuple[Extent | None, Extent | None]:
        """Where the offset index and the column index lie."""
        return self.offset_index, self.column_index

    @property
    def offset_index(self) -> Extent | None:
        offset, length, _, _ = self._indexes
        return (offset, length) if offset > 0 and length > 0 else None

    @property
    def column_index(self) -> Extent | None:
        _, _, offset, length = self._indexes
        return (offset, length) if offset > 0 and length > 0 else None


class Chunks:
    """The column chunks of a file, the rows of each row group, and the schema they follow."""

    def __init__(self, footer: Footer, name: str) -> None:
        found = dispatch("footer_places").footer_places(footer.raw)
        if found is None:
            raise InvalidFile(f"{name}: its footer is malformed")
        self.row_counts: list[int] = found[1]
        self._fields: dict[int, int] = found[0]
        self._places: list[list[int]] = found[2]
        self._raw = footer.raw
        self._parsed: dict[tuple[int, int], Chunk] = {}
        self._repeated: frozenset[int] | None = None
        self._seal = footer.seal
        self._groups = None if footer.parsed is None else _chunk_trees(footer)
        if min(self.row_counts, default=0) < 0:
            raise InvalidFile(f"{name}: the footer is damaged: a row group has {min(self.row_counts)} rows")

    def compare(self, columns: int, repeated: frozenset[int]) -> None:
        """Raises if row groups contradict the schema by their number of columns or of rows.

        One column of each row group is checked here, the others when they are read.
        """
        self._repeated = repeated
        for group, places in enumerate(self._places):
            if len(places) != columns:
                raise InvalidFile(f"row group {group} has {len(places)} column chunks, not {columns}")
            if columns:
                self.chunk(group, next((at for at in range(columns) if at not in repeated), 0))

    def __len__(self) -> int:
        return len(self._places)

    def all(self) -> Iterator[Chunk]:
        """Every chunk, row group by row group."""
        for group, places in enumerate(self._places):
            for column in range(len(places)):
                yield self.chunk(group, column)

    @property
    def size(self) -> int:
        """Bytes of the footer."""
        return len(self._raw)

    def chunk(self, row_group: int, column: int) -> Chunk:
        key = row_group, column
        if key not in self._parsed:
            places = self._places[row_group]
            if column >= len(places):
                raise InvalidFile(f"row group {row_group} has {len(places)} columns, but the schema has more")
            found = dispatch("footer_places").chunk_numbers(self._raw, places[column])
            place = f"row group {row_group}, column {column}"
            if found is None or found[0] < 0:
                self._refuse(places[column], place)
            if self._repeated is not None:
                check_values(
                    found[0], self.row_counts[row_group], repeated=column in self._repeated, place=place
                )
            self._parsed[key] = chunk = Chunk(self._raw, places[column], found)
            if self._groups is not None:
                chunk.known = self._groups[row_group][column]
            if self._seal is not None:
                chunk.index_sums = self._seal.of(row_group * len(places) + column)
        return self._parsed[key]

    def _refuse(self, position: int, place: str) -> NoReturn:
        refuse_encrypted(Reader(self._raw, position).struct(), place)
        raise InvalidFile(f"{place} has no readable metadata")

    @property
    def schema(self) -> bytes:
        """The list of schema elements, as serialised in the footer."""
        return self._field(numbers.FILE_SCHEMA)

    def ordered_by_type(self, column: int) -> bool:
        """Whether min_value and max_value follow the order that the format defines for the column's type."""
        return column < len(self._orders) and ORDER_BY_TYPE in self._orders[column]

    @cached_property
    def _orders(self) -> tuple[Struct, ...]:
        raw = self._field(FILE_COLUMN_ORDERS)
        return _column_orders(raw) if raw else ()

    def _field(self, number: int) -> bytes:
        """A field of the footer as serialised, possibly followed by other bytes."""
        start = self._fields.get(number)
        if start is None:
            return b""
        after = [place for place in self._fields.values() if place > start]
        return self._raw[start : min(after, default=None)]


def _chunk_trees(footer: Footer) -> list[list[Struct]]:
    return [group.structs(numbers.ROW_GROUP_COLUMNS) for group in footer.row_groups()]


@cached(64, "column orders")
def _column_orders(raw: bytes) -> tuple[Struct, ...]:
    """The order of each column; the files of a table share one list."""
    value = Reader(raw, 0).value(thrift.LIST)
    items = value.items if isinstance(value, thrift.List) else []
    return tuple(item for item in items if isinstance(item, Struct))
