"""Python to Variant to Python, JSON to Variant to JSON, and every layout read as the same value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shredlake import MalformedVariant, Path, Variant, VariantBuilder
from strategies import (
    exact_values,
    hostile_buffers,
    json_documents,
    keys,
    python_values,
    variants,
    wide_variants,
)


def same(left: Any, right: Any) -> bool:
    """Equal, and of the same types all the way down: 1 is not True is not 1.0, 1.10 is not 1.1."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, Decimal):
        return left.as_tuple()[1:] == right.as_tuple()[1:] and left == right  # a Variant has no -0
    return bool(repr(left) == repr(right))


@given(python_values)
def test_python_comes_back(value: Any) -> None:
    variant = Variant.of(value).validate()
    assert same(variant.to_python(), value)


@given(exact_values)
def test_every_physical_type_comes_back_as_itself(value: Any) -> None:
    variant = Variant.of(value).validate()
    again = variant.to_python(exact=True)
    assert same(again, value)
    rebuilt = Variant.of(again)
    assert rebuilt == variant
    if list(_all_keys(again)) == list(_all_keys(value)):  # the fields of an object come back sorted
        assert (rebuilt.metadata, rebuilt.value) == (variant.metadata, variant.value)


def _all_keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _all_keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _all_keys(inner)


@given(python_values)
def test_the_same_input_gives_the_same_bytes(value: Any) -> None:
    first, second = Variant.of(value), Variant.of(value)
    assert (first.metadata, first.value) == (second.metadata, second.value)
    assert first == second
    assert hash(first) == hash(second)


@given(wide_variants())
def test_every_legal_layout_is_read(pair: tuple[Variant, Any]) -> None:
    wide, value = pair
    wide.validate()
    assert same(wide.to_python(exact=True), value)
    narrow = Variant.of(value)
    assert wide == narrow
    assert hash(wide) == hash(narrow)
    assert wide.to_json() == narrow.to_json()
    rebuilt = VariantBuilder().append_variant(wide).build()
    assert rebuilt == narrow
    assert len(rebuilt.value) <= len(wide.value)


@given(wide_variants())
def test_navigation_finds_everything(pair: tuple[Variant, Any]) -> None:
    wide, value = pair
    pending: list[tuple[Path, Any]] = [(Path(), value)]
    while pending:
        path, expected = pending.pop()
        found = wide.get(path)
        assert found is not None
        assert wide.get(path.normalized()) == found
        assert wide.get(str(path)) == found
        assert same(found.to_python(exact=True), expected)
        assert Variant(found.metadata, found.value) == found
        if isinstance(expected, dict):
            assert found.keys() == sorted(expected) == list(found)
            pending += [(path.child(key), inner) for key, inner in expected.items()]
        elif isinstance(expected, list):
            assert len(found) == len(expected)
            pending += [(path.child(index), inner) for index, inner in enumerate(expected)]


@pytest.mark.slow
@given(json_documents())
def test_json_comes_back(text: str) -> None:
    variant = Variant.from_json(text).validate()
    assert variant.to_python() == json.loads(text, parse_float=kept, parse_int=kept)
    assert json.loads(variant.to_json()) == json.loads(text, parse_int=approximate)
    again = Variant.from_json(variant.to_json(pretty=True))
    # As numbers: the double -0.0 is read as a decimal the next time, and decimals have no -0.
    assert json.loads(again.to_json()) == json.loads(variant.to_json())


def kept(number: str) -> Decimal | float:
    """A number as a Variant keeps it: exact up to 38 digits and 38 after the point, else a double."""
    digits = number.lstrip("-").replace(".", "").lstrip("0")
    exact = "e" not in number and len(digits) <= 38 and len(number.partition(".")[2]) <= 38
    return Decimal(number) if exact else float(number)


def approximate(number: str) -> int | float:
    return int(number) if len(number.lstrip("-")) <= 38 else float(number)


@given(variants, variants)
def test_equality_agrees_with_hash_and_python(left: Variant, right: Variant) -> None:
    assert left == left
    if left == right:
        assert hash(left) == hash(right)
        assert left.to_python() == right.to_python()


@given(st.lists(keys | st.integers(0, 2**31), max_size=5))
def test_paths_come_back(steps: list[str | int]) -> None:
    path = Path(tuple(steps))
    assert Path.parse(path.normalized()) == path
    assert Path.parse(str(path)) == path


@pytest.mark.slow
@settings(max_examples=300)
@given(hostile_buffers())
def test_damage_is_a_value_or_malformed(buffers: tuple[bytes, bytes]) -> None:
    try:
        variant = Variant(*buffers)
        variant.validate()
    except MalformedVariant:
        return
    variant.to_python()
    variant.to_json()
    hash(variant)
    repr(variant)
    assert VariantBuilder().append_variant(variant).build() == variant
