"""Validation: the order of keys, and names that occur twice."""

from __future__ import annotations

import pytest

from shredlake.errors import MalformedVariant
from shredlake.variant.metadata import encode_metadata
from shredlake.variant.value import Variant


def with_keys(*names: str) -> Variant:
    """An object whose fields are null, in this order."""
    count = len(names)
    raw = bytes([0x02, count, *range(count), *range(count + 1)]) + bytes(count)
    return Variant(encode_metadata([name.encode() for name in names]), raw)


@pytest.mark.parametrize("names", [(), ("a",), ("a", "b"), ("", "a", "aa", "é", "😀")])
def test_keys_in_order(names: tuple[str, ...]) -> None:
    with_keys(*names).validate()


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (("b", "a"), "the keys 'b' and 'a' are not in order"),
        (("a", "a"), "two fields named 'a'"),
        (("😀", "\ue000"), "in UTF-16 order"),
    ],
)
def test_keys_out_of_order(names: tuple[str, ...], problem: str) -> None:
    with pytest.raises(MalformedVariant, match=problem) as caught:
        with_keys(*names).validate()
    assert caught.value.rule == "key-order"


def test_the_order_is_checked_per_object() -> None:
    Variant.of([{"b": 1}, {"a": 1}, {"b": {"a": 2}}]).validate()
