"""`get`: reads a path in every row of a Variant column and casts it like Spark's variant_get.

On a shredded column, the path is followed through the typed columns as far as they go:

```
$.user.id     typed_value ─ user ─ typed_value ─ id ─┬─ typed_value    used as is if the type matches
                                                     └─ value          read only where it is not null
$.user.tags   typed_value ─ user ─ value                               a field that is not shredded: its name
                                                                       is looked up in the deepest `value`
```
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import CastError, MalformedVariant
from shredlake.kernels.arrow.buffers import check_column, column_of, part, validity_of
from shredlake.kernels.arrow.normalize import as_binary, as_list, checked, normal, unencoded, unencoded_type
from shredlake.kernels.arrow.raw_arrays import arrow_type, choose, nested, plain
from shredlake.kernels.arrow.types import is_list_like
from shredlake.kernels.cast_options import ARROW, DEFAULT, CastOptions, Dialect
from shredlake.kernels.casts.columns import cast_typed
from shredlake.kernels.casts.extract import CastContext, Steps, extract
from shredlake.kernels.casts.targets import AnyVariant, ListOf, MapOf, StructOf, Target, scalar_of, target_of
from shredlake.kernels.fallback.get import value_at
from shredlake.kernels.threads import Column, map_pieces
from shredlake.kernels.unshred import unshred
from shredlake.shredding.schema import Scalar
from shredlake.variant import Path, VariantType
from shredlake.variant.types import MICROS_PER_DAY


def get(
    column: Column,
    path: str | Path,
    type: pa.DataType | None = None,
    *,
    strict: bool = False,
    timezone: str = "UTC",
    dialect: Dialect = ARROW,
    threads: int | None = None,
) -> Column:
    """Returns the values at `path` as a typed Arrow array, or as a Variant column if `type` is None.

    The result is the same on shredded and unshredded columns. A missing path and a Variant null give null. A
    value that can't be cast also gives null (Spark's try_variant_get), or with `strict` a CastError that
    names row, path and value (Spark's variant_get). `timezone` is the session's, for casts between instants
    and strings, dates or local times. See docs/casts.md for all casts.

    `dialect` is for columns meant for an engine with different casts: `spark_on(17)` keeps the bytes of a
    binary that is not UTF-8, which is a string in Spark, and prints floats like Java 17.

    >>> import pyarrow as pa, shredlake as sl
    >>> column = sl.from_json(pa.array(['{"user": {"id": 7}}', '{"user": {"id": "8"}}', '{}']))
    >>> get(column, "$.user.id", pa.int64()).to_pylist()
    [7, 8, None]
    """
    options = CastOptions.of(strict=strict, timezone=timezone, dialect=dialect)
    return get_path(column, path, type, options, threads=threads)


def get_path(
    column: Column,
    path: str | Path,
    type: pa.DataType | None,
    options: CastOptions = DEFAULT,
    *,
    threads: int | None = None,
) -> Column:
    """As `get`, with the options of a query."""
    column = check_column(column)
    steps = (path if isinstance(path, Path) else Path.parse(path)).steps
    options.check()
    target = AnyVariant() if type is None else target_of(type)
    work = partial(_get_piece, steps, target, CastContext(options, Path(steps).normalized()))
    result: pa.Array | pa.ChunkedArray = map_pieces(work, column, threads=threads)
    return result if type is None or result.type == type else _laid_out(result, type)


def _laid_out(result: Column, type_: pa.DataType) -> Column:
    """Returns the result in the requested layout."""
    if _has_list_view(type_):  # pyarrow does not cast lists to them
        return pa.array(result.to_pylist(), type_)
    try:
        return result.cast(type_)
    except pa.ArrowInvalid as error:
        raise CastError(f"the result does not fit {type_}: {error}") from None


def _has_list_view(type_: pa.DataType) -> bool:
    """Whether a type is a list view, or holds one."""
    is_view = pa.types.is_list_view(type_) or pa.types.is_large_list_view(type_)
    return is_view or any(_has_list_view(type_.field(at).type) for at in range(type_.num_fields))


@dataclass(frozen=True)
class Group:
    """One node of a shredded column; rows that are not `valid` do not have it (None: all rows have it).

    The parts are as the column has them: those that are read are converted and checked then.
    """

    metadata: pa.Array
    value: pa.Array | None
    typed: pa.Array | None
    valid: pa.Array | None
    required: bool = False
    """Whether a row without parts is a Variant null, as at the root and in arrays; otherwise it is missing.
    """

    def child(self, step: str | int) -> Group | None:
        """The node one step further, or None if the path is not shredded there."""
        typed = self.typed
        if typed is None:
            return None
        if isinstance(step, str) and pa.types.is_struct(typed.type):
            group = part(typed, step)
            return None if group is None else self.below(group, typed)
        if isinstance(step, int) and is_list_like(typed.type):
            elements, there = _elements_at(typed, step)
            value, inner = part(elements, "value"), part(elements, "typed_value")
            return Group(self.metadata, value, inner, _both(self.valid, there), required=True)
        return None

    def below(self, group: pa.StructArray, present: pa.Array) -> Group:
        """A group below this one; it exists where `present` is not null."""
        value, typed = part(group, "value"), part(group, "typed_value")
        return Group(self.metadata, value, typed, _both(self.valid, validity_of(present)))


def _elements_at(lists: pa.Array, index: int) -> tuple[pa.StructArray, pa.Array]:
    """The element at the index of each list, null if there is none; and whether there is one."""
    lists = as_list(normal(checked(lists)))
    starts = lists.offsets.slice(0, len(lists)).cast(pa.int64())
    there = pc.fill_null(pc.greater(pc.list_value_length(lists), index), False)
    return lists.values.take(pc.if_else(there, pc.add(starts, index), None)), there


def _both(a: pa.Array | None, b: pa.Array | None) -> pa.Array | None:
    if a is None or b is None:
        return b if a is None else a
    return pc.and_(a, b)


def _under(array: pa.Array, valid: pa.Array | None) -> pa.Array:
    """The array with nulls where it is not valid; the array itself if they are already null."""
    if valid is None or not pc.and_not(pc.is_valid(array), valid).true_count:
        return array
    return choose(valid, checked(array), pa.nulls(len(array), array.type))


def _get_piece(
    steps: Steps, target: Target, context: CastContext, first_row: int, piece: pa.StructArray
) -> pa.Array:
    metadata, value, typed = (part(piece, name) for name in ("metadata", "value", "typed_value"))
    group = Group(metadata, value, typed, validity_of(piece), required=True)
    depth = 0
    for step in steps:
        child = group.child(step)
        if child is None:
            break
        group, depth = child, depth + 1
    here = replace(context, first_row=first_row)
    reader = _Reader(group, rest=steps[depth:], context=here)
    return reader.variants() if isinstance(target, AnyVariant) else reader.cast_to(target)


@dataclass(frozen=True)
class _Reader:
    """The deepest shredded node on the path, and the rest of the path, for one piece of a column."""

    group: Group
    rest: Steps
    context: CastContext

    @cached_property
    def metadata(self) -> pa.Array:
        """The metadata as plain binary; a typed column with the requested type does not need it."""
        return as_binary(self.group.metadata)

    def extract(self, target: Scalar | None) -> pa.Array:
        group = self.group
        return extract(self.metadata, group.value, group.valid, self.rest, target, self.context)

    def variants(self) -> pa.StructArray:
        """Returns the values as Variants."""
        group = self.group
        if group.typed is None or self.rest:
            found = self.extract(None)
            if group.required and not self.rest:
                return column_of(self.metadata, pc.fill_null(found, b"\x00"), None, group.valid)
            return column_of(self.metadata, found, None, validity_of(found))
        valid = group.valid
        if not group.required:  # a missing field is null
            there = pc.is_valid(group.typed)
            there = there if group.value is None else pc.or_(there, pc.is_valid(group.value))
            valid = _both(valid, there)
        return unshred(column_of(self.metadata, group.value, group.typed, valid), threads=1)

    def cast_to(self, target: Target) -> pa.Array:
        """Returns the values, cast to the target."""
        typed = None if self.rest else self.group.typed
        if isinstance(target, Scalar):
            if typed is None:
                return self.extract(target)
            source = scalar_of(unencoded_type(typed.type))
            if source is not None:
                return self.leaf(_under(typed, self.group.valid), source, target)
            if target.type is not VariantType.STRING and not self.context.options.raises:
                return self.extract(target)  # objects and arrays can't be cast to it, so only `value` matters
            # A cast to a string needs whole objects and arrays.
            whole = self.variants()
            metadata, value = whole.field("metadata"), whole.field("value")
            return extract(metadata, value, validity_of(whole), (), target, self.context)
        try:
            return self.nested(target)
        except (CastError, MalformedVariant):
            return self.row_by_row(target)  # raises for the first such row

    def nested(self, target: Target) -> pa.Array:
        """Casts objects to structs and shredded arrays to lists, column by column; other rows one by one."""
        group = self.group
        if self.rest:
            found = self.extract(None)
            here = Group(group.metadata, found, None, validity_of(found))
            return replace(self, group=here, rest=()).nested(target)
        match target:
            case StructOf(fields):
                typed = group.typed if group.typed is not None and _is_object(group.typed) else None
                made, wanted, rest_is_null = self.structs(dict(fields), typed), OBJECTS, typed is None
            case ListOf(element) if group.typed is not None and is_list_like(group.typed.type):
                made, wanted, rest_is_null = self.lists(element, group.typed), ARRAYS, False
            case _:
                return self.row_by_row(target)
        raises = self.context.options.raises
        if rest_is_null and not raises:
            return made
        left = (
            pc.invert(pc.is_valid(made)) if group.valid is None else pc.and_not(group.valid, made.is_valid())
        )
        header = pa.nulls(len(made), pa.binary()) if group.value is None else _headers(group.value)
        # Of the other rows, only some can cast, and a Variant null never fails to.
        can = pc.not_equal(header, b"\x00") if raises else pc.is_in(header, value_set=wanted)
        can = pc.fill_null(can, False)
        if raises and group.typed is not None:
            can = pc.or_(can, pc.is_valid(group.typed))
        return self.row_by_row(target, made, pc.and_(left, can))

    def structs(self, fields: Mapping[str, Target], typed: pa.Array | None) -> pa.Array:
        """Objects as structs: of the typed column, or of `value` if objects have no typed column."""
        group = self.group if typed is not None else replace(self.group, typed=None)
        if typed is not None:
            objects = validity_of(typed)
        elif group.value is None:
            objects = pa.repeat(False, len(group.metadata))
        else:
            objects = pc.fill_null(pc.is_in(_headers(group.value), value_set=OBJECTS), False)
        kinds = [pa.field(name, arrow_type(field)) for name, field in fields.items()]
        columns = [_as(self.field(group, kind.name, fields[kind.name]), kind.type) for kind in kinds]
        valid = _both(group.valid, objects)
        return pa.StructArray.from_arrays(
            columns, fields=kinds, mask=None if valid is None else pc.invert(valid)
        )

    def field(self, group: Group, name: str, target: Target) -> pa.Array:
        """One field of the objects, cast."""
        child = group.child(name)
        path = f"{self.context.path}[{name!r}]"
        rest = (name,) if child is None else ()
        below = _Reader(child or group, rest, replace(self.context, path=path))
        return below.variants() if isinstance(target, AnyVariant) else below.cast_to(target)

    def lists(self, element: Target, typed: pa.Array) -> pa.Array:
        """Shredded arrays as lists."""
        lists = as_list(normal(checked(_under(typed, self.group.valid))))
        counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        elements = _elements(lists, counts, offsets)
        metadata = pa.nulls(len(elements), pa.binary())
        if _holds_values(elements) or _holds_variants(element):
            metadata = self.metadata.take(pa.array(np.repeat(np.arange(len(lists)), counts)))
        group = Group(metadata, part(elements, "value"), part(elements, "typed_value"), None, required=True)
        below = _Reader(group, (), replace(self.context, path=f"{self.context.path}[*]"))
        found = below.variants() if isinstance(element, AnyVariant) else below.cast_to(element)
        kind = arrow_type(ListOf(element))
        found = _as(found, kind.value_type)
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), found, kind, mask=pc.is_null(lists))

    def row_by_row(
        self, target: Target, made: pa.Array | None = None, left: pa.Array | None = None
    ) -> pa.Array:
        """Casts rows with the reference: all of them, or those that are `left` of the rows already made."""
        rows = np.arange(len(self.group.metadata)) if left is None else np.flatnonzero(left)
        if made is not None and not len(rows):
            return made
        whole = self.variants()
        items: list[Any] = []
        for row in rows.tolist():
            item, one = whole[row], None
            if item.is_valid:
                number = self.context.first_row + row
                one = value_at(item["metadata"].as_py(), item["value"].as_py(), (), number)
            items.append(None if one is None else plain(self.context.cast(one, target, row), target))
        found = nested(items, target)
        if made is None:
            return found
        places = np.arange(len(made))
        places[rows] = len(made) + np.arange(len(rows))
        return pa.concat_arrays([made, found]).take(pa.array(places))

    def leaf(self, typed: pa.Array, source: Scalar, target: Scalar) -> pa.Array:
        """A shredded scalar: the typed column, and `value` for rows of another type."""
        if source.type is VariantType.TIME:
            _check_times(typed, self.context)
        known = cast_typed(typed, source, target, self.context)
        value = self.group.value
        if value is None or value.null_count == len(value):
            return known
        return choose(pc.is_valid(typed), checked(known), self.extract(target))


def _elements(lists: pa.ListArray, counts: np.ndarray, offsets: np.ndarray) -> pa.Array:
    """The elements of the lists that are not null. pyarrow 26 does not flatten every extension type."""
    places = np.arange(offsets[-1])
    if len(places):
        places = places + np.repeat(lists.offsets.to_numpy()[:-1] - offsets[:-1], counts)
        if places[-1] - places[0] >= len(places):  # null lists with elements lie between
            return lists.values.take(pa.array(places))
    return lists.values.slice(places[0] if len(places) else 0, len(places))


def _first_bytes(kind: int) -> pa.Array:
    """The first bytes of all values of one basic type. Made of buffers, because `pa.array` imports pandas."""
    found = bytes(range(kind, 256, 4))
    offsets = pa.py_buffer(np.arange(len(found) + 1, dtype=np.int32))
    return pa.Array.from_buffers(pa.binary(), len(found), [None, offsets, pa.py_buffer(found)])


OBJECTS: Final = _first_bytes(2)
ARRAYS: Final = _first_bytes(3)


def _headers(value: pa.Array) -> pa.Array:
    return pc.binary_slice(as_binary(value), 0, 1)


def _is_object(typed: pa.Array) -> bool:
    return bool(pa.types.is_struct(typed.type))


def _holds_values(group: pa.Array) -> bool:
    """Whether a shredded group holds any `value`, for which metadata are needed."""
    value, typed = part(group, "value"), part(group, "typed_value")
    if value is not None and value.null_count < len(value):
        return True
    if typed is None:
        return False
    if is_list_like(typed.type):
        return _holds_values(as_list(normal(checked(typed))).values)
    return _is_object(typed) and any(_holds_values(typed.field(field.name)) for field in typed.type)


def _holds_variants(target: Target) -> bool:
    match target:
        case ListOf(inner) | MapOf(inner):
            return _holds_variants(inner)
        case StructOf(fields):
            return any(_holds_variants(field) for _, field in fields)
        case Scalar():
            return target.type is VariantType.STRING  # an object becomes JSON, with names of the metadata
        case _:
            return True


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else column.cast(kind, safe=False)


def _check_times(times: pa.Array, context: CastContext) -> None:
    """Raises an error for a time outside the day: Arrow accepts any number and shows it modulo a day."""
    micros = pc.cast(unencoded(checked(times)), pa.time64("us")).cast(pa.int64())
    wrong = pc.or_(pc.less(micros, 0), pc.greater_equal(micros, MICROS_PER_DAY))
    row = pc.index(wrong, True).as_py()
    if row >= 0:
        found = f"{context.path} is a time of day of {micros[row].as_py()} microseconds"
        raise MalformedVariant(f"row {context.first_row + row}: {found}")
