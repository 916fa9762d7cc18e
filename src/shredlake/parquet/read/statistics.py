"""Statistics for pruning: of row groups from the footer, of pages from the page index.

A bound that cannot be trusted is null, which means unknown. A path's bounds are those of its typed leaf,
provided that the leaf's own `value` is all null: a string "123" in it may match `= 123`.

| found | taken as |
|---|---|
| `min_value`, `max_value` in the order of the type | bounds, even if truncated: writers round outward |
| the same, order not declared or unknown; INT96 | unknown |
| old `min`, `max` | bounds for signed integers, dates and times; unknown for bytes and floats |
| a float bound that is NaN | unknown; any page of floats may also hold NaN |
| a float bound of 0.0 | fine either way: -0.0 = 0.0 |
| a string truncated inside a character | shortened to whole characters as a minimum, unknown as a maximum |
| a page of nulls only | no bounds, null count = rows |
| null count missing | unknown, and the residual may hold anything |
"""

from __future__ import annotations

import decimal
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import pyarrow as pa

from shredlake.expr.ast import Column, Get
from shredlake.expr.prune import Bounds
from shredlake.parquet.format.chunks import Chunk, Chunks
from shredlake.parquet.format.row_ranges import Range
from shredlake.parquet.format.schema import SchemaNode
from shredlake.parquet.read.access import Access
from shredlake.parquet.read.pages import Pages

# Field numbers of Statistics.
OLD_MAX: Final = 1
OLD_MIN: Final = 2
MAX_VALUE: Final = 5
MIN_VALUE: Final = 6


Leaves: TypeAlias = tuple[int | None, frozenset[int], bool]
"""The bounds of a reference depend on its own leaf, its residuals, and whether it has any columns."""

Extreme = Literal["min", "max"]
IS_EXACT: Final[Mapping[Extreme, int]] = {"max": 7, "min": 8}
"""The field that tells whether a bound is a value that occurs."""


@dataclass(frozen=True)
class Facts:
    """Statistics of one column in one container; None means unknown."""

    minimum: bytes | None = None
    maximum: bytes | None = None
    null_count: int | None = None
    row_count: int | None = None

    @property
    def all_null(self) -> bool:
        return self.null_count is not None and self.null_count == self.row_count


def chunk_facts(chunk: Chunk, leaf: SchemaNode, ordered: bool) -> Facts:
    """The footer's statistics of a column chunk."""
    found = chunk.statistics
    if found is None:
        return Facts(row_count=chunk.values)
    minimum = maximum = None
    if ordered:
        minimum, maximum = found.binary(MIN_VALUE), found.binary(MAX_VALUE)
    if minimum is None and maximum is None and _signed(leaf):
        minimum, maximum = found.binary(OLD_MIN), found.binary(OLD_MAX)
    return Facts(minimum, maximum, chunk.null_count, chunk.values)


def is_exact(chunk: Chunk, which: Extreme) -> bool:
    """Whether a bound of numbers occurs in the chunk: unless the footer denies it."""
    found = chunk.statistics
    return found is not None and found.get(IS_EXACT[which]) is not False


def page_facts(pages: Pages, page: int, ordered: bool) -> Facts:
    """The page index's statistics of a data page."""
    first, last = pages.rows(page)
    rows = last - first
    bounds = pages.bounds
    if bounds is None:
        return Facts(row_count=rows)
    if bounds.null_pages[page]:
        return Facts(None, None, rows, rows)
    nulls = bounds.null_counts[page] if bounds.null_counts else None
    if nulls is not None and nulls >= rows:
        nulls = None  # inside lists a page has more values than rows, so some values may not be null
    if not ordered:
        return Facts(None, None, nulls, rows)
    return Facts(bounds.minimums[page], bounds.maximums[page], nulls, rows)


@dataclass(frozen=True)
class Statistics:
    """Statistics over N containers, by leaf column: the `StatsSource` of row groups and pages."""

    length: int
    facts: Callable[[int], Sequence[Facts] | None]
    """The facts of a column in each container; None if nothing is known."""
    accesses: Mapping[Column | Get, Access | None]
    types: Sequence[pa.DataType]
    """The Arrow type of each leaf."""
    row_counts: Sequence[int]
    known: dict[Leaves, Bounds | None] = field(default_factory=dict)
    """The bounds asked for so far."""

    def bounds(self, reference: Column | Get) -> Bounds | None:
        access = self.accesses.get(reference)
        if access is None:
            return None
        leaf = None if access.leaf is None else access.leaf.column
        leaves = (leaf, access.residuals, bool(access.columns))
        if leaves not in self.known:
            self.known[leaves] = self._bounds(access)
        return self.known[leaves]

    def _bounds(self, access: Access) -> Bounds | None:
        clean = self._clean(access)
        if access.leaf is not None and access.leaf.column is not None:
            facts = self.facts(access.leaf.column)
            if facts is None:
                return None
            known = [fact if sure else Facts() for fact, sure in zip(facts, clean, strict=True)]
            return to_bounds(known, access.leaf, self.types[access.leaf.column])
        if access.columns:
            return None
        # The path is only in residuals: if they are empty, it is null.
        nulls = [rows if sure else None for rows, sure in zip(self.row_counts, clean, strict=True)]
        counts = pa.array(nulls, pa.int64())
        unknown = pa.nulls(self.length)
        return Bounds(unknown, unknown, counts, counts)

    def _clean(self, access: Access) -> list[bool]:
        """Where all residuals of a reference are empty."""
        clean = [True] * self.length
        for column in access.residuals:
            facts = self.facts(column) or [Facts()] * self.length
            clean = [sure and fact.all_null for sure, fact in zip(clean, facts, strict=True)]
        return clean


def row_group_statistics(
    chunks: Chunks,
    leaves: Mapping[int, SchemaNode],
    types: Sequence[pa.DataType],
    accesses: Mapping[Column | Get, Access | None],
    known: dict[Leaves, Bounds | None],
) -> Statistics:
    """Statistics of every row group of a file. `known` keeps the bounds for later queries of the file."""

    def facts(column: int) -> list[Facts]:
        ordered = chunks.ordered_by_type(column)
        return [
            chunk_facts(chunks.chunk(group, column), leaves[column], ordered) for group in range(len(chunks))
        ]

    return Statistics(len(chunks), facts, accesses, types, chunks.row_counts, known)


def page_statistics(
    segments: Sequence[Range],
    pages: Mapping[int, Pages | None],
    whole: Mapping[int, Facts],
    ordered: Callable[[int], bool],
    types: Sequence[pa.DataType],
    accesses: Mapping[Column | Get, Access | None],
) -> Statistics:
    """Statistics of segments, which are ranges of rows that no page boundary of any requested column cuts.

    For a column without a page index, the statistics of its row group (`whole`) hold for each segment.
    """

    def facts(column: int) -> list[Facts] | None:
        index = pages.get(column)
        if index is None:
            fact = whole.get(column)
            return None if fact is None else [_share(fact, stop - start) for start, stop in segments]
        found = [page_facts(index, page, ordered(column)) for page in range(len(index))]
        return [_share(found[index.page_of(start)], stop - start) for start, stop in segments]

    return Statistics(len(segments), facts, accesses, types, [stop - start for start, stop in segments])


def segments_of(pages: Sequence[Pages], row_count: int) -> list[Range]:
    """The ranges between all page boundaries of some columns."""
    breaks = sorted({0, row_count}.union(*(index.first_rows for index in pages)))
    return list(pairwise(breaks))


def _share(fact: Facts, rows: int) -> Facts:
    """The facts that hold for part of a container: the bounds, and the null count if it is 0 or all rows."""
    if fact.row_count == rows:
        return fact
    nulls = rows if fact.all_null else 0 if fact.null_count == 0 else None
    return Facts(fact.minimum, fact.maximum, nulls, rows)


# ── from bytes to Arrow ────────────────────────────────────────────────────────────────────────────────────


def to_bounds(facts: Sequence[Facts], leaf: SchemaNode, type_: pa.DataType) -> Bounds:
    """Converts facts of one leaf over N containers to the leaf's Arrow type."""
    floats = leaf.physical in ("float", "double")
    return Bounds(
        decode([fact.minimum for fact in facts], leaf, type_, upper=False),
        decode([fact.maximum for fact in facts], leaf, type_, upper=True),
        pa.array([fact.null_count for fact in facts], pa.int64()),
        pa.array([fact.row_count for fact in facts], pa.int64()),
        pa.array([True] * len(facts)) if floats else None,
    )


def decode(values: Sequence[bytes | None], leaf: SchemaNode, type_: pa.DataType, *, upper: bool) -> pa.Array:
    """Decodes bounds as stored in a file (PLAIN) to an Arrow array; null if a bound cannot be trusted."""
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    annotation = leaf.annotation or ""
    code = _NUMBERS.get(leaf.physical or "")
    if annotation.startswith("DECIMAL") and pa.types.is_decimal(type_):
        return pa.array([_decimal(value, code, type_) for value in values], type_)
    if leaf.physical == "boolean":
        return pa.array([None if value is None else value != b"\0" for value in values], pa.bool_())
    if code is not None:
        unsigned = annotation.startswith("INT(") and annotation.endswith("false)")
        numbers = [_number(value, code.upper() if unsigned else code) for value in values]
        return _from_numbers(numbers, leaf, type_)
    if leaf.physical == "binary" and type_ in _TEXT:
        return pa.array([_text(value, upper) for value in values], pa.string())
    if leaf.physical == "binary" and type_ in _BYTES:
        return pa.array(values, pa.binary())
    if annotation == "UUID":
        fixed = [value if value is not None and len(value) == 16 else None for value in values]
        return pa.ExtensionArray.from_storage(pa.uuid(), pa.array(fixed, pa.binary(16)))
    return pa.nulls(len(values), type_)  # INT96, FLOAT16 and intervals have no reliable order


_NUMBERS: Final = {"int32": "i", "int64": "q", "float": "f", "double": "d"}
_TEXT: Final = (pa.string(), pa.large_string(), pa.string_view())
_BYTES: Final = (pa.binary(), pa.large_binary(), pa.binary_view())
_UNITS: Final = {"ms": "MILLIS)", "us": "MICROS)", "ns": "NANOS)"}


def _number(value: bytes | None, code: str) -> int | float | None:
    if value is None or len(value) != struct.calcsize(code):
        return None
    number: int | float = struct.unpack(f"<{code}", value)[0]
    return None if math.isnan(number) else number


def _from_numbers(numbers: list[int | float | None], leaf: SchemaNode, type_: pa.DataType) -> pa.Array:
    if leaf.physical in ("float", "double"):
        return pa.array(numbers, pa.float32() if leaf.physical == "float" else pa.float64())
    if pa.types.is_integer(type_):
        low, high = _limits(type_)
        # Bounds of a narrow type are stored as int32; one outside its range is an invalid statistic.
        return pa.array([n if n is not None and low <= n <= high else None for n in numbers], type_)
    annotation = leaf.annotation or ""
    is_moment = pa.types.is_timestamp(type_) or pa.types.is_time(type_)
    if type_ == pa.date32() or (is_moment and annotation.endswith(_UNITS.get(type_.unit, "?"))):
        return pa.array(numbers, pa.int32() if type_.bit_width == 32 else pa.int64()).view(type_)
    return pa.nulls(len(numbers), type_)


def _limits(type_: pa.DataType) -> tuple[int, int]:
    if pa.types.is_unsigned_integer(type_):
        return 0, (1 << type_.bit_width) - 1
    return -(1 << type_.bit_width - 1), (1 << type_.bit_width - 1) - 1


def _decimal(value: bytes | None, numbers: str | None, type_: pa.DataType) -> decimal.Decimal | None:
    if value is None or not value:
        return None
    if numbers is not None:
        unscaled = _number(value, numbers)
        if not isinstance(unscaled, int):
            return None
    else:
        unscaled = int.from_bytes(value, "big", signed=True)
    if abs(unscaled) >= 10**type_.precision:
        return None
    return decimal.Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -type_.scale))


def _text(value: bytes | None, upper: bool) -> str | None:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        # A minimum truncated inside a character is still bounded by its whole characters; a maximum is not.
        return None if upper else value[: error.start].decode()


def _signed(leaf: SchemaNode) -> bool:
    """Whether the old statistics, which compare as signed numbers, follow the order of the type."""
    annotation = leaf.annotation or ""
    unsigned = annotation.startswith("INT(") and annotation.endswith("false)")
    return leaf.physical in ("int32", "int64") and not unsigned
