"""Rejects inconsistent footers.

pyarrow trusts a footer: if its numbers disagree, reading the metadata of a column chunk can crash the whole
process. So every footer from outside is checked before pyarrow reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from shredlake.errors import InvalidFile
from shredlake.parquet.format import footer as numbers
from shredlake.parquet.format.chunks import META_STATISTICS, META_TYPE, check_values, refuse_encrypted
from shredlake.parquet.format.footer import Footer
from shredlake.parquet.format.metadata_types import check_types
from shredlake.parquet.format.schema import PHYSICAL_TYPES, SchemaNode
from shredlake.parquet.format.thrift import Struct

CHUNK_FILE_PATH: Final = 1

# Field numbers of SizeStatistics.
UNENCODED_BYTES: Final = 1
REPETITION_HISTOGRAM: Final = 2
DEFINITION_HISTOGRAM: Final = 3

STATISTICS_BOUNDS: Final = (1, 2, 5, 6)
WIDTHS: Final = {"boolean": 1, "int32": 4, "int64": 8, "int96": 12, "float": 4, "double": 8}
"""Size of a bound in bytes, by physical type; strings have any size."""


@dataclass(frozen=True)
class Leaf:
    """A leaf of the schema with its maximum levels."""

    node: SchemaNode
    definition: int
    repetition: int


def leaves_with_levels(node: SchemaNode, definition: int = 0, repetition: int = 0) -> Iterator[Leaf]:
    """The leaves below a node, with their maximum definition and repetition levels."""
    for child in node.children:
        deeper = definition + (child.repetition != "required"), repetition + (child.repetition == "repeated")
        if child.is_group:
            yield from leaves_with_levels(child, *deeper)
        else:
            yield Leaf(child, *deeper)


def check_footer(footer: Footer, name: str) -> None:
    """Compares a footer's schema, row groups and column chunks with each other.

    >>> import io, pyarrow as pa, pyarrow.parquet as pq
    >>> from shredlake.parquet.format.footer import read_footer
    >>> sink = io.BytesIO()
    >>> pq.write_table(pa.table({"a": [1, 2]}), sink)
    >>> check_footer(read_footer(sink), "a.parquet")
    """
    try:
        check_types(footer.tree)
        leaves = tuple(leaves_with_levels(footer.schema))
        groups = footer.row_groups()
        rows = [group.integer(numbers.ROW_GROUP_NUM_ROWS) or 0 for group in groups]
        total = footer.tree.integer(numbers.FILE_NUM_ROWS)
        if total != sum(rows) or min(rows, default=0) < 0:
            raise InvalidFile(f"the footer counts {total} rows, but its row groups have {rows[:5]}")
        for index, group in enumerate(groups):
            chunks = group.structs(numbers.ROW_GROUP_COLUMNS)
            if len(chunks) != len(leaves):
                raise InvalidFile(
                    f"row group {index} has {len(chunks)} column chunks, "
                    f"but the schema has {len(leaves)} columns"
                )
            for leaf, chunk in zip(leaves, chunks, strict=True):
                _check_chunk(leaf, chunk, rows[index], footer.start, f"row group {index}, {leaf.node.dotted}")
    except InvalidFile as error:
        raise InvalidFile(f"{name}: the footer is damaged. {error}") from error


def _check_chunk(leaf: Leaf, chunk: Struct, rows: int, end: int, place: str) -> None:
    refuse_encrypted(chunk, place)
    if chunk.binary(CHUNK_FILE_PATH):
        raise InvalidFile(f"{place} refers to another file, which shredlake does not support")
    meta = chunk.struct(numbers.CHUNK_META)
    if meta is None:
        raise InvalidFile(f"{place} has no metadata")
    kind = meta.integer(META_TYPE)
    if kind is None or not 0 <= kind < len(PHYSICAL_TYPES) or PHYSICAL_TYPES[kind] != leaf.node.physical:
        raise InvalidFile(f"{place} has the type number {kind}, but the schema declares {leaf.node.physical}")
    values = meta.integer(numbers.META_NUM_VALUES)
    check_values(-1 if values is None else values, rows, repeated=leaf.repetition > 0, place=place)
    _check_extent(meta, end, place)
    _check_statistics(leaf, meta, place)
    _check_histograms(leaf, meta, place)


def _check_extent(meta: Struct, end: int, place: str) -> None:
    size = meta.integer(numbers.META_COMPRESSED_SIZE)
    start = meta.integer(numbers.META_DATA_PAGE_OFFSET)
    dictionary = meta.integer(numbers.META_DICTIONARY_PAGE_OFFSET) or 0
    first = min(start or 0, dictionary) if dictionary > 0 else start or 0
    if size is None or size < 0 or first < 0 or first + size > end:
        raise InvalidFile(f"{place} starts at {first} and has {size} bytes, but the footer starts at {end}")
    if (meta.integer(numbers.META_UNCOMPRESSED_SIZE) or 0) < 0:
        raise InvalidFile(f"{place} has a negative size")


def _check_statistics(leaf: Leaf, meta: Struct, place: str) -> None:
    statistics = meta.struct(META_STATISTICS)
    width = leaf.node.length if leaf.node.physical == "fixed_len_byte_array" else None
    width = WIDTHS.get(leaf.node.physical or "", width)
    if statistics is None or width is None:
        return
    for number in STATISTICS_BOUNDS:
        bound = statistics.binary(number)
        if bound is not None and len(bound) != width:
            raise InvalidFile(f"{place} has a bound of {len(bound)} bytes, but its values have {width}")


def _check_histograms(leaf: Leaf, meta: Struct, place: str) -> None:
    sizes = meta.struct(numbers.META_SIZE_STATISTICS)
    if sizes is None:
        return
    if UNENCODED_BYTES in sizes and leaf.node.physical != "binary":
        raise InvalidFile(f"{place} counts the bytes of strings, but holds {leaf.node.physical}")
    for number, deepest in ((REPETITION_HISTOGRAM, leaf.repetition), (DEFINITION_HISTOGRAM, leaf.definition)):
        found = len(sizes.sequence(number))
        if found not in (0, deepest + 1):
            raise InvalidFile(f"{place} has a histogram of {found} levels, but the schema has {deepest + 1}")
