"""The view: navigation, conversion, equality by meaning."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from shredlake import (
    Date,
    Decimal4,
    Decimal8,
    Decimal16,
    Float32,
    Int8,
    Int16,
    Int64,
    MalformedVariant,
    NoSuchElement,
    ShredlakeError,
    Timestamp,
    TimestampNanos,
    TimestampNtz,
    TimestampNtzNanos,
    Variant,
    VariantType,
    WrongType,
)

# A Python object, its type, its bytes without the metadata.
ENCODINGS: list[tuple[object, VariantType, str]] = [
    (None, VariantType.NULL, "00"),
    (True, VariantType.BOOLEAN, "04"),
    (False, VariantType.BOOLEAN, "08"),
    (127, VariantType.INT8, "0c7f"),
    (-129, VariantType.INT16, "107fff"),
    (1 << 15, VariantType.INT32, "1400800000"),
    (-(1 << 63), VariantType.INT64, "180000000000000080"),
    (Int64(1), VariantType.INT64, "180100000000000000"),
    (1.0, VariantType.DOUBLE, "1c000000000000f03f"),
    (Decimal("1.10"), VariantType.DECIMAL4, "20026e000000"),
    (Decimal("1E+2"), VariantType.DECIMAL4, "200064000000"),
    (Decimal("0.0000000001"), VariantType.DECIMAL8, "240a0100000000000000"),
    (Decimal("-1234567890.1"), VariantType.DECIMAL8, "2401cbe32320fdffffff"),
    (1 << 63, VariantType.DECIMAL16, "2800" + "00" * 7 + "80" + "00" * 8),
    (Decimal16("-1"), VariantType.DECIMAL16, "2800" + "ff" * 16),
    (date(1970, 1, 2), VariantType.DATE, "2c01000000"),
    (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), VariantType.TIMESTAMP, "30" + "00" * 8),
    (datetime(1969, 12, 31, 23, 59, 59, 999999), VariantType.TIMESTAMP_NTZ, "34" + "ff" * 8),
    (Float32(1.0), VariantType.FLOAT, "380000803f"),
    (b"hi", VariantType.BINARY, "3c020000006869"),
    ("", VariantType.STRING, "01"),
    ("é", VariantType.STRING, "09c3a9"),
    ("x" * 63, VariantType.STRING, "fd" + "78" * 63),
    ("x" * 64, VariantType.STRING, "4040000000" + "78" * 64),
    (time(0, 0, 0, 1), VariantType.TIME, "440100000000000000"),
    (TimestampNanos(1), VariantType.TIMESTAMP_NANOS, "480100000000000000"),
    (TimestampNtzNanos(-1), VariantType.TIMESTAMP_NTZ_NANOS, "4c" + "ff" * 8),
    (UUID(int=1), VariantType.UUID, "50" + "00" * 15 + "01"),
    ({}, VariantType.OBJECT, "020000"),
    ([], VariantType.ARRAY, "030000"),
    ({"b": 1, "a": True}, VariantType.OBJECT, "02020100" "020003" "0c01" "04"),
    ([None, "a"], VariantType.ARRAY, "0302" "000103" "00" "0561"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "type_", "encoded"), ENCODINGS, ids=lambda x: str(x)[:20])
def test_every_type_has_its_bytes(value: object, type_: VariantType, encoded: str) -> None:
    variant = Variant.of(value)
    assert variant.type is type_
    assert variant.value.hex() == encoded
    assert variant.to_python() == value


def test_names_are_listed_as_they_first_occur() -> None:
    variant = Variant.of({"b": {"c": 1}, "a": [{"b": 2}]})
    assert variant.metadata == b"\x01\x03\x00\x01\x02\x03bca"
    assert Variant.of(5).metadata == b"\x01\x00\x00"


def test_sizes_grow_only_when_they_must() -> None:
    assert Variant.of([None] * 255).value[0] == 0b0000_0011
    assert Variant.of([None] * 256).value[0] == 0b0001_0111  # large count, two-byte offsets
    many = Variant.of({f"{i}": None for i in range(257)})
    assert many.value[0] >> 2 == 0b1_01_01  # large, two-byte ids, two-byte offsets
    assert many.metadata[0] >> 6 == 0b01
    assert Variant.of(["x" * 70_000]).value[0] >> 2 & 0b11 == 0b10
    assert Variant.of(["x" * (1 << 24)]).value[0] >> 2 & 0b11 == 0b11


DOCUMENT = Variant.of({"user": {"name": "Ada", "tags": ["x", None]}, "n": 1})


def test_navigation() -> None:
    assert DOCUMENT["user"]["tags"][0].to_python() == "x"
    assert DOCUMENT["user"]["tags"][-1].to_python() is None
    assert DOCUMENT.get("$.user.name") == Variant.of("Ada")
    assert DOCUMENT.get("user.tags[1]") == Variant.of(None)
    assert DOCUMENT.get("$") == DOCUMENT
    for missing in ("$.absent", "$.user.tags[2]", "$.n.x", "$.n[0]", "$[0]", "$.user.tags.x"):
        assert DOCUMENT.get(missing) is None
    assert len(DOCUMENT) == 2
    assert DOCUMENT.keys() == list(DOCUMENT) == ["n", "user"]
    assert [element.to_python() for element in DOCUMENT["user"]["tags"]] == ["x", None]
    assert {key: value.type for key, value in DOCUMENT.items()} == {
        "n": VariantType.INT8,
        "user": VariantType.OBJECT,
    }


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(NoSuchElement, match=r"^no key 'x'$"):
        DOCUMENT["x"]
    with pytest.raises(KeyError):
        DOCUMENT["x"]
    with pytest.raises(IndexError, match="no index -3"):
        DOCUMENT["user"]["tags"][-3]
    with pytest.raises(NoSuchElement, match="type int8 has no keys"):
        DOCUMENT["n"]["x"]
    with pytest.raises(WrongType, match="type int8 has no length"):
        len(DOCUMENT["n"])
    with pytest.raises(TypeError, match="type array has no keys"):
        DOCUMENT["user"]["tags"].keys()
    with pytest.raises(ShredlakeError):
        iter(DOCUMENT["n"])


def test_a_nested_value_is_a_variant_of_its_own() -> None:
    inner = DOCUMENT["user"]
    again = Variant(inner.metadata, inner.value)
    assert again == inner
    assert again.to_python() == {"name": "Ada", "tags": ["x", None]}


def test_it_is_frozen_hashable_and_travels() -> None:
    with pytest.raises(AttributeError):
        DOCUMENT.buffer = b""
    with pytest.raises(AttributeError):
        del DOCUMENT.buffer
    assert {DOCUMENT: 1}[copy.deepcopy(DOCUMENT)] == 1
    assert pickle.loads(pickle.dumps(DOCUMENT["user"])) == DOCUMENT["user"]
    assert Variant(bytearray(DOCUMENT.metadata), memoryview(DOCUMENT.value)) == DOCUMENT  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Variant(DOCUMENT.metadata, "text")  # type: ignore[arg-type]


def test_a_variant_is_always_true() -> None:
    assert all([Variant.of(None), Variant.of(False), Variant.of([]), Variant.of(0)])


def test_the_repr_shows_the_beginning() -> None:
    assert repr(DOCUMENT) == 'Variant({"n":1,"user":{"name":"Ada","tags":["x",null]}})'
    assert repr(Variant.of(["x" * 1000])).endswith("x...)")
    assert len(repr(Variant.of([1] * 100_000))) < 120


SAME: list[tuple[object, object]] = [
    (1, Int64(1)),
    (Int8(1), Decimal("1.00")),
    (Decimal4("10"), Decimal8("10.0")),
    (1 << 62, Decimal16(1 << 62)),
    (0, Decimal("-0.000")),
    (datetime(2025, 1, 1, tzinfo=UTC), TimestampNanos(1_735_689_600_000_000_000)),
    (datetime(2025, 1, 1), TimestampNtzNanos(1_735_689_600_000_000_000)),
    (float("nan"), float("nan")),
    (0.0, -0.0),
    ({"a": 1, "b": [1]}, {"b": [Decimal("1.0")], "a": Int16(1)}),
    (DOCUMENT["user"]["name"], "Ada"),
]

DIFFERENT: list[tuple[object, object]] = [
    (1, 1.0),
    (1, True),
    (1, "1"),
    (1.5, Float32(1.5)),
    (1.5, Decimal("1.5")),
    (None, False),
    ("a", b"a"),
    (datetime(2025, 1, 1), datetime(2025, 1, 1, tzinfo=UTC)),
    (datetime(2025, 1, 1), date(2025, 1, 1)),
    (TimestampNanos(1), Timestamp(0)),
    ([], {}),
    ([1, 2], [2, 1]),
    ([[1], 2], [[1, 2]]),
    ({"a": None}, {}),
    ({"a": 1}, {"b": 1}),
    (UUID(int=0), bytes(16)),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_equal_by_meaning(left: Any, right: Any) -> None:
    one, other = Variant.of(left), Variant.of(right)
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_different_by_meaning(left: Any, right: Any) -> None:
    assert Variant.of(left) != Variant.of(right)
    assert Variant.of(left) != left


def test_long_and_short_strings_are_one_string() -> None:
    assert Variant(b"\x01\x00\x00", b"\x40\x01\x00\x00\x00a") == Variant.of("a")


def test_exact_keeps_physical_types() -> None:
    value = [Int8(1), Int64(1), Float32(0.1), Decimal16("1.10"), 1.5, "x"]
    assert repr(Variant.of(value).to_python(exact=True)) == repr(value)
    assert repr(Variant.of(value).to_python()) == "[1, 1, 0.10000000149011612, Decimal('1.10'), 1.5, 'x']"


def test_years_beyond_python_come_back_as_counts() -> None:
    far = [Date(-(1 << 31)), Timestamp(1 << 62), TimestampNtz(-(1 << 63))]
    assert Variant.of(far).validate().to_python() == far


def test_errors_of_navigation_carry_the_path() -> None:
    """The bytes of $.a point outside; nothing else is touched."""
    variant = Variant(b"\x01\x02\x00\x01\x02ab", b"\x02\x02\x00\x01\x00\x07\x03\x00\x0c\x05")
    with pytest.raises(MalformedVariant) as caught:
        variant.get("$.b.c")
    assert caught.value.path == "$['b']"
    assert variant["a"].to_python() is None


def test_lookup_in_utf16_order_among_many() -> None:
    """Spark's order: every key is found, whichever order the writer sorted in."""
    names = [f"{start}{i}" for start in ("a", "é", "\ue000", "\uffff", "\U00010000", "😀") for i in range(20)]
    by_utf16 = sorted(names, key=lambda name: name.encode("utf-16-be"))
    assert by_utf16 != sorted(names)
    encoded = [name.encode() for name in by_utf16]
    ends = [sum(map(len, encoded[:i])) for i in range(len(encoded) + 1)]
    metadata = b"\x41" + b"".join(n.to_bytes(2, "little") for n in [len(encoded), *ends]) + b"".join(encoded)
    value = bytes([0b0001_10, len(names)]) + bytes(range(len(names)))
    value += b"".join((2 * i).to_bytes(2, "little") for i in range(len(names) + 1))
    value += b"".join(bytes([0x0C, i]) for i in range(len(names)))
    variant = Variant(metadata, value)
    for position, name in enumerate(by_utf16):
        assert variant[name].to_python() == position
    for missing in ("b", "\uffffx", "😀", "\U0010ffff", "\ue001"):
        assert variant.get(f"$['{missing}']") is None
    assert variant == Variant.of({name: position for position, name in enumerate(by_utf16)})
