"""The builder: order of calls, duplicates, what Python can't give."""

from __future__ import annotations

from datetime import UTC, time
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest

from shredlake import Decimal4, Float32, Int8, InvalidValue, TimestampNanos, Variant, VariantBuilder


def test_piece_by_piece_is_the_same_as_at_once() -> None:
    builder = VariantBuilder().start_object().key("b").append([1, {"c": None}]).key("a").start_array()
    built = builder.append_string("x").append_integer(5).append_decimal(110, 2).end().end().build()
    at_once = Variant.of({"b": [1, {"c": None}], "a": ["x", 5, Decimal("1.10")]})
    assert (built.metadata, built.value) == (at_once.metadata, at_once.value)


def test_mappings_tuples_and_variants_go_in() -> None:
    inner = Variant.of({"z": Int8(1)})["z"]
    variant = Variant.of(MappingProxyType({"t": (1, 2), "v": inner, "w": Variant.of({"z": "z"})}))
    assert variant.to_python() == {"t": [1, 2], "v": 1, "w": {"z": "z"}}
    assert variant.dictionary.names() == ["t", "v", "w", "z"]


def test_last_wins_drops_the_earlier_value_and_keeps_names() -> None:
    builder = VariantBuilder(duplicate_keys="last_wins").start_object()
    built = builder.key("a").append({"x": 1}).key("b").append(2).key("a").append(3).end().build().validate()
    assert built.to_python() == {"a": 3, "b": 2}
    assert built.dictionary.names() == ["a", "x", "b"]
    assert built.value == b"\x02\x02\x00\x02\x02\x00\x04\x0c\x02\x0c\x03"


def test_sizes_so_far() -> None:
    builder = VariantBuilder()
    assert (builder.value_size, builder.metadata_size) == (0, 3)
    built = builder.append({"ab": [1, 2]}).build()
    assert builder.value_size == len(built.value)
    assert builder.metadata_size == len(built.metadata)


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        (lambda b: b.append(1).append(2), "a Variant is one value"),
        (lambda b: b.start_object().append(1), "call key\\(\\) before each value"),
        (lambda b: b.start_object().key("a").end(), "the key 'a' has no value"),
        (lambda b: b.start_object().key("a").key("b"), "before each value"),
        (lambda b: b.start_array().key("a"), "only inside an object"),
        (lambda b: b.end(), "without an open"),
        (lambda b: b.build(), "nothing has been built yet"),
        (lambda b: b.start_array().build(), "still open"),
        (lambda b: b.start_object().key("a").append(1).key("a").append(2).end(), "'a' occurs twice"),
        (lambda b: b.append_decimal(10**38, 0), "more than 38 digits"),
    ],
)
def test_calls_out_of_order_are_refused(calls: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        calls(VariantBuilder())


def test_unknown_option() -> None:
    with pytest.raises(InvalidValue, match="'first_wins', expected 'error' or 'last_wins'"):
        VariantBuilder(duplicate_keys="first_wins")


CYCLE: list[Any] = []
CYCLE.append({"again": CYCLE})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, object()]}, r"a Variant can't hold a value of type object.*, at \$\.a\[1\]"),
        ({"a": {1: 2}}, r"the key 1 is an int, at \$\.a; keys are str"),
        ({"a": 1 << 200}, r"more than 38 digits does not fit any exact type.*, at \$\.a"),
        (Decimal("NaN"), "is not a number"),
        (Decimal("1e-39"), "more than 38"),
        (Decimal("1e40"), "more than 38"),
        (Decimal("1" * 39), "more than 38 digits"),
        (["\ud800"], r"half a surrogate pair at 0, at \$\[0\]"),
        ({"\udfff": 1}, "half a surrogate pair"),
        (time(1, tzinfo=UTC), "a Variant's time of day does not"),
        (CYCLE, r"contains itself, at \$\[0\]\.again"),
    ],
)
def test_what_has_no_place_is_named_with_its_path(value: object, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Variant.of(value)


def test_the_same_list_twice_is_no_cycle() -> None:
    shared = [1]
    assert Variant.of([shared, shared, {"a": shared}]).to_python() == [[1], [1], {"a": [1]}]


def test_zero_with_any_exponent() -> None:
    assert Variant.of(Decimal("0E+50")) == Variant.of(0)


def test_wrappers_refuse_what_does_not_fit() -> None:
    misfits: list[tuple[Any, object]] = [
        (Int8, 128),
        (Decimal4, "1234567890"),
        (Float32, 1e39),
        (TimestampNanos, 1 << 63),
    ]
    for wrapper, value in misfits:
        with pytest.raises(ValueError):
            wrapper(value)
    assert repr(Float32(0.5)) == "Float32(0.5)"
