"""A value's bytes, read in place: sizes, and every way to be too short."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from shredlake.errors import MalformedVariant
from shredlake.variant.layout import container_at, scalar_at, type_at, value_end, value_size
from shredlake.variant.types import VariantType
from shredlake.variant.value import Variant

VALUES: list[Any] = [
    None,
    True,
    5,
    300,
    1 << 40,
    1.5,
    Decimal("1.10"),
    date(2024, 1, 2),
    time(1, 2),
    b"bytes",
    "short",
    "x" * 100,
    UUID(int=7),
    [],
    [1, "a", None],
    {},
    {"a": 1, "b": [2]},
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_the_end_of_a_value_is_found_among_other_bytes(value: Any) -> None:
    raw = Variant.of(value).value
    assert value_size(b"ab" + raw + b"rest", 2) == len(raw)


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_value_that_is_cut_short_is_malformed(value: Any) -> None:
    raw = Variant.of(value).value
    for end in range(len(raw)):
        with pytest.raises(MalformedVariant):
            value_end(raw[:end], 0, end)


def test_children_have_limits() -> None:
    raw = Variant.of([1, "abc", 2]).value
    found = container_at(raw, 0, len(raw))
    children = found.children(raw)
    assert [scalar_at(raw, start, limit)[1] for start, limit in children] == [1, "abc", 2]
    assert [(found.child_start(raw, n), found.child_limit(raw, n)) for n in range(3)] == children


def test_children_that_overlap_are_malformed() -> None:
    raw = bytes([0x03, 2, 0, 0, 2, 0x0C, 1])  # both elements start at 0
    with pytest.raises(MalformedVariant, match="overlaps"):
        container_at(raw, 0, len(raw)).children(raw)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (bytes([21 << 2]), "primitive type 21 is reserved"),
        (bytes([16 << 2, 1, 0, 0, 0, 0xFF]), "not UTF-8"),
        (bytes([17 << 2]) + (86_400_000_000).to_bytes(8, "little"), "time of day"),
        (bytes([8 << 2, 39, 1, 0, 0, 0]), "scale 39"),
        (bytes([8 << 2, 0]) + (10**9).to_bytes(4, "little"), "10 digits"),
    ],
)
def test_content_that_no_type_has(raw: bytes, problem: str) -> None:
    with pytest.raises(MalformedVariant, match=problem):
        scalar_at(raw, 0, len(raw))


def test_types() -> None:
    values: list[Any] = [{}, [], "x", "y" * 99, False]
    kinds = [type_at(raw := Variant.of(value).value, 0, len(raw)) for value in values]
    assert kinds == [
        VariantType.OBJECT,
        VariantType.ARRAY,
        VariantType.STRING,
        VariantType.STRING,
        VariantType.BOOLEAN,
    ]
