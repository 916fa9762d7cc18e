"""Fits Arrow data to a table: column order, types, missing columns and physical names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.read.convert import convert, first_failing
from shredlake.delta.schema.types import (
    Array,
    DeltaType,
    Map,
    Struct,
    arrow_field,
    arrow_type,
    contains,
    field_id,
)
from shredlake.errors import CastError, InvalidSchema
from shredlake.kernels import unshred
from shredlake.kernels.arrow.buffers import null_rows
from shredlake.kernels.arrow.types import is_variant, variant


@dataclass(frozen=True)
class Rule:
    """How values and fields are fitted."""

    convert: Callable[[pa.Array, pa.DataType], pa.Array]
    """Converts plain values."""
    extra_fields: bool
    """Whether structs may have fields that the table lacks."""
    by_id: bool = False
    """Whether fields of structs are found by their column ids rather than by name."""


# Rows from users must be stored without loss. Files may hold the narrower types that the protocol can widen,
# and fields that were dropped later.
ROWS = Rule(convert, extra_fields=False)
FILES = Rule(lambda array, target: array.cast(target), extra_fields=True)
FILES_BY_ID = replace(FILES, by_id=True)


def conform(
    table: pa.Table,
    schema: Struct,
    given: Mapping[str, pa.Array] | None = None,
    *,
    first_row: int | None = 0,
) -> pa.Table:
    """Returns the table with exactly the columns of the schema, in its order and types.

    Missing columns come from `given` (defaults, generated values) or are null. A column that the schema
    lacks, or a value that would change, raises an error. Errors number the rows from `first_row`; pass None
    if row numbers would mean nothing to the caller.

    >>> from shredlake.delta.schema.types import Field
    >>> schema = Struct((Field("id", "long"), Field("s", "string")))
    >>> conform(pa.table({"ID": pa.array([1], pa.int8())}), schema).to_pylist()
    [{'id': 1, 's': None}]
    """
    given = given or {}
    folded = _by_folded_name(table.column_names, "the data")
    known = {item.name.casefold() for item in schema.fields}
    extra = [name for key, name in folded.items() if key not in known]
    if extra:
        raise InvalidSchema(
            f"the data has the column{'s' if len(extra) > 1 else ''} {', '.join(sorted(extra))}, which the "
            f"table lacks; it has {', '.join(schema.names)}. "
            "Add it with schema_mode='merge', or with add_column first"
        )
    places = {name: place for place, name in enumerate(table.column_names)}
    columns = []
    for item in schema.fields:
        source = folded.get(item.name.casefold())
        if source is not None:
            columns.append(fit(table.column(places[source]), item.type, item.name, first_row=first_row))
        elif item.name in given:
            columns.append(fit(pa.chunked_array([given[item.name]]), item.type, item.name))
        else:
            columns.append(pa.chunked_array([null_rows(table.num_rows, arrow_type(item.type))]))
    # Constraints check nullability later, where they can name the row; here every field may be null.
    fields = [arrow_field(item).with_nullable(True) for item in schema.fields]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _by_folded_name(names: Sequence[str], owner: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        folded = name.casefold()
        if folded in found:
            raise InvalidSchema(
                f"{owner} has two columns called {found[folded]!r} and {name!r}; names must differ in more "
                "than case. Rename or drop one"
            )
        found[folded] = name
    return found


def fit(
    column: pa.ChunkedArray,
    kind: DeltaType,
    where: str,
    rule: Rule = ROWS,
    *,
    first_row: int | None = 0,
) -> pa.ChunkedArray:
    """Converts a column to the Arrow type of a Delta type. Variants may be shredded.

    >>> fit(pa.chunked_array([[1, 2], [300]]), "byte", "n")
    Traceback (most recent call last):
    ...
    shredlake.errors.CastError: column n, row 2: 300 can't be stored as int8 without a change
    """
    target = arrow_type(kind)
    if _is_fitting(column.type, target, rule):
        return column
    chunks: list[pa.Array] = []
    for chunk in column.chunks:
        try:
            chunks.append(_fit_array(chunk, kind, rule))
        except CastError as error:
            before = sum(map(len, chunks))
            row = before + first_failing(chunk, lambda part: _fits(part, kind, rule))
            at = f"column {where}" if first_row is None else f"column {where}, row {first_row + row}"
            raise CastError(f"{at}: {error}") from None
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, InvalidSchema) as error:
            raise InvalidSchema(
                f"column {where}: {column.type} does not fit the table's {target}. {error}"
            ) from None
    return pa.chunked_array(chunks, type=target)


def _fits(array: pa.Array, kind: DeltaType, rule: Rule) -> bool:
    try:
        _fit_array(array, kind, rule)
    except CastError:
        return False
    return True


def _fit_array(array: pa.Array, kind: DeltaType, rule: Rule) -> pa.Array:
    target = arrow_type(kind)
    if _is_fitting(array.type, target, rule):
        return array
    if pa.types.is_null(array.type):
        return null_rows(len(array), target)
    array = _decoded(array)
    match kind:
        case "variant":
            if not is_variant(array.type):
                raise InvalidSchema(
                    "a Variant column is a struct of metadata and value; use sl.from_json for text, "
                    "sl.from_arrow for other columns"
                )
            return unshred(array).cast(variant())
        case Struct():
            return _fit_struct(array, kind, target, rule)
        case Array():
            return _fit_list(array, kind, target, rule)
        case Map():
            return _fit_map(array, kind, target, rule)
        case _:
            if pa.types.is_nested(array.type):
                raise InvalidSchema("a nested column is not a plain one")
            return array if array.type.equals(target) else rule.convert(array, target)


def _is_fitting(given: pa.DataType, target: pa.DataType, rule: Rule) -> bool:
    """Whether there is nothing to convert. If ids decide, a field of the right name may be the wrong one."""
    return bool(given.equals(target)) and not (rule.by_id and pa.types.is_nested(given))


def _decoded(array: pa.Array) -> pa.Array:
    """Returns plain values for extension types, dictionaries and run-end encoded arrays."""
    if isinstance(array, pa.ExtensionArray):
        return _decoded(array.storage)
    if pa.types.is_dictionary(array.type):
        return _decoded(array.dictionary_decode())
    if pa.types.is_run_end_encoded(array.type):
        return _decoded(pc.run_end_decode(array))
    return array


def _fit_struct(array: pa.Array, kind: Struct, target: pa.DataType, rule: Rule) -> pa.Array:
    if not pa.types.is_struct(array.type):
        raise InvalidSchema("a struct is expected")
    names = [item.name for item in array.type]
    if rule.by_id:
        by_id = {field_id(item): item.name for item in array.type}
        have = {item.name.casefold(): by_id[item.id] for item in kind.fields if item.id in by_id}
    elif rule.extra_fields:
        have = {item.name.casefold(): item.name for item in kind.fields if item.name in names}
    else:
        have = _by_folded_name(names, "the struct")
        unknown = set(have) - {item.name.casefold() for item in kind.fields}
        if unknown:
            raise InvalidSchema(f"the struct has the unknown field {have[sorted(unknown)[0]]}")
    children = [
        _fit_array(pc.struct_field(array, [have[item.name.casefold()]]), item.type, rule)
        if item.name.casefold() in have
        else null_rows(len(array), arrow_type(item.type))
        for item in kind.fields
    ]
    return pa.StructArray.from_arrays(children, fields=list(target), mask=_nulls(array))


def _fit_list(array: Any, kind: Array, target: pa.DataType, rule: Rule) -> pa.Array:
    if not any(test(array.type) for test in _LISTS):
        raise InvalidSchema("a list is expected")
    values = _fit_array(array.flatten(), kind.element, rule)
    return pa.ListArray.from_arrays(_dense_offsets(array), values, type=target, mask=_nulls(array))


_LISTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)


def _fit_map(array: Any, kind: Map, target: pa.DataType, rule: Rule) -> pa.Array:
    if not pa.types.is_map(array.type):
        raise InvalidSchema("a map is expected")
    dense = _dense_map(array)
    keys, items = _fit_array(dense.keys, kind.key, rule), _fit_array(dense.items, kind.value, rule)
    return pa.MapArray.from_arrays(dense.offsets, keys, items, type=target, mask=_nulls(dense))


def _nulls(array: pa.Array) -> Any:
    return array.is_null() if array.null_count else None


def _dense_offsets(array: Any) -> pa.Array:
    """Returns offsets that match `flatten()`, which omits the values under null lists."""
    lengths = pc.fill_null(pc.list_value_length(array), 0).cast(pa.int64())
    total = pc.cumulative_sum(lengths)
    return pa.concat_arrays([pa.array([0], pa.int64()), total]).cast(pa.int32())


def physical(table: pa.Table, schema: Struct) -> pa.Table:
    """Rename the columns of a conformed table to their physical names, and add the schema's column ids.

    Only names, ids and nullability change; the data is the same.
    """
    columns, fields = [], []
    places = {name: place for place, name in enumerate(table.column_names)}
    for item in schema.fields:
        if item.name not in places:
            continue
        field = arrow_field(item, physical=True)
        column = table.column(places[item.name])
        if not isinstance(item.type, str) and contains(item.type, "variant"):
            # A child of a null struct may hold any value, but a Variant child must be null too.
            column = pa.chunked_array([renamed_array(c, field.type) for c in column.chunks], type=field.type)
        columns.append(renamed(column, field.type))
        fields.append(field)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def renamed(column: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    """Returns the same data under a type that differs only in field names, ids and nullability."""
    if column.type.equals(target, check_metadata=True):
        return column
    return pa.chunked_array([renamed_array(chunk, target) for chunk in column.chunks], type=target)


def renamed_array(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Returns the same data under another type; the children of null structs and lists become null too."""
    if is_variant(target) or not pa.types.is_nested(target):
        return array if array.type.equals(target) else array.cast(target)
    if pa.types.is_struct(target):
        children = [
            renamed_array(child, item.type) for child, item in zip(array.flatten(), target, strict=True)
        ]
        return pa.StructArray.from_arrays(children, fields=list(target), mask=_nulls(array))
    if pa.types.is_map(target):
        dense = _dense_map(array)
        keys = renamed_array(dense.keys, target.key_type)
        items = renamed_array(dense.items, target.item_type)
        return pa.MapArray.from_arrays(dense.offsets, keys, items, type=target, mask=_nulls(dense))
    values = renamed_array(array.flatten(), target.value_type)
    return pa.ListArray.from_arrays(_dense_offsets(array), values, type=target, mask=_nulls(array))


def _dense_map(array: pa.MapArray) -> pa.MapArray:
    """Returns a copy whose keys and items start at the first row and have no entries under nulls."""
    return array.take(pa.array(range(len(array)), pa.int64()))
