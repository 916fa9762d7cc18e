"""Converts columns between the draft layout and the current layout.

Most rows are converted as columns: their typed parts are the same in both layouts, and a draft residual
differs only by carrying its own dictionary. In the current layout all residuals of a row share one
dictionary. So a row whose residuals have different dictionaries, and a row that deviates from the draft, is
assembled and shredded again by the reference.

```
row   residuals' dictionaries        current dictionary
0     none                           the schema's names
1     {d}                            d, then the schema's names: ids stay as they are
2     {d}, {}, {d}                   the same: an empty one has no ids
3     {d}, {e}                       converted by the reference
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake import kernels
from shredlake.errors import MalformedVariant, ShreddingConflict
from shredlake.kernels.arrow.types import shredded_type, typed_value_type, variant
from shredlake.kernels.row_errors import in_row
from shredlake.parquet.entries import Place, objects_and_arrays
from shredlake.parquet.legacy.types import draft_array, draft_rows, draft_schema
from shredlake.shredding.legacy import DraftNode, current_node, reconstruct_draft, shred_draft
from shredlake.shredding.schema import Array, Node, Object, Scalar, ShreddingSchema, Untyped
from shredlake.variant.metadata import EMPTY_METADATA, Dictionary, encode_metadata
from shredlake.variant.value import Variant

EMPTY: Final = 0
"""The number of the empty dictionary."""


def to_draft(column: pa.StructArray, node: DraftNode) -> pa.StructArray:
    """Converts a column of Variants to the draft layout.

    >>> from shredlake.shredding.legacy import draft_node
    >>> column = kernels.from_json(pa.array(['{"a": 1, "b": 2}']))
    >>> to_draft(column, draft_node(ShreddingSchema.parse("struct<a bigint>"))).to_pylist()[0]["object"]
    {'a': {'untyped_value': None, 'typed_value': 1}}
    """
    rows = [None if row is None else shred_draft(row, node) for row in variants(kernels.unshred(column))]
    return draft_array(rows, node)


def from_draft(
    column: pa.StructArray, *, reject_conflicts: bool = False, first_row: int = 0
) -> pa.StructArray:
    """Converts a draft column to the current layout, shredded as it was; `first_row` is for messages.

    >>> from shredlake.shredding.legacy import draft_node
    >>> column = kernels.from_json(pa.array(['{"a": 1, "b": 2}', '"x"', None]))
    >>> draft = to_draft(column, draft_node(ShreddingSchema.parse("struct<a bigint>")))
    >>> [None if row is None else row.to_json() for row in variants(kernels.unshred(from_draft(draft)))]
    ['{"a":1,"b":2}', '"x"', None]
    """
    node = draft_schema(column.type)
    move = _Move(column, node, current_node(node))
    odd = move.odd_rows()
    if not odd.any():
        return move.result()
    indices = np.flatnonzero(odd)
    slow = _by_reference(column.take(pa.array(indices)), node, reject_conflicts, first_row + indices)
    order = np.arange(len(column))
    order[indices] = len(column) + np.arange(len(indices))
    return pa.concat_arrays([move.result(), slow]).take(pa.array(order))


def variants(column: pa.StructArray) -> Iterator[Variant | None]:
    """The Variants of an unshredded column."""
    metadata, values = column.field("metadata").to_pylist(), column.field("value").to_pylist()
    for valid, dictionary, value in zip(column.is_valid().to_pylist(), metadata, values, strict=True):
        yield Variant(dictionary, value) if valid else None


def variant_array(rows: Sequence[Variant | None]) -> pa.StructArray:
    """Builds an unshredded column from Variants."""
    return pa.array(
        [None if row is None else {"metadata": row.metadata, "value": row.value} for row in rows], variant()
    )


def _by_reference(
    column: pa.StructArray, node: DraftNode, reject_conflicts: bool, rows: np.ndarray
) -> pa.StructArray:
    found = []
    for row, value in zip(rows, draft_rows(column, node), strict=True):
        try:
            found.append(reconstruct_draft(value, node, reject_conflicts=reject_conflicts))
        except (ShreddingConflict, MalformedVariant) as error:
            raise in_row(error, row) from error
    return kernels.shred(variant_array(found), ShreddingSchema(current_node(node)))


@dataclass(frozen=True)
class _Residual:
    """The residuals of one level."""

    value: pa.Array
    """The values; null for entries without a residual."""
    there: pa.Array
    is_object: pa.Array
    is_array: pa.Array
    objects: pa.StructArray
    """The residuals that are objects, as Variants."""


class _Move:
    """Splits a draft column and assembles the current columns from the same buffers."""

    def __init__(self, column: pa.StructArray, node: DraftNode, root: Node) -> None:
        self.column = column
        self.root = root
        self.place = Place(0)
        self.numbers: dict[bytes, int] = {EMPTY_METADATA: EMPTY}
        """Every dictionary found so far, with its number."""
        self.lowest = np.full(len(column), np.iinfo(np.int64).max)
        self.highest = np.full(len(column), EMPTY)
        """For each row, the lowest and highest dictionary number of its residuals, without the empty one."""
        self.odd = np.zeros(len(column), bool)
        """Rows that the reference must convert."""
        self.parts = self.level(column, node, root, self.place, column.is_valid(), may_miss=False)

    def odd_rows(self) -> np.ndarray:
        """The rows that `result` lacks or gets wrong."""
        mixed = (self.highest != EMPTY) & (self.lowest != self.highest)
        odd: np.ndarray = np.logical_or(self.odd, mixed)
        return odd

    def result(self) -> pa.StructArray:
        """The column in the current layout."""
        type_ = shredded_type(ShreddingSchema(self.root))
        names = sorted(_names(self.root))
        dictionaries = pa.array([_extended(metadata, names) for metadata in self.numbers], pa.binary())
        metadata = dictionaries.take(pa.array(self.highest))
        parts = [metadata, *self.parts]
        return pa.StructArray.from_arrays(parts, fields=list(type_), mask=self.column.is_null())

    def level(
        self,
        group: pa.StructArray,
        node: DraftNode,
        target: Node,
        place: Place,
        active: pa.Array,
        may_miss: bool,
    ) -> list[pa.Array]:
        """The current columns of a level; `active` marks the entries whose group is meaningful."""
        parts = dict(zip((field.name for field in group.type), group.flatten(), strict=True))
        has = {part: pc.and_(active, parts[part].is_valid()) for part in node.parts}
        nothing = pa.array(np.zeros(len(group), bool))
        residual = self.residual(parts, node, has, place)
        chosen = _part_of(target)
        has_typed = has.get(chosen, nothing)
        for part, there in has.items():
            if part not in (chosen, node.untyped):
                self.leave(there, place)  # the current layout has no column for this alternative
        if not may_miss:
            self.leave(pc.and_not(active, pc.or_(residual.there, has_typed)), place)
        match target:
            case Object(fields):
                assert node.object is not None
                self.leave(pc.and_(has_typed, pc.and_not(residual.there, residual.is_object)), place)
                self.leave(pc.and_not(residual.is_object, has_typed), place)
                self.leave_overlaps(residual, [name for name, _ in fields], place)
                typed = self.object(parts["object"], node.object, target, place, has_typed)
            case Array(element):
                assert node.array is not None
                self.leave(pc.and_(residual.there, pc.or_(has_typed, residual.is_array)), place)
                typed = self.array(parts["array"], node.array, element, place, has_typed)
            case Scalar():
                self.leave(pc.and_(residual.there, has_typed), place)
                typed = _cast(parts["typed_value"], _typed_type(target))
            case Untyped():
                return [residual.value]
        return [residual.value, typed]

    def object(
        self,
        group: pa.StructArray,
        fields: Mapping[str, DraftNode],
        target: Object,
        place: Place,
        has_typed: pa.Array,
    ) -> pa.StructArray:
        type_ = _typed_type(target)
        children = [
            pa.StructArray.from_arrays(
                self.level(group.field(name), fields[name], child, place, has_typed, may_miss=True),
                fields=list(type_.field(name).type),
            )
            for name, child in target.fields
        ]
        return pa.StructArray.from_arrays(children, fields=list(type_), mask=group.is_null())

    def array(
        self, lists: pa.Array, element: DraftNode, target: Node, place: Place, has_typed: pa.Array
    ) -> pa.ListArray:
        type_ = _typed_type(Array(target))
        groups, inner = place.inside(lists)
        parts = self.level(groups, element, target, inner, has_typed.take(inner.parents), may_miss=False)
        elements = pa.StructArray.from_arrays(parts, fields=list(type_.value_type))
        lengths = pc.list_value_length(lists).fill_null(0)
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        return pa.ListArray.from_arrays(offsets, elements, type=type_, mask=lists.is_null())

    def residual(
        self, parts: Mapping[str, pa.Array], node: DraftNode, has: Mapping[str, pa.Array], place: Place
    ) -> _Residual:
        """Splits the residuals of a level into dictionary and value, and records the dictionaries."""
        length = len(next(iter(parts.values())))
        there = pa.array(np.zeros(length, bool)) if node.untyped is None else has[node.untyped]
        values: list[bytes | None] = [None] * length
        metadata: list[bytes | None] = [None] * length
        odd = []
        for index in pc.indices_nonzero(there).to_pylist():
            piece = parts[node.untyped or ""][index].as_py()
            try:
                end = self.dictionary_end(piece)
            except MalformedVariant:
                odd.append(index)  # the reference reports what is wrong with it
                continue
            metadata[index], values[index] = piece[:end], piece[end:]
        self.note(metadata, place)
        value = pa.array(values, pa.binary())
        pieces = pa.StructArray.from_arrays(
            [pa.array(metadata, pa.binary()), value], fields=list(variant()), mask=value.is_null()
        )
        odd += kernels.validate(pieces)["row"].to_pylist()
        self.odd[self.rows(pa.array(odd, pa.int64()), place)] = True
        is_object, is_array = objects_and_arrays(value)
        return _Residual(value, there, is_object, is_array, pieces.filter(is_object))

    def dictionary_end(self, piece: bytes) -> int:
        if piece.startswith(EMPTY_METADATA):
            return len(EMPTY_METADATA)
        dictionary = Dictionary(piece, exact=False)
        if piece[: dictionary.end] not in self.numbers:
            dictionary.names()  # the reference reports a malformed one
        return dictionary.end

    def note(self, metadata: list[bytes | None], place: Place) -> None:
        """Records the dictionaries that the residuals of each row have."""
        indices, numbers = [], []
        for index, dictionary in enumerate(metadata):
            if dictionary is not None and dictionary != EMPTY_METADATA:
                indices.append(index)
                numbers.append(self.numbers.setdefault(dictionary, len(self.numbers)))
        rows = self.rows(pa.array(indices, pa.int64()), place)
        np.minimum.at(self.lowest, rows, numbers)
        np.maximum.at(self.highest, rows, numbers)

    def leave_overlaps(self, residual: _Residual, names: list[str], place: Place) -> None:
        """Marks objects with shredded fields in their residual as odd."""
        if not len(residual.objects):
            return
        schema = ShreddingSchema(Object(tuple((name, Untyped()) for name in names)))
        indices = pc.indices_nonzero(residual.is_object)
        overlap = np.zeros(len(indices), bool)
        try:
            fields = kernels.shred(residual.objects, schema).field("typed_value")
            for name in names:
                overlap |= np.asarray(fields.field(name).field("value").is_valid())
        except MalformedVariant:
            overlap[:] = True
        self.odd[self.rows(indices.filter(pa.array(overlap)), place)] = True

    def leave(self, wrong: pa.Array, place: Place) -> None:
        """Marks the rows of these entries for the reference."""
        self.odd[self.rows(pc.indices_nonzero(wrong), place)] = True

    def rows(self, indices: pa.Array, place: Place) -> np.ndarray:
        owners = place.owners(self.place)
        return np.asarray(indices if owners is None else owners.take(indices)).astype(np.int64)


def _part_of(target: Node) -> str:
    """The part of a draft level that becomes the current `typed_value`."""
    match target:
        case Object():
            return "object"
        case Array():
            return "array"
        case _:
            return "typed_value"


def _typed_type(node: Node) -> pa.DataType:
    type_ = typed_value_type(node)
    assert type_ is not None
    return type_


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return array if array.type == type_ else array.cast(type_)


def _names(node: Node) -> set[str]:
    match node:
        case Object(fields):
            return {name for name, _ in fields}.union(*(_names(child) for _, child in fields))
        case Array(element):
            return _names(element)
        case _:
            return set()


def _extended(metadata: bytes, names: list[str]) -> bytes:
    """Appends names to a dictionary, so that its existing ids stay valid."""
    known = Dictionary(metadata).names()
    further = [name for name in names if name not in set(known)]
    return encode_metadata([name.encode() for name in [*known, *further]])
