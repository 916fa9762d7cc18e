"""Arrow columns as a file wants them: every Variant, however deep, in the layout it is to be written in.

Other columns pass through untouched, and so do the buffers of the lists, maps and structs around a Variant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from shredlake import kernels
from shredlake.errors import InvalidSchema, MalformedVariant
from shredlake.kernels.layout import is_variant, shredded_type, shredding_schema
from shredlake.shredding.schema import ShreddingSchema, Untyped

Names: TypeAlias = tuple[str, ...]
"""The names on the way to a Variant column, as Parquet will spell them."""

Plan: TypeAlias = Mapping[Names, ShreddingSchema | None]
"""How each Variant column is to be shredded; None for not at all."""


def stored_variant() -> pa.StructType:
    """The type an unshredded Variant is written as: here, unlike in memory, `value` is required."""
    return pa.struct(
        [pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=False)]
    )


def variant_types(schema: pa.Schema) -> dict[Names, pa.DataType]:
    """Every Variant column of a schema, by the names that lead to it.

    >>> from shredlake.kernels.layout import variant
    >>> schema = pa.schema([("l", pa.list_(variant())), ("v", variant())])
    >>> [".".join(names) for names in variant_types(schema)]
    ['l.list.element', 'v']
    """
    return {names: type_ for field in schema for names, type_ in _variants(field.type, (field.name,))}


def _variants(type_: pa.DataType, names: Names) -> Iterator[tuple[Names, pa.DataType]]:
    if is_variant(type_):
        yield names, type_
        return
    for inner, field in _children(type_):
        yield from _variants(field.type, (*names, *inner))


def _children(type_: pa.DataType) -> list[tuple[Names, pa.Field]]:
    """The fields below a nested type, each with the names that Parquet puts on the way to it."""
    if pa.types.is_struct(type_):
        return [((field.name,), field) for field in type_]
    if pa.types.is_map(type_):
        return [(("key_value", "key"), type_.key_field), (("key_value", "value"), type_.item_field)]
    if pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        return [(("list", "element"), type_.value_field)]
    return []


def arranged_type(
    type_: pa.DataType, names: Names, plan: Mapping[Names, ShreddingSchema | None]
) -> pa.DataType:
    """The type in the file of a column of this type; `plan` says how each Variant in it is shredded."""
    if names in plan:
        schema = plan[names]
        return stored_variant() if schema is None else shredded_type(schema)
    if not any(planned[: len(names)] == names for planned in plan):
        return type_
    fields = [
        field.with_type(arranged_type(field.type, (*names, *inner), plan))
        for inner, field in _children(type_)
    ]
    return _with_children(type_, fields)


def _with_children(type_: pa.DataType, fields: list[pa.Field]) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct(fields)
    if pa.types.is_map(type_):
        return pa.map_(fields[0], fields[1], keys_sorted=type_.keys_sorted)
    if pa.types.is_large_list(type_):
        return pa.large_list(fields[0])
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(fields[0], type_.list_size)
    return pa.list_(fields[0])


def arrange(array: pa.Array, names: Names, plan: Plan) -> pa.Array:
    """The column with each Variant in it brought to the layout that `plan` says."""
    if names in plan:
        return arrange_variant(array, plan[names], ".".join(names))
    if not any(planned[: len(names)] == names for planned in plan):
        return array
    type_ = array.type
    if pa.types.is_struct(type_):
        children = [arrange(array.field(i), (*names, type_[i].name), plan) for i in range(type_.num_fields)]
        fields = [field.with_type(child.type) for field, child in zip(type_, children, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=pc.is_null(array))
    values, wrap = _unwrap(array)
    steps = _children(type_)
    inner = [arrange(child, (*names, *step), plan) for child, (step, _) in zip(values, steps, strict=True)]
    fields = [field.with_type(child.type) for child, (_, field) in zip(inner, steps, strict=True)]
    return wrap(inner, _with_children(type_, fields))


def _unwrap(array: pa.Array) -> tuple[list[pa.Array], Callable[[list[pa.Array], pa.DataType], pa.Array]]:
    """The values that a list or map really covers, and how to wrap others of that number like them."""
    mask = pc.is_null(array)
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        values = array.values.slice(array.offset * size, len(array) * size)
        return [values], lambda new, type_: pa.FixedSizeListArray.from_arrays(new[0], type=type_, mask=mask)
    start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
    offsets = pc.subtract(array.offsets, pa.scalar(start, array.offsets.type))
    if pa.types.is_map(array.type):
        entries = [array.keys.slice(start, end - start), array.items.slice(start, end - start)]
        return entries, lambda new, type_: pa.MapArray.from_arrays(offsets, *new, type=type_, mask=mask)
    kind = pa.LargeListArray if pa.types.is_large_list(array.type) else pa.ListArray
    values = array.values.slice(start, end - start)
    return [values], lambda new, type_: kind.from_arrays(offsets, new[0], type=type_, mask=mask)


def arrange_variant(array: pa.Array, schema: ShreddingSchema | None, name: str) -> pa.Array:
    """One Variant column in its layout: unshredded where `schema` is None."""
    if schema is None:
        return _unshredded(array, name)
    if shredding_schema(array.type) != schema:
        array = kernels.shred(array, schema)
    array = _conform(array, shredded_type(schema))
    metadata = array.field("metadata")
    if metadata.null_count == 0:
        return array
    parts = [_filled(metadata), *(array.field(i) for i in range(1, array.type.num_fields))]
    return pa.StructArray.from_arrays(parts, fields=list(array.type), mask=pc.is_null(array))


def _unshredded(array: pa.Array, name: str) -> pa.Array:
    type_ = stored_variant()
    parts = [_conform(array.field(field.name), field.type) for field in type_]
    mask = pc.is_null(array)
    lacking = pc.and_not(pc.or_(pc.is_null(parts[0]), pc.is_null(parts[1])), mask)
    if pc.any(lacking).as_py():
        row = pc.index(lacking, True).as_py()
        raise MalformedVariant(
            f"{name}, row {row}: neither NULL nor a Variant, its metadata or value is null; "
            "a Variant null is the value 00"
        )
    return pa.StructArray.from_arrays([_filled(part) for part in parts], fields=list(type_), mask=mask)


def _filled(array: pa.Array) -> pa.Array:
    """A required column without nulls: pyarrow refuses them even where the parent is null."""
    return array.fill_null(b"") if array.null_count else array


def _conform(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """The same data in another spelling: fields in the order wanted, absent ones null, plain layouts."""
    if array.type == type_:
        return array
    if pa.types.is_dictionary(array.type):
        return _conform(array.dictionary_decode(), type_)
    if pa.types.is_struct(type_):
        present = {field.name for field in array.type}
        parts = [
            _conform(array.field(field.name), field.type)
            if field.name in present
            else pa.nulls(len(array), field.type)
            for field in type_
        ]
        return pa.StructArray.from_arrays(parts, fields=list(type_), mask=pc.is_null(array))
    if pa.types.is_list(type_):
        if not pa.types.is_list(array.type):
            array = array.cast(pa.list_(array.type.value_field))
        [values], wrap = _unwrap(array)
        return wrap([_conform(values, type_.value_type)], type_)
    return array.cast(type_)


def plan_shredding(
    schema: pa.Schema, shredding: Mapping[str, ShreddingSchema | str | None] | None
) -> dict[Names, ShreddingSchema | None]:
    """How each Variant column is to be shredded. One that `shredding` does not name stays as it comes.

    >>> from shredlake.kernels.layout import variant
    >>> plan = plan_shredding(pa.schema([("v", variant()), ("w", variant())]), {"v": "struct<a bigint>"})
    >>> {".".join(names): str(schema) for names, schema in plan.items()}
    {'v': 'struct<a bigint>', 'w': 'None'}
    """
    found = variant_types(schema)
    known = {".".join(names): names for names in found}
    plan = {names: shredding_schema(type_) for names, type_ in found.items()}
    for name, wanted in (shredding or {}).items():
        if name not in known:
            raise InvalidSchema(
                f"there is no Variant column {name!r} to shred; there are: {', '.join(known) or 'none'}"
            )
        parsed = ShreddingSchema.parse(wanted) if isinstance(wanted, str) else wanted
        if parsed is not None and not isinstance(parsed.root, Untyped):
            plan[known[name]] = parsed
        elif plan[known[name]] is not None:
            raise InvalidSchema(f"{name} is shredded already: unshred it first to write it unshredded")
    return plan
