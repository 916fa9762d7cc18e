"""Counts the values of each level of a Variant column, from the footer if possible, otherwise from rows.

```
count                        in the footer
places of the root           non-null values of `metadata`
places of a field            the objects around it: the parent's typed
places of an element         histogram of definition levels: entries that reach the list's elements
residual, typed scalar       null counts of `value`, `typed_value`
typed object, typed array    histograms of a leaf inside: its entries less those cut off above the group
null                         `value` = 00: none if the smallest value is larger, all if the largest is 00
partial                      root: typed + residual - places, since nothing is missing there
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shredlake.parquet.entries import Entries, groups_in
from shredlake.parquet.format.chunks import Chunk, Chunks
from shredlake.parquet.format.footer import META_SIZE_STATISTICS, Footer
from shredlake.parquet.format.schema import SchemaNode
from shredlake.parquet.io.source import Source
from shredlake.parquet.read.stream import BATCH_ROWS, batches
from shredlake.parquet.variant_columns import Level, VariantColumn
from shredlake.shredding.schema import ARRAY_ELEMENT, Object

VARIANT_NULL: Final = b"\x00"

# Field numbers of SizeStatistics and Statistics.
REPETITION_HISTOGRAM: Final = 2
DEFINITION_HISTOGRAM: Final = 3
NULL_COUNT: Final = 3
MAX_VALUE: Final = 5
MIN_VALUE: Final = 6


@dataclass(frozen=True)
class LevelCounts:
    """Counts of one level."""

    places: int
    typed: int
    residual: int
    """The number of entries with a `value`, including Variant nulls and partly shredded objects."""
    null: int
    partial: int


Key: TypeAlias = tuple[str, str]
"""A column's name, and the path of a level."""

Known: TypeAlias = dict[Key, dict[str, int]]
"""The counts known so far, by level."""


def count_levels(
    source: Source,
    file: pq.ParquetFile,
    footer: Footer,
    columns: Sequence[VariantColumn],
    progress: Callable[[int, int], None] | None = None,
) -> dict[Key, LevelCounts]:
    """The counts of every level."""
    chunks = Chunks(footer, source.name)
    known: Known = {}
    for column in columns:
        counter = FooterCounts(footer.schema, chunks, column)
        known |= {(column.name, level.path): counter.level(level) for level in column.levels()}
    _derive(columns, known)
    _count_rows(source, file, columns, known, progress)
    _derive(columns, known)
    return {key: LevelCounts(**counts) for key, counts in known.items()}


def _derive(columns: Sequence[VariantColumn], known: Known) -> None:
    """Derives counts from others: a field has as many places as there are objects around it."""
    for column in columns:
        root = known[column.name, column.root.path]
        if "partial" not in root and {"places", "typed", "residual"} <= root.keys():
            root["partial"] = max(root["typed"] + root["residual"] - root["places"], 0)
        for level in column.levels():
            counts = known[column.name, level.path]
            for field in level.fields.values():
                if "typed" in counts:
                    known[column.name, field.path]["places"] = counts["typed"]


def _count_rows(
    source: Source,
    file: pq.ParquetFile,
    columns: Sequence[VariantColumn],
    known: Known,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Reads as few columns as needed for the counts that the footer lacks."""
    wanted: Known = {}
    leaves = set()
    for column in columns:
        for level in column.levels():
            key = column.name, level.path
            unknown = ROW_COUNTS.keys() - known[key].keys()
            if _is_field(level):
                unknown -= {"places"}  # derived from the number of objects around it
            if unknown:
                wanted[key] = dict.fromkeys(unknown, 0)
                leaves |= {leaf.dotted for leaf in _leaves_for(column, level, unknown, file)}
    if not wanted:
        return
    reading = [column for column in columns if any(name == column.name for name, _ in wanted)]
    for first_row, batch in batches(source, file, sorted(leaves), BATCH_ROWS):
        for column in reading:
            variants, place = groups_in(batch, column.group.path, first_row)
            for entries in Entries(column.root, variants, place, pc.is_valid(variants)).walk():
                sums = wanted.get((column.name, entries.level.path), {})
                for name in sums:
                    sums[name] += pc.sum(ROW_COUNTS[name](entries)).as_py() or 0
        if progress is not None:
            progress(first_row + batch.num_rows, file.metadata.num_rows)
    for key, sums in wanted.items():
        known[key] |= sums


def _variant_nulls(entries: Entries) -> pa.Array:
    value = entries.part("value")
    if value is None:
        return entries.has("value")
    is_null = pc.equal(value, pa.scalar(VARIANT_NULL, value.type)).fill_null(False)
    return pc.and_(entries.has("value"), is_null)


ROW_COUNTS: Final[dict[str, Callable[[Entries], pa.Array]]] = {
    "places": lambda entries: entries.active,
    "typed": lambda entries: entries.has("typed_value"),
    "residual": lambda entries: entries.has("value"),
    "null": _variant_nulls,
    "partial": lambda entries: pc.and_(entries.has("value"), entries.has("typed_value")),
}
"""For each count, a function that marks the entries it counts."""


def _is_field(level: Level) -> bool:
    return bool(level.steps) and level.steps[-1] is not ARRAY_ELEMENT


def _leaves_for(
    column: VariantColumn, level: Level, unknown: Set[str], file: pq.ParquetFile
) -> Iterator[SchemaNode]:
    """The columns to read for these counts of a level; below a group, the smallest one is enough."""
    if level.value is not None and unknown & {"residual", "null", "partial"}:
        yield level.value
    if level.typed is not None and unknown & {"typed", "partial"}:
        yield _smallest(level.typed, file)
    if "places" in unknown:
        part = level.value or level.typed
        yield column.metadata if not level.steps or part is None else _smallest(part, file)


def _smallest(node: SchemaNode, file: pq.ParquetFile) -> SchemaNode:
    metadata = file.metadata

    def size(leaf: SchemaNode) -> int:
        chunks = (metadata.row_group(group).column(leaf.column) for group in range(metadata.num_row_groups))
        return sum(chunk.total_compressed_size for chunk in chunks)

    return min(node.leaves(), key=size)


class FooterCounts:
    """The counts that the footer gives for one column."""

    def __init__(self, schema: SchemaNode, chunks: Chunks, column: VariantColumn) -> None:
        self.schema = schema
        self.chunks = chunks
        self.column = column

    def level(self, level: Level) -> dict[str, int]:
        """The counts of a level that the footer gives."""
        residual = 0 if level.value is None else self.values(level.value)
        whole = level.typed is None or not isinstance(level.node, Object) or residual == 0
        counts = {
            "places": self.places(level),
            "typed": self.typed(level),
            "residual": residual,
            "null": self.nulls(level.value) if residual else residual,
            "partial": 0 if whole else None,
        }
        return {name: count for name, count in counts.items() if count is not None}

    def places(self, level: Level) -> int | None:
        if not level.steps:
            return self.values(self.column.metadata)
        parent = self.column.level(level.steps[:-1])
        if parent is None or parent.typed is None or parent.element is None:
            return None
        definition, _ = self.depth(parent.typed)
        return self.total(
            self.leaf_within(parent.typed, repeated=1),
            lambda chunk: _sum(_histogram(chunk, DEFINITION_HISTOGRAM), definition + 1, None),
        )

    def typed(self, level: Level) -> int | None:
        if level.typed is None:
            return 0
        return self.groups(level.typed) if level.typed.is_group else self.values(level.typed)

    def groups(self, group: SchemaNode) -> int | None:
        """The number of rows in which an optional group is present."""
        definition, repetition = self.depth(group)

        def objects(chunk: Chunk) -> int | None:
            return _sum(_histogram(chunk, DEFINITION_HISTOGRAM), definition, None)

        def lists(chunk: Chunk) -> int | None:
            starts = _sum(_histogram(chunk, REPETITION_HISTOGRAM), 0, repetition + 1)
            absent = _sum(_histogram(chunk, DEFINITION_HISTOGRAM), 0, definition)
            return None if starts is None or absent is None else starts - absent

        if group.annotation is None:
            return self.total(self.leaf_within(group, repeated=0), objects)
        return self.total(self.leaf_within(group, repeated=1), lists)

    def objects_in_every_row(self) -> frozenset[str]:
        """The paths of the objects that are present, as objects, in every row."""
        rows = sum(self.chunks.row_counts)
        return frozenset(
            level.path
            for level in self.column.levels()
            if level.fields and level.typed is not None and self.depth(level.typed)[1] == 0
            if self.groups(level.typed) == rows
        )

    def values(self, leaf: SchemaNode) -> int | None:
        """The non-null values of a leaf."""

        def present(chunk: Chunk) -> int | None:
            nulls = None if chunk.statistics is None else chunk.statistics.integer(NULL_COUNT)
            return None if nulls is None else chunk.values - nulls

        return self.total(leaf, present)

    def nulls(self, value: SchemaNode | None) -> int | None:
        """The number of Variant nulls in a `value` column, if the bounds determine it."""

        def nulls(chunk: Chunk) -> int | None:
            found = chunk.statistics
            count = None if found is None else found.integer(NULL_COUNT)
            if found is None or count is None:
                return None
            if count == chunk.values:
                return 0
            low, high = found.binary(MIN_VALUE), found.binary(MAX_VALUE)
            if low is None or high is None or low == VARIANT_NULL != high:
                return None
            return chunk.values - count if high == VARIANT_NULL else 0

        return self.total(value, nulls)

    def total(self, leaf: SchemaNode | None, count: Callable[[Chunk], int | None]) -> int | None:
        if leaf is None or leaf.column is None:
            return None
        total = 0
        for row_group in range(len(self.chunks)):
            chunk = self.chunks.chunk(row_group, leaf.column)
            found = count(chunk) if chunk.values else 0
            if found is None:
                return None
            total += found
        return total

    def leaf_within(self, group: SchemaNode, repeated: int) -> SchemaNode | None:
        """A leaf below the group with `repeated` lists in between."""
        wanted = self.depth(group)[1] + repeated
        return next((leaf for leaf in group.leaves() if self.depth(leaf)[1] == wanted), None)

    def depth(self, node: SchemaNode) -> tuple[int, int]:
        """The definition and repetition level of a node."""
        return self._depths[node.path]

    @cached_property
    def _depths(self) -> dict[tuple[str, ...], tuple[int, int]]:
        found: dict[tuple[str, ...], tuple[int, int]] = {}

        def visit(node: SchemaNode, definition: int, repetition: int) -> None:
            definition += node.repetition != "required"
            repetition += node.repetition == "repeated"
            found[node.path] = definition, repetition
            for child in node.children:
                visit(child, definition, repetition)

        for column in self.schema.children:
            if column.name == self.column.group.path[0]:
                visit(column, 0, 0)
        return found


def _histogram(chunk: Chunk, number: int) -> list[int] | None:
    sizes = chunk.meta.struct(META_SIZE_STATISTICS)
    return None if sizes is None else [item for item in sizes.sequence(number) if isinstance(item, int)]


def _sum(histogram: list[int] | None, start: int, end: int | None) -> int | None:
    return sum(histogram[start:end]) if histogram else None
