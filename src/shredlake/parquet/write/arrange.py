"""Chooses the layout in which each Variant of a table is written, and converts it, at any depth."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from shredlake import kernels
from shredlake.errors import InvalidSchema, MalformedVariant
from shredlake.kernels.arrow.buffers import null_rows
from shredlake.kernels.arrow.types import is_variant, shredded_type, shredding_schema
from shredlake.kernels.profile import infer_schema
from shredlake.parquet.nested import Names, Replacement, find_types, replace_columns, unwrap
from shredlake.shredding.schema import Array, Node, Object, ShreddingSchema, Untyped

Plan: TypeAlias = Mapping[Names, ShreddingSchema | None]
"""The shredding of each Variant column; None for unshredded."""

_LEVELS = 99
"""The maximum depth of a Parquet schema in pyarrow, without the root."""


def stored_variant() -> pa.StructType:
    """The type of an unshredded Variant in a file: unlike in memory, `value` is required."""
    return pa.struct(
        [pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=False)]
    )


def infer_plan(table: pa.Table, plan: Plan) -> dict[Names, ShreddingSchema | None]:
    """Adds a schema to the plan for each Variant column that is not shredded yet.

    >>> import shredlake as sl
    >>> table = pa.table({"v": sl.from_json(pa.array(['{"id": 1}', '{"id": 2}']))})
    >>> {".".join(names): str(schema) for names, schema in infer_plan(table, {("v",): None}).items()}
    {'v': 'struct<id bigint>'}
    """
    types = find_types(table.schema, is_variant)
    found: dict[Names, list[pa.Array]] = {names: [] for names, schema in plan.items() if schema is None}

    def collect(names: Names) -> Replacement:
        def note(array: pa.Array) -> pa.Array:
            found[names].append(array)
            return array

        return Replacement(types[names], note)

    replace_columns(table, {names: collect(names) for names in found})
    inferred = dict(plan)
    for names, arrays in found.items():
        schema = infer_schema(pa.chunked_array(arrays, types[names]))
        inferred[names] = None if isinstance(schema.root, Untyped) else schema
    return inferred


def arrange(table: pa.Table, plan: Plan) -> pa.Table:
    """Converts each Variant of the table to the layout in `plan`."""
    return replace_columns(
        table,
        {
            names: Replacement(
                stored_variant() if schema is None else shredded_type(schema),
                partial(arrange_variant, schema=schema, name=".".join(names)),
            )
            for names, schema in plan.items()
        },
    )


def arrange_variant(array: pa.Array, schema: ShreddingSchema | None, name: str) -> pa.Array:
    """Converts one Variant column to its layout; unshredded if `schema` is None."""
    if schema is None:
        return _unshredded(array, name)
    if shredding_schema(array.type) != schema or _has_null_groups(array):
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
            f"{name}, row {row}: its metadata or value is null, but the Variant is not; "
            "write a Variant null as the value 00"
        )
    return pa.StructArray.from_arrays([_filled(part) for part in parts], fields=list(type_), mask=mask)


def _filled(array: pa.Array) -> pa.Array:
    """A required column without nulls, which pyarrow rejects even under a null parent."""
    return array.fill_null(b"") if array.null_count else array


def _has_null_groups(array: pa.StructArray) -> bool:
    """Whether fields or elements of a shredded column are null groups, as other writers may produce.

    In our files these groups are required, and pyarrow would write the values under the null.
    """
    at = array.type.get_field_index("typed_value")
    if at < 0 or not pa.types.is_nested(array.type.field(at).type):
        return False
    typed = array.field(at)
    fields = range(typed.type.num_fields)
    groups = map(typed.field, fields) if pa.types.is_struct(typed.type) else [typed.values]
    return any(group.null_count or _has_null_groups(group) for group in groups)


def _conform(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Converts data to a type: reorders fields, adds missing ones as null, and uses plain layouts."""
    if array.type == type_:
        return array
    if pa.types.is_dictionary(array.type):
        return _conform(array.dictionary_decode(), type_)
    if pa.types.is_struct(type_):
        present = {field.name for field in array.type}
        parts = [
            _conform(array.field(field.name), field.type)
            if field.name in present
            else null_rows(len(array), field.type)
            for field in type_
        ]
        return pa.StructArray.from_arrays(parts, fields=list(type_), mask=pc.is_null(array))
    if pa.types.is_list(type_):
        if not pa.types.is_list(array.type):
            array = array.cast(pa.list_(array.type.value_field))
        [values], wrap = unwrap(array)
        return wrap([_conform(values, type_.value_type)], type_)
    return array.cast(type_)


def _check_depth(name: str, levels: int) -> None:
    if levels > _LEVELS:
        raise InvalidSchema(
            f"the schema for {name} needs {levels} levels of a Parquet schema; pyarrow supports "
            f"{_LEVELS}. Shred less deeply: an object needs 2 levels, an array 3"
        )


def _levels(node: Node) -> int:
    """Levels of a Parquet schema below a group: two per object (typed_value and field), three per array."""
    match node:
        case Object(fields):
            return 2 + max((_levels(child) for _, child in fields), default=0)
        case Array(element):
            return 3 + _levels(element)
    return 1


def plan_shredding(
    schema: pa.Schema,
    shredding: Mapping[str, ShreddingSchema | str | None] | None,
    variants: Collection[Names] | None = None,
) -> dict[Names, ShreddingSchema | None]:
    """The shredding of each Variant column. A column that `shredding` does not name keeps its layout.

    `variants` names the Variant columns; by default, every column with a Variant's shape is one.

    >>> from shredlake.kernels.arrow.types import variant
    >>> plan = plan_shredding(pa.schema([("v", variant()), ("w", variant())]), {"v": "struct<a bigint>"})
    >>> {".".join(names): str(schema) for names, schema in plan.items()}
    {'v': 'struct<a bigint>', 'w': 'None'}
    """
    shaped = find_types(schema, is_variant)
    found = {names: type_ for names, type_ in shaped.items() if variants is None or names in variants}
    known = {".".join(names): names for names in found}
    plan = {names: shredding_schema(type_) for names, type_ in found.items()}
    for name, wanted in (shredding or {}).items():
        if name not in known:
            raise InvalidSchema(
                f"there is no Variant column {name!r} to shred; the Variant columns are: "
                f"{', '.join(known) or 'none'}"
            )
        parsed = ShreddingSchema.parse(wanted) if isinstance(wanted, str) else wanted
        if parsed is not None and not isinstance(parsed.root, Untyped):
            _check_depth(name, len(known[name]) + _levels(parsed.root))
            plan[known[name]] = parsed
        elif plan[known[name]] is not None:
            raise InvalidSchema(f"{name} is already shredded. Unshred it first to write it unshredded")
    return plan
