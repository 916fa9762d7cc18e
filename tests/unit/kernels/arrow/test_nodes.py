"""An Arrow column as a tree of a few kinds: every layout ends as the same kind with the same rows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from shredlake.errors import InvalidSchema, InvalidValue
from shredlake.kernels import shred
from shredlake.kernels.arrow.nodes import ArrowNode, Kind, node_of, primitive_header
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant import VariantType
from variant_columns import column_of, rows

SCALARS: list[tuple[pa.DataType, Any, Kind, VariantType | None, pa.DataType]] = [
    (pa.int8(), 5, Kind.FIXED, VariantType.INT8, pa.int8()),
    (pa.uint8(), 255, Kind.FIXED, VariantType.INT16, pa.int16()),
    (pa.uint16(), 65_535, Kind.FIXED, VariantType.INT32, pa.int32()),
    (pa.uint32(), 2**32 - 1, Kind.FIXED, VariantType.INT64, pa.int64()),
    (pa.uint64(), 2**64 - 1, Kind.UNSIGNED, None, pa.uint64()),
    (pa.float16(), 1.5, Kind.FIXED, VariantType.FLOAT, pa.float32()),
    (pa.float64(), 1.5, Kind.FIXED, VariantType.DOUBLE, pa.float64()),
    (pa.date64(), dt.date(2024, 2, 29), Kind.FIXED, VariantType.DATE, pa.date32()),
    (pa.time32("s"), dt.time(1, 2, 3), Kind.FIXED, VariantType.TIME, pa.time64("us")),
    (pa.timestamp("s"), dt.datetime(2024, 2, 29), Kind.FIXED, VariantType.TIMESTAMP_NTZ, pa.timestamp("us")),
    (
        pa.timestamp("ms", "Asia/Tokyo"),
        1000,
        Kind.FIXED,
        VariantType.TIMESTAMP,
        pa.timestamp("us", "Asia/Tokyo"),
    ),
    (pa.timestamp("ns", "UTC"), 1, Kind.FIXED, VariantType.TIMESTAMP_NANOS, pa.timestamp("ns", "UTC")),
    (pa.timestamp("ns"), 1, Kind.FIXED, VariantType.TIMESTAMP_NTZ_NANOS, pa.timestamp("ns")),
    (pa.string(), "é", Kind.BYTES, VariantType.STRING, pa.large_string()),
    (pa.string_view(), "é", Kind.BYTES, VariantType.STRING, pa.large_string()),
    (pa.binary(2), b"xy", Kind.BYTES, VariantType.BINARY, pa.large_binary()),
    (pa.binary_view(), b"xy", Kind.BYTES, VariantType.BINARY, pa.large_binary()),
    (pa.decimal32(5, 2), Decimal("1.50"), Kind.DECIMAL, None, pa.decimal128(38, 2)),
    (pa.decimal256(60, 2), Decimal("1.50"), Kind.DECIMAL, None, pa.decimal128(38, 2)),
    (pa.decimal128(5, -2), Decimal("1500"), Kind.DECIMAL, None, pa.decimal128(38, 0)),
    (pa.bool_(), True, Kind.BOOLEAN, None, pa.bool_()),
    (pa.null(), None, Kind.NULL, None, pa.null()),
]


@pytest.mark.parametrize(("type_", "value", "kind", "variant", "stored"), SCALARS, ids=lambda one: str(one))
def test_scalars(
    type_: pa.DataType, value: Any, kind: Kind, variant: VariantType | None, stored: pa.DataType
) -> None:
    array = pa.array([value, None], type_)
    node = node_of(array)
    assert (node.kind, node.type, node.array.type) == (kind, variant, stored)
    assert node.array.null_count == array.null_count
    assert node.array.cast(type_).equals(array)
    if kind is Kind.FIXED:
        assert node.width == stored.bit_width // 8
    assert (primitive_header(node) != 0) == (variant is not None)


def test_encodings_and_extensions_are_removed() -> None:
    assert node_of(pa.array(["a", "a"]).dictionary_encode()).array.to_pylist() == ["a", "a"]
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([7, 8]))
    assert node_of(runs).array.to_pylist() == [7, 7, 8]
    uuid = node_of(pa.array([b"x" * 16], pa.uuid()))
    assert (uuid.kind, uuid.type, uuid.width) == (Kind.FIXED, VariantType.UUID, 16)
    assert uuid.array.type == pa.binary(16)


def listed(node: ArrowNode) -> list[list[Any]]:
    """The rows of a list or map, by its starts and ends."""
    assert node.starts is not None
    assert node.ends is not None
    ends = zip(node.starts.to_pylist(), node.ends.to_pylist(), strict=True)
    return [node.children[0].array.slice(start, end - start).to_pylist() for start, end in ends]


LISTS = {
    "list": pa.list_(pa.int64()),
    "large list": pa.large_list(pa.int64()),
    "list view": pa.list_view(pa.int64()),
    "large list view": pa.large_list_view(pa.int64()),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(("start", "count"), [(0, 4), (1, 2), (3, 1), (4, 0)])
def test_lists_and_their_slices(name: str, start: int, count: int) -> None:
    values = [[1], [2, 3], [], [4, None, 6]]
    node = node_of(pa.array(values, LISTS[name]).slice(start, count))
    assert node.kind is Kind.LIST
    assert listed(node) == values[start : start + count]


@pytest.mark.parametrize(("start", "count"), [(0, 3), (1, 2), (3, 0)])
def test_fixed_size_lists_and_their_slices(start: int, count: int) -> None:
    values = [[1, 2], [3, 4], [5, 6]]
    node = node_of(pa.array(values, pa.list_(pa.int64(), 2)).slice(start, count))
    assert listed(node) == values[start : start + count]


def test_children_hold_only_what_the_slice_uses() -> None:
    """Neighbouring rows may hold values without a Variant, which must not fail this slice."""
    far = pa.array([[2**62], [1]], pa.list_(pa.timestamp("s")))
    with pytest.raises(InvalidValue, match=r"\$\[0\]: timestamp\[s\] can't be converted"):
        node_of(far)
    assert len(node_of(far[1:]).children[0].array) == 1


def test_maps() -> None:
    maps = pa.array([[("a", 1)], [("b", 2), ("c", None)]], pa.map_(pa.string(), pa.int8()))
    node = node_of(maps[1:])
    assert node.kind is Kind.MAP
    assert listed(node) == [["b", "c"]]
    assert node.children[1].array.to_pylist() == [2, None]


def test_structs_keep_the_names_in_order() -> None:
    node = node_of(pa.array([{"b": 1, "a": "x"}]))
    assert (node.kind, node.names) == (Kind.STRUCT, ("b", "a"))
    assert [child.kind for child in node.children] == [Kind.FIXED, Kind.BYTES]
    assert node_of(pa.array([{}], pa.struct([]))).children == ()


def test_variants_inside_are_unshredded() -> None:
    column = column_of([{"a": 1}, "x"])
    for one in (column, shred(column, ShreddingSchema.parse("struct<a bigint>"))):
        node = node_of(one)
        assert node.kind is Kind.VARIANT
        assert rows(node.array) == rows(column)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (
            pa.nulls(1, pa.list_(pa.duration("s"))),
            r"^\$\[0\]: duration\[s\] has no Variant type; cast",
        ),
        (pa.nulls(1, pa.struct([("a", pa.month_day_nano_interval())])), r"^\$\['a'\]: month_day_nano"),
        (pa.nulls(1, pa.map_(pa.int8(), pa.int8())), r"^\$: the map's keys are int8"),
        (pa.nulls(1, pa.decimal256(76, 39)), r"^\$: decimal256\(76, 39\) has no Variant type"),
        (
            pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
            r"^\$: there are two fields named 'a'",
        ),
    ],
)
def test_types_without_a_variant(array: pa.Array, message: str) -> None:
    with pytest.raises(InvalidSchema, match=message):
        node_of(array)


def test_values_without_a_variant() -> None:
    with pytest.raises(InvalidValue, match=r"^\$\['n'\]: decimal256\(60, 0\) can't be converted"):
        node_of(pa.array([{"n": Decimal(10**50)}], pa.struct([("n", pa.decimal256(60, 0))])))
