"""Collects the statistics of a data file for its `add` action.

```
{"numRecords": 3,
 "minValues": {"id": 1, "v": "<z85 of {"$['a']": 1}>"},
 "maxValues": {"id": 9, "v": "<z85 of {"$['a']": 7}>"},
 "nullCount": {"id": 0, "v": 1, "tags": 0}}
```

Every number comes from the footer of the finished file. Statistics that would not be sound are omitted: the
maximum of a column with NaN (NaN is the greatest value), infinities (JSON has none), and the bounds of a path
with values in its residual.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from shredlake.delta.protocol.properties import (
    INDEXED_COLUMNS,
    PREFIX_LENGTH,
    STATS_COLUMNS,
    VARIANT_LIMIT,
    TableProperties,
)
from shredlake.delta.schema.types import DeltaType, Field, Struct
from shredlake.delta.stats.z85 import encode_variant
from shredlake.parquet.write.writer import FileFacts, VariantFacts
from shredlake.variant import Variant
from shredlake.variant.scalars import Decimal4, Decimal8, Decimal16, Float32, Int8, Int16, Int32, Int64

_GREATEST = "\U0010ffff"


@dataclass(frozen=True)
class StatsPolicy:
    """How much to record, from the table's properties.

    >>> StatsPolicy.of(TableProperties({"delta.dataSkippingNumIndexedCols": "2"})).indexed_columns
    2
    """

    indexed_columns: int = INDEXED_COLUMNS.default
    """The number of leaf columns, counted from the left; -1 for all."""
    named_columns: tuple[str, ...] | None = None
    """If set, statistics are collected for exactly these columns instead."""
    always: tuple[str, ...] = ()
    """Clustering columns, which always have statistics."""
    prefix_length: int = PREFIX_LENGTH.default
    """The number of characters that strings are truncated to."""
    limit_per_variant: int = VARIANT_LIMIT.default
    """The maximum number of paths of a Variant column; 0 for none."""

    @staticmethod
    def of(properties: TableProperties, clustering: tuple[str, ...] = ()) -> StatsPolicy:
        return StatsPolicy(
            indexed_columns=properties.get(INDEXED_COLUMNS),
            named_columns=properties.get(STATS_COLUMNS),
            always=clustering,
            prefix_length=properties.get(PREFIX_LENGTH),
            limit_per_variant=properties.get(VARIANT_LIMIT),
        )


@dataclass(frozen=True)
class Leaf:
    """A column that has statistics: its logical and physical names from the root, and its type."""

    names: tuple[str, ...]
    physical: tuple[str, ...]
    type: DeltaType


def leaf_columns(schema: Struct, partition_columns: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Yields the columns and nested fields that are not structs. Partition columns have no statistics."""

    def visit(field: Field, names: tuple[str, ...], physical: tuple[str, ...]) -> Iterator[Leaf]:
        names, physical = (*names, field.name), (*physical, field.physical_name)
        if isinstance(field.type, Struct):
            for child in field.type.fields:
                yield from visit(child, names, physical)
        else:
            yield Leaf(names, physical, field.type)

    for field in schema.fields:
        if field.name not in partition_columns:
            yield from visit(field, (), ())


def indexed_leaves(schema: Struct, partition_columns: tuple[str, ...], policy: StatsPolicy) -> list[Leaf]:
    """The columns that the policy chooses."""
    leaves = list(leaf_columns(schema, partition_columns))
    unclear = clashing(schema)

    def named(leaf: Leaf, wanted: tuple[str, ...]) -> bool:
        dotted = {".".join(leaf.names[:depth]) for depth in range(1, len(leaf.names) + 1)}
        return bool(dotted.intersection(wanted))

    if policy.named_columns is not None:
        chosen = [leaf for leaf in leaves if named(leaf, policy.named_columns + policy.always)]
    else:
        count = len(leaves) if policy.indexed_columns < 0 else policy.indexed_columns
        chosen = [leaf for number, leaf in enumerate(leaves) if number < count or named(leaf, policy.always)]
    return [leaf for leaf in chosen if leaf.physical[0] not in unclear]


def clashing(schema: Struct) -> set[str]:
    """Physical names of columns that can't be told apart in a dotted name: `a.b`, and `a` with a field `b`.

    >>> a, b = Field("a", Struct((Field("b", "long"),))), Field("a.b", "long")
    >>> sorted(clashing(Struct((a, b, Field("a.c", "long")))))
    ['a', 'a.b']
    """
    places: dict[str, set[tuple[str, ...]]] = {}
    for leaf in leaf_columns(schema):
        for depth in range(1, len(leaf.physical) + 1):
            names = leaf.physical[:depth]
            places.setdefault(".".join(names), set()).add(names)
    return {names[0] for found in places.values() if len(found) > 1 for names in found}


def file_stats(
    facts: FileFacts,
    schema: Struct,
    partition_columns: tuple[str, ...],
    policy: StatsPolicy,
    container_nulls: Mapping[tuple[str, ...], int],
    *,
    variant_bounds: bool,
) -> str:
    """The statistics of a finished file, as JSON text.

    `container_nulls` counts null lists and maps, which a footer does not distinguish from empty ones.
    `variant_bounds` says whether to record bounds of Variants, which the table allows only with shredding.
    """
    minimum: dict[str, Any] = {}
    maximum: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for leaf in indexed_leaves(schema, partition_columns, policy):
        dotted = ".".join(leaf.physical)
        if leaf.type == "variant":
            variant = facts.variants[dotted]
            put(nulls, leaf.physical, variant.null_count)
            if variant_bounds:
                lower, upper = variant_extremes(variant, policy)
                put(minimum, leaf.physical, None if lower is None else encode_variant(lower))
                put(maximum, leaf.physical, None if upper is None else encode_variant(upper))
        elif isinstance(leaf.type, str):
            if dotted not in facts.leaves:
                put(nulls, leaf.physical, facts.num_rows)  # a void column is never written
                continue
            statistics = facts.leaves[dotted]
            put(nulls, leaf.physical, statistics.null_count)
            put(minimum, leaf.physical, json_bound(statistics.minimum, policy.prefix_length, upper=False))
            if not statistics.has_nan:
                put(maximum, leaf.physical, json_bound(statistics.maximum, policy.prefix_length, upper=True))
        elif leaf.physical in container_nulls:
            put(nulls, leaf.physical, container_nulls[leaf.physical])
    return render(
        {"numRecords": facts.num_rows, "minValues": minimum, "maxValues": maximum, "nullCount": nulls}
    )


def put(target: dict[str, Any], names: tuple[str, ...], value: Any) -> None:
    """Sets a value in nested objects. None is not recorded."""
    if value is None:
        return
    for name in names[:-1]:
        target = target.setdefault(name, {})
    target[names[-1]] = value


# ── Bounds of one column ────────────────────────────────────────────────────────────────────────────────


def truncated_minimum(text: str, length: int) -> str:
    """Returns a prefix, which is never greater than the text itself.

    >>> truncated_minimum("abcdef", 3)
    'abc'
    """
    return text[:length]


def truncated_maximum(text: str, length: int) -> str | None:
    """Returns a prefix followed by a character that makes it at least as great as the text.

    >>> truncated_maximum("abcdef", 3)
    'abc\\x7f'
    >>> truncated_maximum("abc", 3)
    'abc'
    """
    if len(text) <= length:
        return text
    # The character after the prefix must be smaller than the appended one; if not, take a longer prefix.
    for end in range(length, min(len(text), 2 * length)):
        if text[end] < "\x7f":
            return text[:end] + "\x7f"
        if text[end] < _GREATEST:
            return text[:end] + _GREATEST
    return None


def _as_python(scalar: pa.Scalar | None) -> Any:
    """The value of a bound; None if there is none, or for a date outside Python's range."""
    try:
        return None if scalar is None else scalar.as_py()
    except (ValueError, OverflowError):
        return None


def python_value(bound: pa.Scalar) -> Any:
    """A bound as Python has it, or as text where it lies outside Python's years.

    >>> python_value(pa.scalar(7_000_000, pa.int32()).cast(pa.date32()))
    '21135-05-09'
    """
    try:
        return bound.as_py()
    except (ValueError, OverflowError):
        return bound.cast(pa.string()).as_py()


def json_bound(scalar: pa.Scalar | None, prefix_length: int, *, upper: bool) -> Any:
    """The minimum or maximum of an ordinary column as JSON; None if it has none."""
    value = _as_python(scalar)
    if scalar is None or value is None:
        return None
    kind = scalar.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        cut = truncated_maximum if upper else truncated_minimum
        return cut(value, prefix_length)
    if pa.types.is_floating(kind):
        return value if abs(value) < float("inf") else None
    if pa.types.is_timestamp(kind):
        return _timestamp_text(value, upper=upper, zone=kind.tz is not None)
    if pa.types.is_date(kind):
        return value.isoformat()
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return value
    return None  # booleans and binaries have no bounds in Delta


def _timestamp_text(value: datetime, *, upper: bool, zone: bool) -> str | None:
    """Format with milliseconds, minima rounded down and maxima up, so that they are true bounds."""
    rest = value.microsecond % 1000
    try:
        value -= timedelta(microseconds=rest)
        if upper and rest:
            value += timedelta(milliseconds=1)
    except OverflowError:
        return None
    text = value.replace(tzinfo=None).isoformat(timespec="milliseconds")
    return f"{text}Z" if zone else text


# ── Bounds of a Variant ─────────────────────────────────────────────────────────────────────────────────


def variant_extremes(facts: VariantFacts, policy: StatsPolicy) -> tuple[Variant | None, Variant | None]:
    """Returns the minimum and maximum of each path of a Variant column, as two objects keyed by path.

    A path has bounds only if its own `value` is null in every row, because all its values then have one type.
    """
    lower: dict[str, Any] = {}
    upper: dict[str, Any] = {}
    for path, leaf in facts.leaves.items():
        if len(lower) >= policy.limit_per_variant:
            break
        if path in facts.residual or "[*]" in path or leaf.value_count == 0:
            continue
        least = variant_bound(leaf.minimum, policy.prefix_length, upper=False)
        greatest = None if leaf.has_nan else variant_bound(leaf.maximum, policy.prefix_length, upper=True)
        if least is not None:
            lower[path] = least
        if greatest is not None:
            upper[path] = greatest
    return (Variant.of(lower) if lower else None), (Variant.of(upper) if upper else None)


_EXACT: list[tuple[pa.DataType, Any]] = [
    (pa.int8(), Int8),
    (pa.int16(), Int16),
    (pa.int32(), Int32),
    (pa.int64(), Int64),
    (pa.float32(), Float32),
    (pa.float64(), float),
    (pa.bool_(), bool),
    (pa.date32(), lambda value: value),
    (pa.timestamp("us", tz="UTC"), lambda value: value),
    (pa.timestamp("us"), lambda value: value),
]
_WRAPPER = dict(_EXACT)


def variant_bound(scalar: pa.Scalar | None, prefix_length: int, *, upper: bool) -> Any:
    """Returns a bound as a Python object that becomes a Variant of the leaf's type, or None.

    Binary, uuid, time and nanosecond leaves have no bounds, because other engines can't read such Variants
    yet.
    """
    value = _as_python(scalar)
    if scalar is None or value is None:
        return None
    kind = scalar.type
    if pa.types.is_string(kind):
        return truncated_maximum(value, prefix_length) if upper else truncated_minimum(value, prefix_length)
    if pa.types.is_decimal(kind):
        width = Decimal4 if kind.precision <= 9 else Decimal8 if kind.precision <= 18 else Decimal16
        return width(value)
    wrap = _WRAPPER.get(kind)
    return None if wrap is None else wrap(value)


def render(value: Any) -> str:
    """Format as JSON with decimals in full, which the `json` module can't write.

    >>> render({"a": Decimal("1.10"), "b": [1, "x"]})
    '{"a":1.10,"b":[1,"x"]}'
    """
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(str(key))}:{render(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(render, value)) + "]"
    if isinstance(value, Decimal):
        return format(value, "f")
    return json.dumps(value, ensure_ascii=False)
