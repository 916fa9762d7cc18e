"""`stats_parsed`: the statistics of a checkpoint as typed columns, including shredded Variant bounds.

```
stats_parsed ─┬─ numRecords    int64
              ├─ tightBounds   boolean, if files can have deletion vectors
              ├─ minValues ─┬─ id  int64
              │             └─ v   metadata, value, typed_value ─┬─ $['a'] ─ value, typed_value int64
              ├─ maxValues ─ ...                                 └─ $['b'] ─ value, typed_value string
              └─ nullCount ─┬─ id  int64
                            └─ v   int64
```

Pruning by a path then reads two typed leaf columns instead of parsing JSON for every file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.features import supports
from shredlake.delta.schema.types import arrow_type
from shredlake.delta.stats.collect import Leaf, StatsPolicy, indexed_leaves
from shredlake.delta.stats.columns import TIGHT_BOUNDS, ParsedPiece, Piece, Side
from shredlake.delta.stats.skipping import bytes_at, class_of
from shredlake.kernels import get
from shredlake.kernels.arrow.types import SCALARS_OF_ARROW, variant
from shredlake.shredding.schema import Node, Object, Scalar, ShreddingSchema, decimal
from shredlake.variant.metadata import Dictionary
from shredlake.variant.path import Path

SIDES: tuple[Side, Side] = ("minValues", "maxValues")

# Types for which Delta has no minimum and maximum.
_UNBOUNDED = ("boolean", "binary", "void")


@dataclass(frozen=True)
class StatsColumns:
    """The statistics that a checkpoint stores, and their types."""

    bounded: tuple[Leaf, ...]
    counted: tuple[Leaf, ...]
    may_be_wide: bool = False
    """Whether files can have deletion vectors, so that their bounds may be wider than their rows."""

    @staticmethod
    def of(snapshot: Snapshot) -> StatsColumns:
        policy = StatsPolicy.of(snapshot.settings, snapshot.clustering_columns)
        leaves = indexed_leaves(snapshot.schema, snapshot.metadata.partition_columns, policy)
        variants = supports(snapshot.protocol, "variantShredding")
        bounded = [
            leaf
            for leaf in leaves
            if isinstance(leaf.type, str)
            and leaf.type not in _UNBOUNDED
            and (variants or leaf.type != "variant")
        ]
        return StatsColumns(tuple(bounded), tuple(leaves), supports(snapshot.protocol, "deletionVectors"))

    @property
    def variant_leaves(self) -> list[Leaf]:
        return [leaf for leaf in self.bounded if leaf.type == "variant"]

    def arrow_type(self) -> pa.StructType:
        """The type of `stats_parsed`. Variants are unshredded here; the writer shreds them."""
        fields = [pa.field("numRecords", pa.int64())]
        if self.may_be_wide:
            fields.append(pa.field(TIGHT_BOUNDS, pa.bool_()))
        if self.bounded:
            bounds = _nested([(leaf.physical, _bound_type(leaf)) for leaf in self.bounded])
            fields += [pa.field(side, bounds) for side in SIDES]
        if self.counted:
            counts = _nested([(leaf.physical, pa.int64()) for leaf in self.counted])
            fields.append(pa.field("nullCount", counts))
        return pa.struct(fields)

    def rows(self, piece: Piece) -> pa.StructArray:
        """The statistics of a piece, as rows of that type."""
        children: list[pa.Array] = [piece.num_records()]
        if self.may_be_wide:
            children.append(piece.tight_bounds())
        kind = self.arrow_type()
        if self.bounded:
            for side in SIDES:
                leaves = {leaf.physical: _bound(piece, side, leaf) for leaf in self.bounded}
                children.append(_assemble(kind.field(side).type, leaves, (), piece.count))
        if self.counted:
            counts = {leaf.physical: piece.null_count(leaf) for leaf in self.counted}
            children.append(_assemble(kind.field("nullCount").type, counts, (), piece.count))
        unknown = pc.is_null(children[0])  # a file without a row count has no statistics at all
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=unknown)


def _bound_type(leaf: Leaf) -> pa.DataType:
    return variant() if leaf.type == "variant" else arrow_type(leaf.type)


def _bound(piece: Piece, side: Side, leaf: Leaf) -> pa.Array:
    if leaf.type == "variant":
        found = piece.variant_bounds(side, leaf)
        return found if found.type == variant() else found.cast(variant())  # it can't cast `pa.nulls`
    return piece.bound(side, leaf)


def _nested(leaves: Sequence[tuple[tuple[str, ...], pa.DataType]]) -> pa.StructType:
    """Builds a struct type from leaves and the names that lead to them."""
    grouped: dict[str, list[tuple[tuple[str, ...], pa.DataType]]] = {}
    for names, kind in leaves:
        grouped.setdefault(names[0], []).append((names[1:], kind))
    fields = [
        pa.field(name, inside[0][1] if not inside[0][0] else _nested(inside))
        for name, inside in grouped.items()
    ]
    return pa.struct(fields)


def _assemble(
    kind: pa.StructType, leaves: dict[tuple[str, ...], pa.Array], names: tuple[str, ...], count: int
) -> pa.StructArray:
    children = [
        leaves[(*names, item.name)]
        if (*names, item.name) in leaves
        else _assemble(item.type, leaves, (*names, item.name), count)
        for item in kind
    ]
    return pa.StructArray.from_arrays(children, fields=list(kind)) if children else pa.nulls(count, kind)


# ── How Variant bounds are shredded ─────────────────────────────────────────────────────────────────────


def shredding_of(pieces: Iterable[Piece], leaves: Sequence[Leaf]) -> dict[Leaf, ShreddingSchema]:
    """Return, for each Variant column, the paths in its bounds with the most frequent type of each.

    Pieces are read one after the other and released.
    """
    found: dict[Leaf, dict[str, Counter[Scalar]]] = {leaf: {} for leaf in leaves}
    for piece in pieces if found else ():
        for leaf, kinds in found.items():
            _count_types(piece, leaf, kinds)
        piece.release()
    chosen = {}
    for leaf, kinds in found.items():
        fields: list[tuple[str, Node]] = [
            (path, _common(seen)) for path, seen in sorted(kinds.items()) if seen
        ]
        if fields:
            chosen[leaf] = ShreddingSchema(Object(tuple(fields)))
    return chosen


def _count_types(piece: Piece, leaf: Leaf, kinds: dict[str, Counter[Scalar]]) -> None:
    known = piece.layout("minValues", leaf) if isinstance(piece, ParsedPiece) else None
    if known is not None and isinstance(known.root, Object):
        # The schema of an older, shredded checkpoint lists the paths, so its rows need not be read.
        for path, node in known.root.fields:
            if isinstance(node, Scalar):
                kinds.setdefault(path, Counter())[node] += piece.count
        return
    for side in SIDES:
        bounds = piece.variant_bounds(side, leaf)
        for path in _keys(bounds):
            kinds.setdefault(path, Counter()).update(_scalars(get(bounds, Path((path,)))))


def _keys(bounds: pa.StructArray) -> list[str]:
    """Returns all object keys in a column. Few distinct dictionaries occur, even in many rows."""
    metadata = pc.unique(pc.struct_field(bounds, ["metadata"]).drop_null())
    return sorted({key for raw in metadata.to_pylist() for key in Dictionary(raw).names()})


def _scalars(values: pa.StructArray) -> Counter[Scalar]:
    """How often each type occurs in a column of primitive Variants."""
    counted: Counter[Scalar] = Counter()
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    headers, scales = bytes_at(values, 0)[valid], bytes_at(values, 1)[valid]
    for header, count in zip(*np.unique(headers, return_counts=True), strict=True):
        kind = class_of(int(header))
        if kind is None:
            continue
        if pa.types.is_decimal(kind):
            counted[decimal(38, int(scales[headers == header].max()))] += int(count)
        else:
            counted[Scalar(SCALARS_OF_ARROW[kind])] += int(count)
    return counted


def _common(kinds: Counter[Scalar]) -> Scalar:
    """Returns the most frequent type. Decimals of different scales merge into one that holds them all."""
    winner = kinds.most_common(1)[0][0]
    if winner.scale is None:
        return winner
    return decimal(38, max(kind.scale for kind in kinds if kind.scale is not None))
