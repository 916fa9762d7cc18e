"""What the footer says of one column in one row group: places, sizes, statistics.

A wide file has a hundred thousand column chunks and a query wants two of each row group, so the footer is
walked once for the places of all chunks, and a chunk is parsed when somebody asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from shredlake.errors import InvalidFile
from shredlake.kernels.compiled import engine
from shredlake.parquet import footer as numbers
from shredlake.parquet import thrift
from shredlake.parquet.footer import Footer
from shredlake.parquet.source import Extent
from shredlake.parquet.thrift import Reader, Struct

META_TYPE: Final = 1
META_ENCODINGS: Final = 2
META_PATH: Final = 3
META_CODEC: Final = 4
META_STATISTICS: Final = 12
META_ENCODING_STATS: Final = 13
META_SIZE_STATISTICS: Final = 16
STATISTICS_NULL_COUNT: Final = 3
FILE_COLUMN_ORDERS: Final = 7
ORDER_BY_TYPE: Final = 1
DATA_PAGE_TYPES: Final = (0, 3)


@dataclass(frozen=True)
class Chunk:
    """A column chunk."""

    tree: Struct

    @cached_property
    def meta(self) -> Struct:
        meta = self.tree.struct(numbers.CHUNK_META)
        if meta is None:
            raise InvalidFile("a column chunk without metadata: is the column encrypted?")
        return meta

    @property
    def values(self) -> int:
        """Values and nulls; for a column outside lists, the rows."""
        return self.meta.integer(numbers.META_NUM_VALUES) or 0

    @property
    def extent(self) -> Extent:
        """Where the pages lie, the dictionary's included."""
        first = self.meta.integer(numbers.META_DATA_PAGE_OFFSET) or 0
        dictionary = self.meta.integer(numbers.META_DICTIONARY_PAGE_OFFSET)
        start = min(first, dictionary) if dictionary else first
        return start, self.meta.integer(numbers.META_COMPRESSED_SIZE) or 0

    @property
    def uncompressed_size(self) -> int:
        return self.meta.integer(numbers.META_UNCOMPRESSED_SIZE) or 0

    @property
    def statistics(self) -> Struct | None:
        return self.meta.struct(META_STATISTICS)

    @cached_property
    def is_all_null(self) -> bool:
        """Whether the statistics prove that there is no value in the chunk."""
        found = self.statistics
        return found is not None and found.integer(STATISTICS_NULL_COUNT) == self.values

    @property
    def data_pages(self) -> int | None:
        """How many data pages the footer counts; None where it does not."""
        counts = (
            stats.integer(3) or 0
            for stats in self.meta.structs(META_ENCODING_STATS)
            if stats.integer(1) in DATA_PAGE_TYPES
        )
        return sum(counts) or None

    @property
    def decoded_size(self) -> int:
        """About how many bytes the values take in Arrow, where a dictionary's entry counts at each use."""
        sizes = self.meta.struct(META_SIZE_STATISTICS)
        unencoded = None if sizes is None else sizes.integer(1)
        return max(self.uncompressed_size, (unencoded or 0) + 4 * self.values)

    @property
    def offset_index(self) -> Extent | None:
        return self._index(numbers.CHUNK_OFFSET_INDEX_OFFSET, numbers.CHUNK_OFFSET_INDEX_LENGTH)

    @property
    def column_index(self) -> Extent | None:
        return self._index(numbers.CHUNK_COLUMN_INDEX_OFFSET, numbers.CHUNK_COLUMN_INDEX_LENGTH)

    def _index(self, offset: int, length: int) -> Extent | None:
        place = self.tree.integer(offset), self.tree.integer(length)
        return (place[0], place[1]) if place[0] and place[1] else None


class Chunks:
    """The column chunks of a file, the rows of each row group, and the schema they follow."""

    def __init__(self, footer: Footer, name: str) -> None:
        found = engine("footer_places").footer_places(footer.raw)
        if found is None:
            raise InvalidFile(f"{name}: its footer is malformed")
        self.row_counts: list[int] = found[1]
        self._fields: dict[int, int] = found[0]
        self._places: list[list[int]] = found[2]
        self._raw = footer.raw
        self._parsed: dict[tuple[int, int], Chunk] = {}

    def __len__(self) -> int:
        return len(self._places)

    def chunk(self, row_group: int, column: int) -> Chunk:
        key = row_group, column
        if key not in self._parsed:
            places = self._places[row_group]
            if column >= len(places):
                raise InvalidFile(f"row group {row_group} has {len(places)} columns, the schema has more")
            self._parsed[key] = Chunk(Reader(self._raw, places[column]).struct())
        return self._parsed[key]

    @cached_property
    def elements(self) -> list[Struct]:
        """The schema's elements, flat, parents first."""
        return self._structs(numbers.FILE_SCHEMA)

    def ordered_by_type(self, column: int) -> bool:
        """Whether min_value and max_value follow the order that the format defines for the column's type."""
        return column < len(self._orders) and ORDER_BY_TYPE in self._orders[column]

    @cached_property
    def _orders(self) -> list[Struct]:
        return self._structs(FILE_COLUMN_ORDERS)

    def _structs(self, number: int) -> list[Struct]:
        if number not in self._fields:
            return []
        value = Reader(self._raw, self._fields[number]).value(thrift.LIST)
        items = value.items if isinstance(value, thrift.List) else []
        return [item for item in items if isinstance(item, Struct)]
