"""`reshred`: converts one shredded layout to another, rebuilding only the columns that differ.

```
old  struct<a bigint, b string, d date>       a: the same in both, its columns are reused
new  struct<a bigint, b bigint, c double>     b: another type, so it alone is rebuilt and shredded again
                                              d: dropped, merged into the object's value
                                              c: added, extracted from the object's value
```
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.kernels.arrow.buffers import (
    check_column,
    check_schema,
    column_of,
    group_of,
    metadata_of,
    no_values,
    part,
    validity_of,
)
from shredlake.kernels.arrow.flat_schema import plan_of
from shredlake.kernels.arrow.normalize import as_binary, as_list, checked, unencoded
from shredlake.kernels.arrow.shredded import extend_metadata
from shredlake.kernels.arrow.types import shredding_schema, typed_value_type
from shredlake.kernels.dispatch import dispatch, uses_compiled
from shredlake.kernels.threads import Column, assemble, pieces, run, thread_count
from shredlake.shredding.schema import Array, Node, Object, Scalar, ShreddingSchema, Untyped

_NULL = b"\x00"
_EMPTY_OBJECT = b"\x02\x00\x00"


def reshred(column: Column, schema: ShreddingSchema, *, threads: int | None = None) -> Column:
    """Shreds a shredded column by another schema: as `shred(unshred(column), schema)`, but cheaper.

    Columns that are the same in both layouts are reused. For an object, only added and dropped fields move
    between its `value` and their own columns.

    >>> import pyarrow as pa
    >>> from shredlake.kernels import shredded_type
    >>> narrow, wide = ShreddingSchema.parse("int"), ShreddingSchema.parse("bigint")
    >>> column = pa.array([(b"\\x01\\x00\\x00", None, 34)], shredded_type(narrow))
    >>> reshred(column, wide).field("typed_value").to_pylist()
    [34]
    """
    column = check_column(column)
    check_schema(schema)
    before = shredding_schema(column.type)
    old: Node = Untyped() if before is None else before.root
    count = thread_count(threads)
    results = run(partial(_reshred_piece, old, schema.root), pieces(column, count), count)
    return assemble(column, [array for arrays in results for array in arrays])


def _reshred_piece(old: Node, new: Node, first_row: int, piece: pa.StructArray) -> list[pa.StructArray]:
    validity = validity_of(checked(piece))
    group = Parts(part(piece, "value"), part(piece, "typed_value"), validity)
    metadata = metadata_of(piece, first_row)
    if uses_compiled():
        moving = _Reshredding(metadata, first_row)
        moved = moving.column(group, old, new)
        if moving.names_added:
            metadata = extend_metadata(metadata, plan_of(old).names)
            moving = _Reshredding(metadata, first_row)
            moved = moving.column(group, old, new)
        if not (moving.names_added or moving.too_large):
            return [column_of(metadata, moved.value, moved.typed, validity)]
    return [
        _anew(array, new, first_row)
        for array in dispatch("unshred").unshred(piece, plan_of(old), False, first_row)
    ]


def _anew(whole: pa.StructArray, new: Node, first_row: int) -> pa.StructArray:
    metadata, validity = whole.field("metadata"), validity_of(whole)
    value, typed = dispatch("shred").shred(
        metadata, whole.field("value"), validity, plan_of(new), False, first_row
    )
    return column_of(metadata, value, typed, validity)


@dataclass(frozen=True, slots=True)
class Parts:
    """The two columns of a group, and which of its rows exist (None: all)."""

    value: pa.Array | None
    typed: pa.Array | None
    exists: pa.Array | None

    def __len__(self) -> int:
        return max(len(column) for column in (self.value, self.typed) if column is not None)


class _Reshredding:
    """Converts the groups of one piece, which share its metadata."""

    def __init__(self, metadata: pa.Array, first_row: int) -> None:
        self.metadata = metadata
        self.first_row = first_row
        self.names_added = False
        """A part needed names that the metadata lacks; all parts must share the extended metadata."""
        self.too_large = False
        """A part of a row is too large for one array."""

    def column(self, group: Parts, old: Node, new: Node) -> Parts:
        """Converts the Variant itself: a row with neither part is Variant null."""
        value = _values(group)
        missing = _both(pc.is_null(value), None if group.typed is None else pc.is_null(group.typed))
        missing = _both(missing, group.exists)
        if pc.any(missing).as_py():
            value = pc.if_else(missing, pa.scalar(_NULL, pa.binary()), value)
        return self.group(Parts(value, group.typed, group.exists), old, new)

    def group(self, group: Parts, old: Node, new: Node) -> Parts:
        if old == new:
            return Parts(_values(group), plain(group.typed, new), group.exists)
        match old, new:
            case Object(before), Object(after):
                return self.object(group, dict(before), dict(after))
        return self.shredded(self.whole(group, old), new)

    def object(self, group: Parts, old: dict[str, Node], new: dict[str, Node]) -> Parts:
        typed: pa.StructArray = group.typed
        objects = _both(pc.is_valid(typed), group.exists)
        kept = {
            name: self.group(_parts(typed.field(name), objects), old[name], new[name])
            for name in new
            if name in old
        }
        dropped = tuple((name, old[name]) for name in old if name not in new)
        added = tuple((name, new[name]) for name in new if name not in old)
        value = _values(group)
        if dropped:
            leaving = pa.StructArray.from_arrays(
                [typed.field(name) for name, _ in dropped],
                fields=[typed.type.field(name) for name, _ in dropped],
                mask=pc.is_null(typed),
            )
            value = self.whole(Parts(value, leaving, group.exists), Object(dropped)).value
            value = pc.if_else(
                _both(objects, pc.equal(value, pa.scalar(_EMPTY_OBJECT, pa.binary()))),
                pa.scalar(None, pa.binary()),
                value,
            )
        entered: dict[str, Parts] = {}
        if added and value.null_count < len(value):
            taken = self.shredded(Parts(value, None, group.exists), Object(added))
            value = taken.value
            columns: pa.StructArray = taken.typed
            entered = {name: _parts(columns.field(name), None) for name, _ in added}
        groups = [
            _required(kept.get(name) or entered.get(name) or Parts(None, None, None), node, len(group))
            for name, node in new.items()
        ]
        fields = [pa.field(name, part.type, nullable=False) for name, part in zip(new, groups, strict=True)]
        return Parts(
            value, pa.StructArray.from_arrays(groups, fields=fields, mask=pc.is_null(typed)), group.exists
        )

    def whole(self, group: Parts, old: Node) -> Parts:
        """The group as `value` only, null if it is missing."""
        if isinstance(old, Untyped):
            return Parts(_values(group), None, group.exists)
        present = pc.is_valid(group.typed)
        if group.value is not None:
            present = pc.or_(present, pc.is_valid(group.value))
        present = _both(present, group.exists)
        column = column_of(self.metadata, group.value, group.typed, present)
        arrays = dispatch("unshred").unshred(column, plan_of(old), False, self.first_row)
        if len(arrays) > 1:
            self.too_large = True
        elif arrays[0].field("metadata").buffers()[2].address != self.metadata.buffers()[2].address:
            self.names_added = True
        if self.too_large or self.names_added:  # the result is not used
            return Parts(pa.nulls(len(group), pa.binary()), None, present)
        return Parts(arrays[0].field("value"), None, present)

    def shredded(self, whole: Parts, new: Node) -> Parts:
        if isinstance(new, Untyped):
            return whole
        present = _both(pc.is_valid(whole.value), whole.exists)
        value, typed = dispatch("shred").shred(
            self.metadata, whole.value, present, plan_of(new), False, self.first_row
        )
        return Parts(value, typed, whole.exists)


def plain(typed: pa.Array | None, node: Node) -> pa.Array | None:
    """Converts a `typed_value` to the layout of `shredded_type`; does nothing if it has that layout."""
    wanted: pa.DataType = typed_value_type(node)
    if typed is None or typed.type == wanted:
        return typed
    match node:
        case Object(fields):
            groups = [_plain_group(typed.field(name), child) for name, child in fields]
            return pa.StructArray.from_arrays(groups, fields=list(wanted), mask=pc.is_null(typed))
        case Array(element):
            lists = as_list(typed)
            group = _plain_group(lists.values, element)
            buffers, nulls = lists.buffers()[:2], lists.null_count
            return pa.Array.from_buffers(wanted, len(lists), buffers, nulls, lists.offset, children=[group])
        case Scalar():
            return unencoded(typed).cast(wanted)
    return None


def _plain_group(group: pa.StructArray, node: Node) -> pa.StructArray:
    parts = _parts(group, None)
    return _required(Parts(parts.value, plain(parts.typed, node), None), node, len(group))


def _parts(group: pa.StructArray, exists: pa.Array | None) -> Parts:
    """The columns of a field's or an element's group; an optional group that is null has no parts."""
    arrays = group.flatten() if group.null_count else [group.field(index) for index in range(len(group.type))]
    parts = dict(zip(group.type.names, arrays, strict=True))
    return Parts(parts.get("value"), parts.get("typed_value"), exists)


def _required(group: Parts, node: Node, rows: int) -> pa.StructArray:
    """The required group of a field, with both parts."""
    nothing = no_values(plan_of(node), rows)
    value = nothing[0] if group.value is None else as_binary(group.value)
    if len(nothing) == 1:
        return group_of(value, None)
    return group_of(value, nothing[1] if group.typed is None else group.typed)


def _values(group: Parts) -> pa.Array:
    return pa.nulls(len(group), pa.binary()) if group.value is None else as_binary(group.value)


def _both(left: pa.Array, right: pa.Array | None) -> pa.Array:
    return left if right is None else pc.and_(left, right)
