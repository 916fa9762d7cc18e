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
from shredlake.kernels.arrow.nested import Names, unwrap
from shredlake.kernels.arrow.types import is_variant, shredded_type, shredding_schema
from shredlake.kernels.profile import infer_schema
from shredlake.parquet.nested import Replacement, find_types, replace_columns
from shredlake.shredding.request import Request, Shredding, requests
from shredlake.shredding.schema import Array, Node, Object, ShreddingSchema, Untyped

Requests: TypeAlias = Mapping[Names, Request]
"""The request for each Variant column."""

Chosen: TypeAlias = Mapping[Names, ShreddingSchema | None]
"""The schema of each Variant column in the file; None for unshredded."""

_LEVELS = 99
"""The maximum depth of a Parquet schema in pyarrow, without the root."""


def stored_variant() -> pa.StructType:
    """The type of an unshredded Variant in a file: unlike in memory, `value` is required."""
    return pa.struct(
        [pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=False)]
    )


def choose_schemas(asked: Requests, table: pa.Table) -> Chosen:
    """The schemas that are requested; those to be inferred are inferred from the table.

    >>> import shredlake as sl
    >>> table = pa.table({"v": sl.from_json(pa.array(['{"id": 1}', '{"id": 2}']))})
    >>> {".".join(names): str(schema) for names, schema in choose_schemas({("v",): "infer"}, table).items()}
    {'v': 'struct<id bigint>'}
    """
    types = find_types(table.schema, is_variant)
    found: dict[Names, list[pa.Array]] = {names: [] for names, wanted in asked.items() if wanted == "infer"}

    def collect(names: Names) -> Replacement:
        def note(array: pa.Array) -> pa.Array:
            found[names].append(array)
            return array

        return Replacement(types[names], note)

    replace_columns(table, {names: collect(names) for names in found})
    inferred = {
        names: _without_untyped(infer_schema(pa.chunked_array(arrays, types[names])))
        for names, arrays in found.items()
    }
    return {names: inferred[names] if wanted == "infer" else wanted for names, wanted in asked.items()}


def arrange(table: pa.Table, chosen: Chosen) -> pa.Table:
    """Converts each Variant of the table to the layout of its schema."""
    return replace_columns(
        table,
        {
            names: Replacement(
                stored_variant() if schema is None else shredded_type(schema),
                partial(arrange_variant, schema=schema, name=".".join(names)),
            )
            for names, schema in chosen.items()
        },
    )


def arrange_variant(array: pa.Array, schema: ShreddingSchema | None, name: str) -> pa.Array:
    """Converts one Variant column to its layout; unshredded if `schema` is None."""
    if schema is None:
        return _unshredded(array if shredding_schema(array.type) is None else kernels.unshred(array), name)
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


def requested_schemas(
    schema: pa.Schema, shredding: Shredding, variants: Collection[Names] | None = None
) -> Requests:
    """The request for each Variant column. A column that is already shredded keeps its schema under "infer".

    `variants` names the Variant columns; by default, every column with a Variant's shape is one.

    >>> from shredlake.kernels.arrow.types import variant
    >>> asked = requested_schemas(pa.schema([("v", variant()), ("w", variant())]), {"v": "struct<a bigint>"})
    >>> {".".join(names): str(schema) for names, schema in asked.items()}
    {'v': 'struct<a bigint>', 'w': 'infer'}
    """
    shaped = find_types(schema, is_variant)
    known = {".".join(names): names for names in shaped if variants is None or names in variants}
    asked: dict[Names, Request] = {}
    for name, wanted in requests(shredding, list(known)).items():
        names = known[name]
        if isinstance(wanted, ShreddingSchema):
            _check_depth(name, len(names) + _levels(wanted.root))
            asked[names] = _without_untyped(wanted)
        elif wanted == "infer":
            asked[names] = shredding_schema(shaped[names]) or "infer"
        else:
            asked[names] = None
    return asked


def _without_untyped(schema: ShreddingSchema) -> ShreddingSchema | None:
    """The schema, or None if it shreds nothing."""
    return None if isinstance(schema.root, Untyped) else schema
