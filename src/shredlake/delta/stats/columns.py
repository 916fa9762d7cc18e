"""The statistics of many files as columns, read from a checkpoint's typed columns or from JSON.

```
checkpoint   add.stats_parsed.minValues.id                       a typed column, read alone
             add.stats_parsed.minValues.v.typed_value.$['a']     likewise, where the Variant is shredded
JSON         add.stats ─ from_json ─▶ Variant ─ get ─▶           the same values
```

A statistic that can't be read is null, which means unknown, so the file is not skipped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.checkpoint_read import CheckpointPart, Mask
from shredlake.delta.log.files import Files
from shredlake.delta.schema.types import DeltaType, arrow_type
from shredlake.delta.stats.collect import Leaf
from shredlake.delta.stats.z85 import decode_variants, without_damaged
from shredlake.errors import MalformedVariant
from shredlake.kernels import from_json, get, to_json, unshred
from shredlake.kernels.arrow.normalize import unwrapped
from shredlake.kernels.arrow.types import is_variant, shredding_schema, variant
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant.path import Path

Side: TypeAlias = Literal["minValues", "maxValues"]

TIGHT_BOUNDS: Final = "tightBounds"
"""The statistic that is false if a deletion vector came after the statistics, so that bounds may be wide."""


class Piece(ABC):
    """The statistics of consecutive places: a part of the checkpoint, or the recent files."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of places."""

    @abstractmethod
    def num_records(self) -> pa.Array:
        """The number of rows in each file."""

    @abstractmethod
    def tight_bounds(self) -> pa.Array:
        """Whether statistics leave out deleted rows; null, which means yes, if that is not recorded."""

    @abstractmethod
    def null_count(self, leaf: Leaf) -> pa.Array:
        """The number of nulls of a column in each file."""

    @abstractmethod
    def bound(self, side: Side, leaf: Leaf) -> pa.Array:
        """Minimum or maximum of an ordinary column, in the column's type."""

    @abstractmethod
    def variant_bounds(self, side: Side, leaf: Leaf) -> pa.StructArray:
        """All bounds of a Variant column, as Variants."""

    @abstractmethod
    def variant_bound(self, side: Side, leaf: Leaf, path: str) -> pa.Array:
        """Bounds of one path: a typed column, or Variants, whose type can differ from row to row."""

    def release(self) -> None:
        """Release cached data, which can be read again."""
        return


@dataclass
class JsonPiece(Piece):
    """Statistics as JSON. They are read and parsed on first use, once for many lookups."""

    number: int
    read: Callable[[], pa.Array]

    @staticmethod
    def of(texts: pa.Array) -> JsonPiece:
        return JsonPiece(len(texts), lambda: texts)

    @property
    def count(self) -> int:
        return self.number

    @cached_property
    def parsed(self) -> pa.StructArray:
        return from_json(self.read(), on_error="null", duplicate_keys="last_wins")

    def release(self) -> None:
        self.__dict__.pop("parsed", None)

    def _get(self, steps: tuple[str, ...], kind: pa.DataType) -> pa.Array:
        return get(self.parsed, Path(steps), kind)

    def num_records(self) -> pa.Array:
        return self._get(("numRecords",), pa.int64())

    def tight_bounds(self) -> pa.Array:
        return self._get((TIGHT_BOUNDS,), pa.bool_())

    def null_count(self, leaf: Leaf) -> pa.Array:
        return self._get(("nullCount", *leaf.physical), pa.int64())

    def bound(self, side: Side, leaf: Leaf) -> pa.Array:
        return _without_nan(self._get((side, *leaf.physical), arrow_type(leaf.type)))

    def variant_bounds(self, side: Side, leaf: Leaf) -> pa.StructArray:
        found = self._decoded(side, leaf)
        try:
            to_json(found)  # reads every byte, so it raises if a Variant is malformed
        except MalformedVariant:
            return without_damaged(found)
        return found

    def variant_bound(self, side: Side, leaf: Leaf, path: str) -> pa.StructArray:
        found = self._decoded(side, leaf)
        try:
            values = get(found, Path((path,)))
            to_json(values)
        except MalformedVariant:
            return get(without_damaged(found), Path((path,)))
        return values

    def _decoded(self, side: Side, leaf: Leaf) -> pa.StructArray:
        return decode_variants(self._get((side, *leaf.physical), pa.string()))


@dataclass
class ParsedPiece(Piece):
    """Statistics as typed columns of a checkpoint part. Missing columns are read from its JSON."""

    part: CheckpointPart
    keep: Mask | None = None

    @property
    def count(self) -> int:
        return self.part.num_adds if self.keep is None else int(self.keep.sum())

    def _column(self, name: str, kind: pa.DataType) -> pa.Array:
        found = self.part.read_adds(f"stats_parsed.{name}", self.keep)
        if found is None:
            return pa.nulls(self.count, kind)
        array = found.combine_chunks()
        if array.type.equals(kind):
            return array
        try:
            return array.cast(kind)
        except pa.ArrowException:
            return pa.nulls(self.count, kind)

    def num_records(self) -> pa.Array:
        return self._column("numRecords", pa.int64())

    def tight_bounds(self) -> pa.Array:
        return self._column(TIGHT_BOUNDS, pa.bool_())

    def null_count(self, leaf: Leaf) -> pa.Array:
        return self._column(".".join(("nullCount", *leaf.physical)), pa.int64())

    def bound(self, side: Side, leaf: Leaf) -> pa.Array:
        return _without_nan(self._column(".".join((side, *leaf.physical)), arrow_type(leaf.type)))

    def variant_bounds(self, side: Side, leaf: Leaf) -> pa.StructArray:
        found = self.part.read_adds("stats_parsed." + ".".join((side, *leaf.physical)), self.keep)
        found = None if found is None else unwrapped(found)
        if found is None or not pa.types.is_struct(found.type):
            return pa.nulls(self.count, variant())
        with self.part.reading():
            return unshred(found.combine_chunks())

    def variant_bound(self, side: Side, leaf: Leaf, path: str) -> pa.Array:
        column = "stats_parsed." + ".".join((side, *leaf.physical))
        group = f"{column}.typed_value.{path}"
        if not self.part.has(f"add.{group}"):
            if not self.part.has(f"add.{column}") or self._is_empty(f"{column}.value"):
                return pa.nulls(self.count, variant())
            return get(self.variant_bounds(side, leaf), Path((path,)))
        typed = self.part.read_adds(f"{group}.typed_value", self.keep)
        if typed is not None and self._is_empty(f"{group}.value"):
            return typed.combine_chunks()
        return get(self.variant_bounds(side, leaf), Path((path,)))

    def layout(self, side: Side, leaf: Leaf) -> ShreddingSchema | None:
        """How the checkpoint shreds the bounds of a Variant column."""
        column = self.part.type_of("add.stats_parsed." + ".".join((side, *leaf.physical)))
        return shredding_schema(column) if column is not None and is_variant(column) else None

    def _is_empty(self, column: str) -> bool:
        """Whether a leaf column is all null according to the footer's null counts."""
        return self.part.is_all_null(f"add.{column}")


def pieces_of(files: Files, *, typed: bool = True) -> Iterator[Piece]:
    """The statistics of all places of a snapshot, in order."""
    for part in files.parts:
        if typed and part.has("add.stats_parsed.numRecords"):
            yield ParsedPiece(part)
        else:
            yield from _json_pieces(part)
    yield JsonPiece.of(files.recent.column("stats").combine_chunks())


def _json_pieces(part: CheckpointPart) -> Iterator[Piece]:
    """Yields one piece per row group, so that a checkpoint's JSON is never in memory as a whole."""
    start = 0
    for mask in part.add_masks:
        count = int(mask.sum())
        if count:
            keep = np.zeros(part.num_adds, dtype=bool)
            keep[start : start + count] = True
            yield JsonPiece(count, partial(_stored_texts, part, keep))
        start += count


def _stored_texts(part: CheckpointPart, keep: Mask) -> pa.Array:
    found = part.read_adds("stats", keep)
    if found is None:
        return pa.nulls(int(keep.sum()), pa.string())
    with part.reading():
        return found.combine_chunks().cast(pa.string())


def _without_nan(values: pa.Array) -> pa.Array:
    """Replace NaN, which Spark writes as a maximum, with null (unknown)."""
    if not pa.types.is_floating(values.type):
        return values
    return pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)


def widened(values: pa.Array, kind: DeltaType) -> pa.Array:
    """Widen maxima of timestamps, which the log truncates to milliseconds.

    >>> import datetime
    >>> widened(pa.array([datetime.datetime(2026, 1, 1)], pa.timestamp("us")), "timestamp_ntz")[0].as_py()
    datetime.datetime(2026, 1, 1, 0, 0, 0, 999)
    """
    if kind not in ("timestamp", "timestamp_ntz"):
        return values
    microseconds = pc.min_element_wise(values.cast(pa.int64()), 2**63 - 1000, skip_nulls=False)
    return pc.add(microseconds, 999).cast(values.type)
