"""No input can crash, hang or exhaust memory: bytes are a value or raise MalformedVariant."""

from __future__ import annotations

import time

import pytest

from mutations import mutated
from shredlake import InvalidValue, MalformedVariant, Variant
from shredlake.variant.json import render

EMPTY = b"\x01\x00\x00"


@pytest.mark.slow
def test_twenty_thousand_mutated_buffers() -> None:
    """`make fuzz` runs for longer."""
    valid = 0
    for metadata, value in mutated(20_000, seed=3):
        try:
            variant = Variant(metadata, value)
            variant.validate()
        except MalformedVariant:
            continue
        valid += 1
        variant.to_python()
        variant.to_json()
    assert 1_000 < valid < 10_000  # the mutations leave some whole, and break most


def nested_arrays(depth: int) -> bytes:
    """[[[...null...]]], from the inside out."""
    layers: list[bytes] = []
    size = 1
    for _ in range(depth):
        width = max(1, (size.bit_length() + 7) // 8)
        layers.append(bytes([(width - 1) << 2 | 3, 1]) + bytes(width) + size.to_bytes(width, "little"))
        size += len(layers[-1])
    return b"".join(reversed(layers)) + b"\x00"


@pytest.mark.slow
def test_depth_costs_no_stack() -> None:
    deep = Variant(EMPTY, nested_arrays(5_000)).validate()
    assert deep == Variant(EMPTY, nested_arrays(5_000))
    assert hash(deep) == hash(deep)
    text = deep.to_json()
    assert text == "[" * 5_000 + "null" + "]" * 5_000
    inner = deep.to_python()
    for _ in range(4_999):
        inner = inner[0]
    assert inner == [None]
    assert Variant.of(deep) == deep
    assert repr(deep).startswith("Variant([[[")


def test_overlapping_values_do_not_multiply() -> None:
    """Two fields at one offset, thirty levels deep, would be 2**30 values."""
    value = b"\x00"
    for _ in range(30):
        width = max(1, (len(value).bit_length() + 7) // 8)
        header = (width - 1) << 2 | 2
        offsets = bytes(width) * 2 + len(value).to_bytes(width, "little")
        value = bytes([header, 2, 0, 1]) + offsets + value
    variant = Variant(b"\x01\x02\x00\x01\x02ab", value)
    for read in (Variant.to_python, Variant.to_json, Variant.validate, hash):
        with pytest.raises(MalformedVariant, match="overlaps"):
            read(variant)


def test_a_count_without_the_bytes_allocates_nothing() -> None:
    with pytest.raises(MalformedVariant, match="the value is too short for the offsets"):
        Variant(EMPTY, b"\x13\xff\xff\xff\xff\x00")
    with pytest.raises(MalformedVariant, match="the metadata can't hold the offsets"):
        Variant(b"\xc1\xff\xff\xff\xff" + bytes(50), b"\x00")
    with pytest.raises(MalformedVariant, match="ends at byte"):
        Variant(EMPTY, b"\x40\xff\xff\xff\xffabc")


@pytest.mark.slow
def test_long_names_are_compared_once() -> None:
    """Twenty thousand objects with two names that differ only at the end of 100 kB."""
    first, second = b"n" * 100_000 + b"a", b"n" * 100_000 + b"b"
    ends = [0, len(first), len(first) + len(second)]
    metadata = b"\xc1" + b"".join(n.to_bytes(4, "little") for n in [2, *ends]) + first + second
    pair = b"\x02\x02\x00\x01\x00\x01\x02\x00\x00"
    count = 20_000
    offsets = b"".join((i * len(pair)).to_bytes(4, "little") for i in range(count + 1))
    value = b"\x1f" + count.to_bytes(4, "little") + offsets + pair * count
    started = time.process_time()
    variant = Variant(metadata, value).validate()
    assert variant == Variant(metadata, bytes(value))
    assert len(variant.to_python()) == count
    assert time.process_time() - started < 30
    with pytest.raises(InvalidValue, match="max_length"):
        render(variant, max_length=1 << 24)


def test_unknown_types_leave_the_rest_readable() -> None:
    unknown = bytes([21 << 2]) + b"?????"
    value = b"\x02\x03\x00\x01\x02" + bytes([0, 2, 8, 10]) + b"\x0c\x07" + unknown + b"\x0c\x09"
    variant = Variant(b"\x01\x03\x00\x01\x02\x03abc", value)
    assert variant["a"].to_python() == 7
    assert variant["c"].to_python() == 9
    assert variant["b"].value == unknown
    for read in (Variant.to_python, Variant.validate):
        with pytest.raises(MalformedVariant, match="primitive type 21 is reserved") as caught:
            read(variant)
        assert caught.value.path == "$['b']"
    with pytest.raises(MalformedVariant, match="reserved"):
        variant["b"].type  # noqa: B018
    assert "malformed" in repr(variant)


# What each check catches: metadata, value, the problem, the path.
DAMAGE = [
    (b"", b"\x00", "the metadata is empty", "$"),
    (b"\x02\x00\x00", b"\x00", "found metadata version 2, expected 1", "$"),
    (b"\x01", b"\x00", "ends within its header", "$"),
    (b"\x01\x01\x00", b"\x00", "the metadata can't hold the offsets of 1 names", "$"),
    (b"\x01\x00\x00x", b"\x00", "the names end at byte 3, but the metadata ends at byte 4", "$"),
    (b"\x01\x01\x00\x05x", b"\x00", "the names end at byte 9", "$"),
    (b"\x01\x02\x00\x05\x01x", b"\x00", "name 0 has the offsets 0 and 5", "$"),
    (b"\x01\x01\x01\x01x", b"\x00", "the first name does not start at offset 0", "$"),
    (b"\x01\x01\x00\x01\xff", b"\x00", "name 0 is not UTF-8", "$"),
    (b"\x11\x02\x00\x01\x02aa", b"\x00", "not in order, though the header says they are", "$"),
    (EMPTY, b"", "the value is empty", "$"),
    (EMPTY, b"\x00\x00", "1 bytes follow the value", "$"),
    (EMPTY, b"\x0c", "the value ends at byte 2, beyond its limit at byte 1", "$"),
    (EMPTY, b"\x0dab", "the value ends at byte 4", "$"),
    (EMPTY, b"\x05\xff", "the string is not UTF-8", "$"),
    (EMPTY, b"\x40\x01", "the value ends within its length", "$"),
    (EMPTY, b"\x03", "the value ends within its count", "$"),
    (EMPTY, b"\x03\x01\x00\x05\x00", "the values end at byte 9", "$"),
    (EMPTY, b"\x03\x02\x01\x00\x02\x00\x00", "child 0, at offset 1, overlaps", "$"),
    (EMPTY, b"\x03\x02\x00\x00\x02\x00\x00", "child 0, at offset 0, overlaps", "$"),
    (EMPTY, b"\x03\x01\x00\x02\x10\x00", "the value ends at byte 7", "$[0]"),
    (EMPTY, b"\x03\x01\x00\x06\x20\x27\x00\x00\x00\x00", "the decimal has the scale 39", "$[0]"),
    (EMPTY, b"\x03\x01\x00\x06\x20\x00\xff\xff\xff\x7f", "a decimal4 of 10 digits, at most 9 fit", "$[0]"),
    (EMPTY, b"\x44" + b"\xff" * 8, "a time of day of -1 microseconds", "$"),
    (EMPTY, b"\x44" + (86_400_000_000).to_bytes(8, "little"), "a time of day of 86400000000", "$"),
    (EMPTY, b"\x02\x01\x00\x00\x01\x00", "field id 0 in a dictionary of 0 names", "$['<field id 0>']"),
    (b"\x01\x02\x00\x01\x02ab", b"\x02\x02\x01\x00\x00\x01\x02\x00\x00", "'b' and 'a' are not in order", "$"),
    (b"\x01\x01\x00\x01a", b"\x02\x02\x00\x00\x00\x01\x02\x00\x00", "two fields named 'a'", "$"),
    (b"\x01\x02\x00\x01\x02aa", b"\x02\x02\x00\x01\x00\x01\x02\x00\x00", "two fields named 'a'", "$"),
]  # fmt: skip


@pytest.mark.parametrize(("metadata", "value", "problem", "path"), DAMAGE)
def test_validation_says_what_and_where(metadata: bytes, value: bytes, problem: str, path: str) -> None:
    with pytest.raises(MalformedVariant) as caught:
        Variant(metadata, value).validate()
    assert problem in str(caught.value)
    assert caught.value.path == path


def test_utf16_order_is_named() -> None:
    names = ["\U00010000", "\uffff"]
    metadata = b"\x01\x02\x00\x04\x07" + "".join(names).encode()
    variant = Variant(metadata, b"\x02\x02\x00\x01\x00\x01\x02\x00\x04")
    assert variant["\U00010000"].to_python() is None
    assert variant["\uffff"].to_python() is True
    with pytest.raises(MalformedVariant, match="UTF-16 order, as Spark"):
        variant.validate()
