"""Hypothesis strategies that the property tests of all layers share."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from datetime import UTC
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from shredlake.shredding.schema import (
    DDL_NAMES,
    Array,
    Node,
    Object,
    Scalar,
    ShreddingSchema,
    Untyped,
    decimal,
)
from shredlake.variant.metadata import encode_metadata
from shredlake.variant.scalars import (
    Date,
    Decimal4,
    Decimal8,
    Decimal16,
    Float32,
    Int8,
    Int16,
    Int32,
    Int64,
    Timestamp,
    TimestampNanos,
    TimestampNtz,
    TimestampNtzNanos,
)
from shredlake.variant.types import VariantType
from shredlake.variant.value import Variant

# Python objects

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
keys = st.one_of(
    st.sampled_from(["", "a", "b", "id", "it's", "a.b", "é", "\uffff", "\U00010000", "\x1f", "$"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)

int64s = st.integers(-(2**63), 2**63 - 1)
decimals = st.builds(
    lambda unscaled, scale: Decimal(f"{unscaled}E-{scale}"),
    st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-1000, 1000),
    st.integers(0, 38),
)
times = st.times().map(lambda moment: moment.replace(fold=0))
moments = st.datetimes().map(lambda moment: moment.replace(fold=0))
utc_moments = moments.map(lambda moment: moment.replace(tzinfo=UTC))
plain_scalars: SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    int64s,
    st.integers(-200, 200),
    decimals,
    st.floats(allow_nan=False),
    texts,
    st.binary(max_size=40),
    st.dates(),
    times,
    moments,
    utc_moments,
    st.uuids(),
)
"""Scalars that Python itself has; each comes back from a Variant as it went in."""

exact_scalars: SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**7), 2**7 - 1).map(Int8),
    st.integers(-(2**15), 2**15 - 1).map(Int16),
    st.integers(-(2**31), 2**31 - 1).map(Int32),
    int64s.map(Int64),
    st.floats(width=32, allow_nan=False).map(Float32),
    st.floats(allow_nan=False),
    st.builds(
        lambda u, s: Decimal4(Decimal(f"{u}E-{s}")), st.integers(-(10**9) + 1, 10**9 - 1), st.integers(0, 38)
    ),
    st.builds(
        lambda u, s: Decimal8(Decimal(f"{u}E-{s}")),
        st.integers(-(10**18) + 1, 10**18 - 1),
        st.integers(0, 38),
    ),
    decimals.map(Decimal16),
    texts,
    st.binary(max_size=40),
    st.dates() | st.integers(2_932_897, 2**31 - 1).map(Date) | st.integers(-(2**31), -719_163).map(Date),
    times,
    moments | st.integers(2**60, 2**63 - 1).map(TimestampNtz),
    utc_moments | st.integers(2**60, 2**63 - 1).map(Timestamp),
    int64s.map(TimestampNanos),
    int64s.map(TimestampNtzNanos),
    st.uuids(),
)
"""One strategy per physical type, by the object that stands for exactly that type."""


def trees(scalars: SearchStrategy[Any], *, max_leaves: int = 12) -> SearchStrategy[Any]:
    """Nested lists and dicts of the given scalars."""
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=6) | st.dictionaries(keys, inner, max_size=6),
        max_leaves=max_leaves,
    )


python_values = trees(plain_scalars)
exact_values = trees(exact_scalars)
variants = exact_values.map(Variant.of)

# JSON

json_numbers = st.one_of(
    int64s.map(str),
    st.integers(-(10**45), 10**45).map(str),
    decimals.map(lambda number: f"{number:f}"),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.builds("{}.{}".format, st.integers(-(10**20), 10**20), st.from_regex(r"[0-9]{1,40}", fullmatch=True)),
    st.builds("{}e{}".format, st.integers(-(10**5), 10**5), st.integers(-330, 300)),
)
"""Numbers as JSON writes them, beyond every width and in every form."""


@st.composite
def json_documents(draw: st.DrawFn) -> str:
    """JSON text with odd spacing, escapes, and numbers in every form."""
    return _json_text(draw, draw(trees(st.none() | st.booleans() | texts | json_numbers.map(_Number))))


@dataclass(frozen=True)
class _Number:
    """A number that goes into the document as it is written."""

    text: str


def _json_text(draw: st.DrawFn, value: Any) -> str:
    space = draw(st.sampled_from(["", "", " ", "\n\t", "\r\n"]))
    if isinstance(value, _Number):
        return space + value.text
    if isinstance(value, dict):
        fields = [
            f"{space}{json.dumps(k, ensure_ascii=draw(st.booleans()))}:{_json_text(draw, v)}"
            for k, v in value.items()
        ]
        return space + "{" + ",".join(fields) + space + "}"
    if isinstance(value, list):
        return space + "[" + ",".join(_json_text(draw, v) for v in value) + space + "]"
    return space + json.dumps(value, ensure_ascii=draw(st.booleans()))


# Bytes: other writers' layouts, and hostile ones


@st.composite
def wide_variants(draw: st.DrawFn) -> tuple[Variant, Any]:
    """A Variant in a legal but wasteful layout, and the exact Python value it stands for.

    Offsets, ids and counts wider than needed, reserved bits set, long strings for short ones, shuffled
    dictionaries with unused names, values of an object in any order.
    """
    value = draw(exact_values)
    names = sorted(_names(value) | draw(st.sets(keys, max_size=3)))
    names = draw(st.permutations(names))
    ids = {name: id_ for id_, name in enumerate(names)}
    return Variant(_wide_metadata(draw, names), _wide_value(draw, value, ids)), value


def _names(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(_names, value.values()))
    return set().union(*map(_names, value)) if isinstance(value, list) else set()


def _wide_metadata(draw: st.DrawFn, names: list[str]) -> bytes:
    encoded = [name.encode() for name in names]
    narrow = encode_metadata(encoded)
    width = draw(st.integers((narrow[0] >> 6) + 1, 4))
    reserved = draw(st.booleans()) << 5
    is_sorted = encoded == sorted(encoded) and draw(st.booleans())
    ends = [sum(map(len, encoded[:index])) for index in range(len(encoded) + 1)]
    numbers = [len(encoded), *ends]
    header = bytes([1 | reserved | is_sorted << 4 | (width - 1) << 6])
    return header + b"".join(number.to_bytes(width, "little") for number in numbers) + b"".join(encoded)


def _wide_value(draw: st.DrawFn, value: Any, ids: dict[str, int]) -> bytes:
    if isinstance(value, str) and draw(st.booleans()):
        encoded = value.encode()
        return b"\x40" + struct.pack("<I", len(encoded)) + encoded
    if not isinstance(value, dict | list):
        return Variant.of(value).value
    names = sorted(value) if isinstance(value, dict) else list(range(len(value)))
    order = draw(st.permutations(names)) if isinstance(value, dict) else names
    children, offsets, end = [], {}, 0
    for name in order:
        child = _wide_value(draw, value[name], ids)
        offsets[name] = end
        end += len(child)
        children.append(child)
    offset_size = draw(st.integers(max(1, (end.bit_length() + 7) // 8), 4))
    large = len(names) > 255 or draw(st.booleans())
    parts = [len(names).to_bytes(4 if large else 1, "little")]
    if isinstance(value, dict):
        top = max((ids[str(name)] for name in names), default=0)
        id_size = draw(st.integers(max(1, (top.bit_length() + 7) // 8), 4))
        header = (draw(st.booleans()) << 5 | large << 4 | (id_size - 1) << 2 | offset_size - 1) << 2 | 2
        parts += [ids[str(name)].to_bytes(id_size, "little") for name in names]
    else:
        header = (draw(st.integers(0, 7)) << 3 | large << 2 | offset_size - 1) << 2 | 3
    parts += [offsets[name].to_bytes(offset_size, "little") for name in names]
    parts.append(end.to_bytes(offset_size, "little"))
    return bytes([header]) + b"".join(parts) + b"".join(children)


@st.composite
def hostile_buffers(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Metadata and value of a good Variant with a few bytes changed, added or cut; or plain noise."""
    if draw(st.integers(0, 9)) == 0:
        return b"\x01" + draw(st.binary(max_size=20)), draw(st.binary(max_size=60))
    variant = draw(variants)
    return draw(_damaged(variant.metadata)), draw(_damaged(variant.value))


@st.composite
def _damaged(draw: st.DrawFn, good: bytes) -> bytes:
    damaged = bytearray(good)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(damaged)))
        change = draw(st.sampled_from(["set", "insert", "cut"]))
        if change == "insert":
            damaged[at:at] = draw(st.binary(min_size=1, max_size=3))
        elif change == "cut":
            del damaged[at : at + draw(st.integers(1, 3))]
        elif at < len(damaged):
            damaged[at] = draw(st.integers(0, 255))
    return bytes(damaged)


# Shredding

scalar_nodes: SearchStrategy[Scalar] = st.one_of(
    st.sampled_from([Scalar(kind) for kind in DDL_NAMES if not kind.is_decimal]),
    st.integers(1, 38).flatmap(lambda p: st.builds(decimal, st.just(p), st.integers(0, p))),
)


@st.composite
def schemas_for(draw: st.DrawFn, values: list[Any]) -> ShreddingSchema:
    """A schema that fits many, rarely all, of the given Python values."""
    return ShreddingSchema(_node_for(draw, values))


def _node_for(draw: st.DrawFn, values: list[Any]) -> Node:
    chance = draw(st.integers(0, 9))
    if not values or chance == 0:
        return draw(scalar_nodes | st.just(Untyped()) | st.just(Array(Untyped())))
    value = draw(st.sampled_from(values))
    if isinstance(value, dict):
        objects = [each for each in values if isinstance(each, dict)]
        names = sorted(set().union(*objects))
        chosen = draw(st.lists(st.sampled_from(names), unique=True, max_size=6)) if names else []
        chosen += [name for name in draw(st.lists(keys, max_size=1)) if name not in chosen]
        fields = [
            (name, _node_for(draw, [each[name] for each in objects if name in each])) for name in chosen
        ]
        return Object(tuple(fields)) if fields else Untyped()
    if isinstance(value, list):
        return Array(_node_for(draw, [item for each in values if isinstance(each, list) for item in each]))
    kind = Variant.of(value).type
    if kind.is_exact_number and chance < 5:
        return draw(scalar_nodes.filter(lambda node: node.type.is_exact_number))
    if kind.is_decimal:
        scale = max(0, -int(Decimal(value).as_tuple().exponent))
        digits = max(len(Decimal(value).as_tuple().digits), scale, 1)
        precision = draw(st.integers(min(digits, 38), 38))
        return decimal(precision, min(scale, precision))
    return Untyped() if kind is VariantType.NULL else Scalar(kind)


@st.composite
def shreddable_columns(draw: st.DrawFn) -> tuple[list[Variant | None], ShreddingSchema]:
    """Rows of like values (None for SQL NULL), and a schema for them."""
    shape = draw(st.lists(exact_values, min_size=1, max_size=3))
    objects = st.dictionaries(
        st.sampled_from(["a", "b", "é", "\uffff", "\U00010000"]), exact_values, max_size=5
    )
    row = st.sampled_from(shape) | objects | st.lists(objects, max_size=3)
    values = draw(st.lists(row, max_size=8))
    nulls = draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    schema = draw(schemas_for(values))
    return [None if null else Variant.of(value) for value, null in zip(values, nulls, strict=True)], schema


__all__ = [
    "decimals",
    "exact_scalars",
    "exact_values",
    "hostile_buffers",
    "int64s",
    "json_documents",
    "json_numbers",
    "keys",
    "plain_scalars",
    "python_values",
    "scalar_nodes",
    "schemas_for",
    "shreddable_columns",
    "texts",
    "trees",
    "variants",
    "wide_variants",
]


def json_texts_gone_wrong() -> list[bytes]:
    """One text for each kind of invalid JSON, and valid texts close to it."""
    return [
        b"", b" ", b"\n\n ", b"\xef\xbb\xbf1", b"{", b"[", b'{"a"', b'{"a":', b'{"a":1', b'{"a":1,', b"[1",
        b"[1,", b"]", b"}", b",", b":", b"[1,]", b"[1 , ]", b"[,1]", b'{"a":1,}', b"{,}", b"{1:2}",
        b"{a:1}", b'{"a" 1}', b'{"a":1 "b":2}', b"[1 2]", b"[1:2]", b'{"a":1]', b"[1}", b"1 2", b"1,",
        b"{} x", b"nul", b"nulll", b"tru", b"True", b"None", b"NaN", b"nan", b"-NaN", b"Infinity",
        b"-Infinity", b"+Infinity", b"inf", b"-inf", b"undefined", b"[NaN]", b'{"a":undefined}', b"-",
        b"[-]", b"--1", b"+1", b".5", b"1.", b"1.e5", b"1e", b"1e+", b"1E-", b"01", b"-01", b"00", b"0x10",
        b"1a", b"1.5.2", b"1e5.2", b"1-2", b"[01]", b"0e", b"1_000", b"1\xc3\xa9", b"[0\xc2\xb2]", b'"',
        b'"abc', b'"abc\\', b'"\\x"', b'"\\u12"', b'"\\u12G4"', b'"\\ud800"', b'"\\udc00"',
        b'"\\ud800\\u0041"', b'"\\ud800\\ud800"', b'"\\ud800\\u12"', b'"\\uD83D\\uDE0"', b'"a\nb"',
        b'"\x00"', b'"\x1f"', b"\x00", b"1\x00", b"[\x00]", b'"\xff"', b'"\xc3"', b'"\xe2\x82"',
        b'"\xed\xa0\x80"', b'"\xc0\x80"', b'"\xf0\x80\x80\x80"', b'"\xf4\x90\x80\x80"', b'"\xf8"', b"\xff",
        b"[1,\xff", b'{"a":1,"a":2}', b'{"a":{"b":1,"b":2}}', b'{"a":1,"\\u0061":2}', b"'a'", b"/* */ 1",
        b"[1,,2]", b"\xc2\xa01", b'{"\n":1}',
    ]  # fmt: skip
