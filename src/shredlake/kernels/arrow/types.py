"""The Arrow types of Variant columns: unshredded, shredded by a schema, and those of other writers.

```
variant()                    struct<metadata: binary not null, value: binary>
shredded_type("bigint")      struct<metadata: binary not null, value: binary, typed_value: int64>
shredded_type("struct<a bigint, b variant>")
                             struct<metadata: binary not null, value: binary,
                                    typed_value: struct<a: struct<value: binary, typed_value: int64> not null,
                                                        b: struct<value: binary> not null>>
shredded_type("array<date>") struct<metadata: binary not null, value: binary,
                                    typed_value: list<element: struct<value: binary,
                                                                      typed_value: date32> not null>>
```
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from shredlake.caches import IdentityCache, cached
from shredlake.errors import InvalidSchema
from shredlake.kernels.arrow.normalize import unencoded_type
from shredlake.shredding.schema import (
    ARRAY_ELEMENT,
    MAX_DEPTH,
    Array,
    Node,
    Object,
    Scalar,
    ShreddingSchema,
    Steps,
    Untyped,
    decimal,
    node_path,
)
from shredlake.variant.types import DECIMAL_PRECISION, VariantType

SCALAR_TYPES: Final[dict[VariantType, pa.DataType]] = {
    VariantType.BOOLEAN: pa.bool_(),
    VariantType.INT8: pa.int8(),
    VariantType.INT16: pa.int16(),
    VariantType.INT32: pa.int32(),
    VariantType.INT64: pa.int64(),
    VariantType.FLOAT: pa.float32(),
    VariantType.DOUBLE: pa.float64(),
    VariantType.DATE: pa.date32(),
    VariantType.TIME: pa.time64("us"),
    VariantType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    VariantType.TIMESTAMP_NANOS: pa.timestamp("ns", tz="UTC"),
    VariantType.TIMESTAMP_NTZ: pa.timestamp("us"),
    VariantType.TIMESTAMP_NTZ_NANOS: pa.timestamp("ns"),
    VariantType.BINARY: pa.binary(),
    VariantType.STRING: pa.string(),
    VariantType.UUID: pa.uuid(),
}
"""The Arrow type of each shredded scalar; decimals, which have precision and scale, are decimal128."""

SCALARS_OF_ARROW: Final[dict[pa.DataType, VariantType]] = {
    **{arrow: kind for kind, arrow in SCALAR_TYPES.items()},
    pa.large_string(): VariantType.STRING,
    pa.string_view(): VariantType.STRING,
    pa.large_binary(): VariantType.BINARY,
    pa.binary_view(): VariantType.BINARY,
}
"""The same the other way round, with further layouts of strings and binaries."""


def variant() -> pa.StructType:
    """The Arrow type of an unshredded Variant column, for schemas.

    >>> variant()
    StructType(struct<metadata: binary not null, value: binary>)
    """
    return pa.struct([pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary())])


def is_variant(type_: pa.DataType) -> bool:
    """Whether a type has the shape of a Variant column, shredded or not.

    That is, a struct with a binary `metadata` and at least one of `value` and `typed_value`. Fields whose
    names start with `_` are ignored.

    >>> is_variant(variant()), is_variant(pa.struct([("value", pa.binary())]))
    (True, False)
    """
    if not pa.types.is_struct(type_):
        return False
    names = [field.name for field in type_ if not field.name.startswith("_")]
    return (
        len(names) == len(set(names))
        and {"metadata"} < set(names) <= {"metadata", "value", "typed_value"}
        and is_binary_like(type_.field("metadata").type)
        and ("value" not in names or is_binary_like(type_.field("value").type))
    )


def shredded_type(schema: ShreddingSchema) -> pa.StructType:
    """The Arrow type of a column shredded by `schema`.

    >>> shredded_type(ShreddingSchema.parse("bigint"))
    StructType(struct<metadata: binary not null, value: binary, typed_value: int64>)
    """
    return pa.struct([pa.field("metadata", pa.binary(), nullable=False), *_group_fields(schema.root)])


def typed_value_type(node: Node) -> pa.DataType | None:
    """The Arrow type of a node's `typed_value`; None for an untyped node.

    >>> typed_value_type(decimal(9, 2))
    Decimal128Type(decimal128(9, 2))
    """
    match node:
        case Scalar(kind, precision, scale):
            return SCALAR_TYPES.get(kind) or pa.decimal128(precision, scale)
        case Object(fields):
            return pa.struct([pa.field(name, group_type(child), nullable=False) for name, child in fields])
        case Array(element):
            return pa.list_(pa.field("element", group_type(element), nullable=False))
        case Untyped():
            return None


_recent: Final[IdentityCache[pa.DataType, ShreddingSchema | None]] = IdentityCache(
    pa.DataType.equals, "schemas of Arrow types"
)


def shredding_schema(type_: pa.DataType) -> ShreddingSchema | None:
    """Derives the schema from the Arrow type of a Variant column; None if it is unshredded.

    Accepts the layouts of other writers: fields in any order, no `value`, optional field groups, large, view
    and dictionary types. Raises an error that names the node for a type that the specification does not
    allow.

    >>> str(shredding_schema(shredded_type(ShreddingSchema.parse("struct<a array<date>>"))))
    'struct<a array<date>>'
    >>> shredding_schema(variant()) is None
    True
    """
    return _recent.get(type_, _shredding_schema)


@cached(64, "schemas of Arrow types by value")
def _shredding_schema(type_: pa.DataType) -> ShreddingSchema | None:
    if not is_variant(type_):
        raise InvalidSchema(
            f"not a Variant column: {type_}; expected a struct of metadata (binary) and value (binary), "
            "typed_value, or both"
        )
    if type_.get_field_index("typed_value") < 0:
        return None
    return ShreddingSchema(_node_of(type_.field("typed_value").type, ()))


_BINARY_LIKE: Final = {pa.binary(), pa.large_binary(), pa.binary_view()}


def is_binary_like(type_: pa.DataType) -> bool:
    """Returns whether a type holds bytes of any length, in any of Arrow's layouts.

    >>> is_binary_like(pa.large_binary()), is_binary_like(pa.binary(4))
    (True, False)
    """
    return unencoded_type(type_) in _BINARY_LIKE


def is_list_like(type_: pa.DataType) -> bool:
    """Whether a type is one of Arrow's list layouts.

    >>> is_list_like(pa.large_list(pa.int8()))
    True
    """
    return any(
        is_layout(type_)
        for is_layout in (
            pa.types.is_list,
            pa.types.is_large_list,
            pa.types.is_list_view,
            pa.types.is_large_list_view,
            pa.types.is_fixed_size_list,
        )
    )


def _group_fields(node: Node) -> list[pa.Field]:
    value, typed = pa.field("value", pa.binary()), typed_value_type(node)
    return [value] if typed is None else [value, pa.field("typed_value", typed)]


def group_type(node: Node) -> pa.StructType:
    """The Arrow type of a field's or an element's group.

    >>> group_type(Untyped())
    StructType(struct<value: binary>)
    """
    return pa.struct(_group_fields(node))


def _node_of(type_: pa.DataType, steps: Steps) -> Node:
    """Derives the node from the type of its `typed_value`."""
    if len(steps) > MAX_DEPTH:
        raise InvalidSchema(f"the column is nested deeper than {MAX_DEPTH} levels")
    if pa.types.is_struct(type_):
        fields = tuple((field.name, _node_of_group(field.type, (*steps, field.name))) for field in type_)
        try:
            return Object(fields)
        except InvalidSchema as error:
            raise InvalidSchema(str(error), path=node_path(steps)) from None
    if is_list_like(type_):
        return Array(_node_of_group(type_.value_type, (*steps, ARRAY_ELEMENT)))
    return _scalar_of(type_, steps)


def _node_of_group(type_: pa.DataType, steps: Steps) -> Node:
    """Derives the node of a field group or list element, a struct of `value`, `typed_value` or both."""
    where = node_path(steps)
    if not pa.types.is_struct(type_):
        raise InvalidSchema(f"expected a group of value and typed_value, found {type_}", path=where)
    parts = {field.name: field.type for field in type_ if not field.name.startswith("_")}
    if not parts or not parts.keys() <= {"value", "typed_value"}:
        raise InvalidSchema(
            f"expected a group of value and typed_value, found fields {list(parts)}", path=where
        )
    if "value" in parts and not is_binary_like(parts["value"]):
        raise InvalidSchema(f"value must be binary, found {parts['value']}", path=where)
    return _node_of(parts["typed_value"], steps) if "typed_value" in parts else Untyped()


def _scalar_of(type_: pa.DataType, steps: Steps) -> Scalar:
    type_ = unencoded_type(type_)
    if type_ in SCALARS_OF_ARROW:
        return Scalar(SCALARS_OF_ARROW[type_])
    if pa.types.is_decimal(type_) and type_.precision <= DECIMAL_PRECISION[VariantType.DECIMAL16]:
        try:
            return decimal(type_.precision, type_.scale)
        except InvalidSchema as error:
            raise InvalidSchema(str(error), path=node_path(steps)) from None
    if pa.types.is_timestamp(type_) and type_.tz and type_.unit in ("us", "ns"):
        # Arrow stores instants in UTC, in whichever zone they are shown.
        return Scalar(VariantType.TIMESTAMP if type_.unit == "us" else VariantType.TIMESTAMP_NANOS)
    raise InvalidSchema(
        f"{type_} is not a type that a Variant can be shredded as; expected one of "
        f"{', '.join(str(known) for known in SCALAR_TYPES.values())}, decimal128",
        path=node_path(steps),
    )
