"""`get`: what a path leads to in every row of a Variant column, cast as Spark's variant_get does.

On a shredded column the path is followed through the typed columns as far as they go:

```
$.user.id     typed_value ─ user ─ typed_value ─ id ─┬─ typed_value    taken as it is if the type is right
                                                     └─ value          looked into only where it is not null
$.user.tags   typed_value ─ user ─ value                               a field that is not shredded: its name
                                                                       is looked up in the deepest `value`
```
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import CastError
from shredlake.kernels.cast import ADVICE, cast_value, try_cast_value
from shredlake.kernels.cast_column import cast_typed
from shredlake.kernels.chunks import Column, map_pieces
from shredlake.kernels.columns import as_binary, check_column, column_of, part, validity_of
from shredlake.kernels.compiled import engine
from shredlake.kernels.datetime_text import session_zone
from shredlake.kernels.fallback.get import value_at
from shredlake.kernels.layout import is_list_like, shredding_schema, typed_value_type
from shredlake.kernels.raw_arrays import arrow_type, choose, patched, plain, scalars
from shredlake.kernels.targets import (
    AnyVariant,
    Target,
    scalar_of,
    target_of,
)
from shredlake.shredding.schema import Scalar
from shredlake.variant import Path, Variant, VariantType

Steps: TypeAlias = tuple[str | int, ...]


def get(
    column: Column,
    path: str | Path,
    type: pa.DataType | None = None,
    *,
    strict: bool = False,
    timezone: str = "UTC",
    threads: int | None = None,
) -> Column:
    """What `path` leads to, as a typed Arrow array, or as a Variant column if `type` is None.

    The result is the same on shredded and unshredded columns. A path that leads nowhere and a Variant null
    give null. A value that does not cast gives null too (Spark's try_variant_get), or with `strict` a
    CastError that names row, path and value (Spark's variant_get). `timezone` is the session's, for casts
    between instants and texts, dates or clocks without a zone. See docs/casts.md for what casts to what.

    >>> import pyarrow as pa, shredlake as sl
    >>> column = sl.from_json(pa.array(['{"user": {"id": 7}}', '{"user": {"id": "8"}}', '{}']))
    >>> get(column, "$.user.id", pa.int64()).to_pylist()
    [7, 8, None]
    """
    check_column(column)
    steps = (path if isinstance(path, Path) else Path.parse(path)).steps
    shredding_schema(column.type)  # a layout that can't exist is an error, wherever the path leads
    lookup = Lookup(steps, AnyVariant() if type is None else target_of(type), strict, session_zone(timezone))
    result: pa.Array | pa.ChunkedArray = map_pieces(partial(_get_piece, lookup), column, threads=threads)
    return result if type is None or result.type == type else result.cast(type)


@dataclass(frozen=True)
class Lookup:
    """What is asked of every row."""

    steps: Steps
    target: Target
    strict: bool
    zone: dt.tzinfo


@dataclass(frozen=True)
class Group:
    """One node of a shredded column; rows that are not `valid` (None: all are) have no such node."""

    metadata: pa.Array
    value: pa.Array | None
    typed: pa.Array | None
    valid: pa.Array | None

    def child(self, step: str | int) -> Group | None:
        """The node one step further, None if the path is not shredded there."""
        typed = self.typed
        if typed is None:
            return None
        if isinstance(step, str) and pa.types.is_struct(typed.type):
            group = part(typed, step)
            return None if group is None else self.below(group, typed)
        if isinstance(step, int) and is_list_like(typed.type):
            elements = _elements_at(typed, step)
            return self.below(elements, elements)
        return None

    def below(self, group: pa.StructArray, present: pa.Array) -> Group:
        """A group of this one; it is there where `present` is not null."""
        value, typed = part(group, "value"), part(group, "typed_value")
        return Group(self.metadata, value, typed, _both(self.valid, validity_of(present)))


def _elements_at(lists: pa.Array, index: int) -> pa.StructArray:
    """The element of each list at the index; null where there is none."""
    if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)):
        lists = lists.cast(pa.list_(lists.type.value_field))
    starts = lists.offsets.slice(0, len(lists)).cast(pa.int64())
    there = pc.greater(pc.list_value_length(lists), index)
    return lists.values.take(pc.if_else(there, pc.add(starts, index), None))


def _both(a: pa.Array | None, b: pa.Array | None) -> pa.Array | None:
    if a is None or b is None:
        return b if a is None else a
    return pc.and_(a, b)


def _under(array: pa.Array, valid: pa.Array | None) -> pa.Array:
    """The array with nulls where it is not valid; the array itself if it has them there already."""
    if valid is None or not pc.any(pc.and_(pc.is_valid(array), pc.invert(valid)), min_count=0).as_py():
        return array
    return pc.if_else(valid, array, pa.scalar(None, array.type))


def _get_piece(lookup: Lookup, first_row: int, piece: pa.StructArray) -> pa.Array:
    valid = validity_of(piece)
    group = Group(as_binary(part(piece, "metadata")), part(piece, "value"), part(piece, "typed_value"), valid)
    depth = 0
    for step in lookup.steps:
        child = group.child(step)
        if child is None:
            break
        group, depth = child, depth + 1
    rest = lookup.steps[depth:]
    reader = _Reader(lookup, first_row, group)
    if isinstance(lookup.target, AnyVariant):
        return reader.variants(rest)
    if rest or group.typed is None:
        return reader.cast_values(group.value, rest)
    return reader.leaf()


@dataclass(frozen=True)
class _Reader:
    """The deepest shredded node on the path, for one piece of a column."""

    lookup: Lookup
    first_row: int
    group: Group

    @property
    def rows(self) -> int:
        return len(self.group.metadata)

    def variants(self, rest: Steps) -> pa.StructArray:
        """The Variants at the rest of the path."""
        metadata, value, typed, valid = (
            self.group.metadata,
            self.group.value,
            self.group.typed,
            self.group.valid,
        )
        if typed is not None and not rest:
            from shredlake.kernels.unshred import unshred

            there = pc.is_valid(typed) if value is None else pc.or_(pc.is_valid(typed), pc.is_valid(value))
            # A missing root is a Variant null (unshred sees to it), a missing field is none at all.
            valid = valid if not self.lookup.steps else _both(valid, there)
            return unshred(column_of(metadata, value, typed, valid), threads=1)
        found = self.extract(value, rest, None)
        if not self.lookup.steps:
            found = pc.fill_null(found, b"\x00")
            return column_of(metadata, found, None, valid)
        return column_of(metadata, found, None, validity_of(found))

    def cast_values(self, value: pa.Array | None, rest: Steps) -> pa.Array:
        """What the rest of the path leads to in `value`, cast."""
        target = self.lookup.target
        if isinstance(target, Scalar):
            return self.extract(value, rest, target)
        found = self.extract(value, rest, None)
        items = [
            None if not item.is_valid else self.cast(Variant(metadata.as_py(), item.as_py()), row)
            for row, (metadata, item) in enumerate(zip(self.group.metadata, found, strict=True))
        ]
        return pa.array([plain(item, target) for item in items], arrow_type(target))

    def leaf(self) -> pa.Array:
        """A shredded leaf: the typed column, and `value` where the leaf is not of that type."""
        target, value = self.lookup.target, self.group.value
        typed = _under(self.group.typed, self.group.valid)
        source = scalar_of(typed.type.value_type if pa.types.is_dictionary(typed.type) else typed.type)
        if source is None or not isinstance(target, Scalar):
            # Objects and arrays only cast to text and to nested types, which want them whole.
            if (
                isinstance(target, Scalar)
                and target.type is not VariantType.STRING
                and not self.lookup.strict
            ):
                return self.cast_values(value, ())
            whole = self.variants(())
            return _Reader(
                self.lookup, self.first_row, Group(whole.field("metadata"), None, None, validity_of(whole))
            ).cast_values(whole.field("value"), ())
        known = cast_typed(typed, source, target, self.lookup.zone, self.typed_failure)
        if value is None or value.null_count == len(value):
            return known
        rest = self.extract(value, (), target)
        return rest if typed.null_count == len(typed) else choose(pc.is_valid(typed), known, rest)

    def extract(
        self, value: pa.Array | None, steps: tuple[str | int, ...], target: Scalar | None
    ) -> pa.Array:
        """The engine's work, and what it leaves over done by the reference."""
        if value is None or value.null_count == len(value):
            return pa.nulls(self.rows, pa.binary() if target is None else typed_value_type(target))
        value, metadata = as_binary(value), self.group.metadata
        utc = self.lookup.zone is dt.UTC
        array, deferred = engine("get").extract(
            metadata, value, self.group.valid, steps, target, utc, self.lookup.strict, self.first_row
        )
        if not len(deferred):
            return array
        patches: list[Any] = []
        for row in deferred.to_pylist():
            found = value_at(metadata[row].as_py(), value[row].as_py(), steps, self.first_row + row)
            if target is None:
                patches.append(found and found.value)
            else:
                patches.append(None if found is None else self.cast(found, row))
        patch = pa.array(patches, pa.binary()) if target is None else scalars(patches, target)
        return patched(array, deferred, patch)

    def cast(self, variant: Variant, row: int) -> Any:
        """One value by the reference."""
        if not self.lookup.strict:
            return try_cast_value(variant, self.lookup.target, self.lookup.zone)
        try:
            return cast_value(
                variant, self.lookup.target, self.lookup.zone, Path(self.lookup.steps).normalized()
            )
        except CastError as error:
            raise CastError(f"row {self.first_row + row}, {error}") from None

    def typed_failure(self, row: int, problem: str) -> None:
        """What a value of a typed column that does not cast does."""
        if self.lookup.strict:
            path = Path(self.lookup.steps).normalized()
            raise CastError(f"row {self.first_row + row}, {path}: {problem}; {ADVICE}")
