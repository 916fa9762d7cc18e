"""The profile that the kernel is compared with, against figures counted by hand."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from decimal import Decimal
from typing import Any

import pytest

from shredlake.shredding.inference.profile import PREFIX, Look, Profile
from shredlake.shredding.inference.profile_reference import profile_values
from shredlake.shredding.schema import ARRAY_ELEMENT
from shredlake.variant import Variant, VariantType


def of(*values: Any, **options: int) -> Profile:
    return profile_values((Variant.of(value) for value in values), **options)


def test_rows_nulls_and_bytes() -> None:
    variants = [Variant.of({"a": 1}), None, Variant.of(None)]
    found = profile_values(variants)
    assert (found.rows, found.nulls, found.missed) == (3, 1, 0)
    assert found.metadata_bytes == sum(len(one.metadata) for one in variants if one)
    assert found.root.size == sum(len(one.value) for one in variants if one)
    assert found.root.types == {VariantType.OBJECT: 1, VariantType.NULL: 1}


def test_no_values() -> None:
    found = profile_values([])
    assert (found.rows, found.nulls, found.root.count, found.root.children) == (0, 0, 0, ())


def test_a_path_counts_once_a_row_and_its_values_all() -> None:
    found = of({"l": [{"x": 1}, {"x": "y"}]}, {"l": []}, {"l": 5})
    x = found.at("l", ARRAY_ELEMENT, "x")
    assert (x.count, x.rows, x.types) == (2, 1, {VariantType.INT8: 1, VariantType.STRING: 1})
    lists = found.at("l")
    assert (lists.elements, lists.shortest, lists.longest) == (2, 0, 2)


def test_numbers_have_a_range_scales_and_digits() -> None:
    found = of(-5, Decimal("1.25"), 300, math.nan, 1e300).root
    assert (found.ranged, found.low, found.high) == (4, -5.0, 1e300)
    assert found.scales == {0: 2, 2: 1}
    assert found.digits == {1: 2, 3: 1}


def test_the_largest_decimal_is_counted() -> None:
    found = of(Decimal("9" * 38), Decimal("1e-38")).root
    assert found.scales == {0: 1, 38: 1}
    assert found.digits == {38: 1, 0: 1}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, VariantType.BOOLEAN),
        (dt.date(2024, 2, 29), VariantType.DATE),
        (dt.datetime(2024, 2, 29), VariantType.TIMESTAMP_NTZ),
        (dt.datetime(2024, 2, 29, tzinfo=dt.UTC), VariantType.TIMESTAMP),
        (dt.time(1, 2), VariantType.TIME),
        (b"\x00\xff", VariantType.BINARY),
        (uuid.UUID(int=7), VariantType.UUID),
        ("x" * 100, VariantType.STRING),
    ],
)
def test_every_scalar_is_counted_and_told_apart(value: Any, kind: VariantType) -> None:
    found = of(value, value, value).root
    assert found.types == {kind: 3}
    assert round(found.distinct) == 1


def test_equal_numbers_of_different_width_are_one_value() -> None:
    assert round(of(5, 5).root.distinct) == 1
    assert round(of(5, "5", b"5").root.distinct) == 3


def test_text_is_measured_in_bytes() -> None:
    found = of("é", "", "2024-02-29").root
    assert (found.text_bytes, found.longest_text) == (12, 10)
    assert found.looks == {Look.EMPTY: 1, Look.DATE: 1}


def test_a_type_of_a_newer_specification_has_a_size_only() -> None:
    found = profile_values([Variant(b"\x01\x00\x00", bytes([63 << 2]))]).root
    assert (found.count, found.size, found.types) == (1, 1, {})


def test_the_order_of_texts_is_that_of_their_first_bytes() -> None:
    texts = [f"{'x' * PREFIX}{n}" for n in range(5)]
    order = of(*texts).root.order
    assert order is not None
    assert (order.first, order.last) == (b"x" * PREFIX, b"x" * PREFIX)


def test_the_rarest_paths_are_dropped_and_counted() -> None:
    rows = [{"always": 1, **({"often": 1} if n % 2 else {}), f"k{n}": n} for n in range(40)]
    found = of(*rows, max_paths=3)
    assert {child.name for child in found.root.children} == {"always", "often"}
    assert found.missed == 1
    assert found.root.other_count == 40
    assert round(found.root.distinct_keys) == pytest.approx(42, abs=3)


@pytest.mark.parametrize(("depth", "paths"), [(0, 1), (1, 2), (2, 3), (9, 4)])
def test_the_depth_is_bounded(depth: int, paths: int) -> None:
    assert len(list(of({"a": {"b": [1]}}, max_depth=depth).paths())) == paths
