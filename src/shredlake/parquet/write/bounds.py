"""Drops min/max statistics of binary Variant columns, which readers cannot use.

The format does not define an order of Variants, so readers cannot skip by the bounds of `metadata` and
`value`. Their null counts stay, which tell whether `value` holds anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from shredlake.parquet.format.chunks import META_STATISTICS, Chunks
from shredlake.parquet.format.footer import CHUNK_META, Footer
from shredlake.parquet.format.thrift import Reader, Writer
from shredlake.parquet.variant_columns import VariantColumn

BOUNDS: Final = (1, 2, 5, 6, 7, 8)
"""Fields of Statistics: max, min, max_value, min_value, and whether those two are exact."""


def binary_leaves(columns: Iterable[VariantColumn]) -> Iterator[int]:
    """The leaf columns that hold binary Variants or their metadata."""
    for column in columns:
        for leaf in (column.metadata, *(level.value for level in column.levels())):
            if leaf is not None and leaf.column is not None:
                yield leaf.column


def without_bounds(footer: Footer, leaves: Iterable[int], name: str = "the file") -> Footer:
    """Removes the bounds of these leaf columns; every other byte of the footer stays the same."""
    chunks, wanted = Chunks(footer, name), sorted(leaves)
    parts: list[bytes] = []
    copied = 0
    for group in range(len(chunks)):
        for leaf in wanted:
            chunk = chunks.chunk(group, leaf)
            if chunk.is_all_null:
                continue  # has no statistics, and so no bounds
            reader = Reader(footer.raw, chunk.place)
            tree = reader.struct()
            meta = tree.struct(CHUNK_META)
            statistics = meta.struct(META_STATISTICS) if meta else None
            if statistics is None:
                continue
            for number in BOUNDS:
                statistics.remove(number)
            writer = Writer()
            writer.struct(tree)
            parts += [footer.raw[copied : chunk.place], bytes(writer.data)]
            copied = reader.position
    return Footer(b"".join([*parts, footer.raw[copied:]]), footer.start, footer.schema)
