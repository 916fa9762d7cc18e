"""Statistics of each leaf column of a finished file, as Arrow scalars.

Bounds come from the row groups' statistics, which Arrow writes exactly. Arrow omits bounds longer than 4 kB,
and they are unknown here too. Parquet's bounds ignore NaN, so the writer looks for NaN in the data.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shredlake.kernels.arrow.nested import children
from shredlake.kernels.arrow.normalize import normal_schema
from shredlake.parquet.entries import list_values, map_lists


@dataclass(frozen=True)
class LeafStatistics:
    """Statistics of one leaf column over a whole file."""

    minimum: pa.Scalar | None
    """The exact minimum; None if it is unknown or there are no values. NaN is ignored."""
    maximum: pa.Scalar | None
    value_count: int
    """The number of values; a leaf below a list may have more values than the file has rows."""
    null_count: int
    """The number of nulls, including those under a null or missing parent."""
    has_nan: bool
    compressed_size: int
    uncompressed_size: int


def leaves(type_: pa.DataType | pa.Schema, names: tuple[str, ...] = ()) -> Iterator[tuple[str, pa.DataType]]:
    """The dotted name and type of each leaf, in the order of Parquet's columns.

    >>> schema = pa.schema([("a", pa.struct([("x", pa.int8()), ("y", pa.list_(pa.string()))]))])
    >>> [(name, str(leaf)) for name, leaf in leaves(schema)]
    [('a.x', 'int8'), ('a.y.list.element', 'string')]
    """
    whole = pa.struct(list(type_)) if isinstance(type_, pa.Schema) else type_
    if not pa.types.is_nested(whole):
        yield ".".join(names), whole
    for step, field in children(whole):
        yield from leaves(field.type, (*names, *step))


def leaf_arrays(array: pa.Array) -> Iterator[pa.Array]:
    """The arrays of the leaves, in the order of Parquet's columns."""
    if pa.types.is_struct(array.type):
        for i in range(array.type.num_fields):
            yield from leaf_arrays(array.field(i))
    elif pa.types.is_map(array.type):
        for part in map_lists(array):
            yield from leaf_arrays(list_values(part))
    elif pa.types.is_nested(array.type):
        yield from leaf_arrays(list_values(array))
    else:
        yield array


def nan_leaves(table: pa.Table) -> set[int]:
    """The positions of the leaf columns that hold a NaN."""
    found = set()
    position = 0
    for column in table.columns:
        count = sum(1 for _ in leaves(column.type))
        for chunk in column.chunks:
            for leaf, array in enumerate(leaf_arrays(chunk), start=position):
                if pa.types.is_floating(array.type) and pc.any(pc.is_nan(array)).as_py():
                    found.add(leaf)
        position += count
    return found


def leaf_statistics(metadata: pq.FileMetaData, schema: pa.Schema, with_nan: set[int]) -> list[LeafStatistics]:
    """The statistics of every leaf column, in order; `schema` is the Arrow schema of the file."""
    return [
        _leaf(metadata, column, type_, column in with_nan)
        for column, (_, type_) in enumerate(leaves(normal_schema(schema)))
    ]


def _leaf(metadata: pq.FileMetaData, position: int, type_: pa.DataType, has_nan: bool) -> LeafStatistics:
    comparable, scalar = _physical(type_)
    bounds: list[tuple[Any, Any]] = []
    known = True
    values = nulls = compressed = uncompressed = 0
    for index in range(metadata.num_row_groups):
        chunk = metadata.row_group(index).column(position)
        statistics = chunk.statistics
        compressed += chunk.total_compressed_size
        uncompressed += chunk.total_uncompressed_size
        if statistics is None or not statistics.has_null_count:
            known = False
            values += chunk.num_values
            continue
        present = chunk.num_values - statistics.null_count
        values += present
        nulls += statistics.null_count
        if statistics.has_min_max:
            bounds.append((comparable(statistics.min_raw), comparable(statistics.max_raw)))
        elif present and not has_nan:
            known = False
    exact = known and bool(bounds)
    return LeafStatistics(
        minimum=_bound(scalar, min(low for low, _ in bounds)) if exact else None,
        maximum=_bound(scalar, max(high for _, high in bounds)) if exact else None,
        value_count=values,
        null_count=nulls,
        has_nan=has_nan,
        compressed_size=compressed,
        uncompressed_size=uncompressed,
    )


def _bound(scalar: Callable[[Any], pa.Scalar], raw: Any) -> pa.Scalar | None:
    """The bound as a value of its type; None if another writer's bound does not have that type."""
    try:
        return scalar(raw)
    except (ValueError, OverflowError, decimal.DecimalException, pa.ArrowException):
        return None


def _physical(type_: pa.DataType) -> tuple[Callable[[Any], Any], Callable[[Any], pa.Scalar]]:
    """Functions that make a raw bound of this type comparable, and that convert it to a scalar."""
    if pa.types.is_decimal(type_):
        return _integer, lambda raw: pa.scalar(_EXACT.scaleb(raw, -type_.scale), type_)
    if pa.types.is_unsigned_integer(type_):
        mask = (1 << type_.bit_width) - 1
        return lambda raw: raw & mask, lambda raw: pa.scalar(raw, type_)
    if pa.types.is_date(type_) or pa.types.is_time(type_) or pa.types.is_timestamp(type_):
        storage = pa.int32() if type_.bit_width == 32 else pa.int64()
        return _same, lambda raw: pa.array([raw], storage).view(type_)[0]
    if isinstance(type_, pa.BaseExtensionType):
        return _same, lambda raw: pa.ExtensionArray.from_storage(type_, pa.array([raw], type_.storage_type))[
            0
        ]
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return _same, lambda raw: pa.scalar(raw.decode(), type_)
    if pa.types.is_dictionary(type_):
        return _physical(type_.value_type)
    return _same, lambda raw: pa.scalar(raw, type_)


_EXACT = decimal.Context(prec=80)


def _same(raw: Any) -> Any:
    return raw


def _integer(raw: Any) -> decimal.Decimal:
    return decimal.Decimal(int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw)
