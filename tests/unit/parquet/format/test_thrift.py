"""Thrift's compact protocol: what is read comes out again byte for byte, and bad bytes are an error."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shredlake.errors import InvalidFile
from shredlake.parquet.format import thrift
from shredlake.parquet.format.footer import read_footer
from shredlake.parquet.format.thrift import List, Map, Struct, read_struct, write_struct

int64s = st.integers(-(2**63), 2**63 - 1)
SCALARS: dict[int, st.SearchStrategy[object]] = {
    thrift.I8: st.integers(-128, 127),
    thrift.I16: st.integers(-(2**15), 2**15 - 1),
    thrift.I32: st.integers(-(2**31), 2**31 - 1),
    thrift.I64: int64s,
    thrift.DOUBLE: st.floats(allow_nan=False),
    thrift.BINARY: st.binary(max_size=20),
    thrift.UUID: st.binary(min_size=16, max_size=16),
}


@st.composite
def values(draw: st.DrawFn, depth: int = 3) -> tuple[int, object]:
    """A wire type and a value of it, as an element."""
    kinds = [*SCALARS, thrift.TRUE, *([thrift.LIST, thrift.SET, thrift.MAP, thrift.STRUCT] if depth else [])]
    kind = draw(st.sampled_from(kinds))
    if kind in SCALARS:
        return kind, draw(SCALARS[kind])
    if kind == thrift.TRUE:
        return kind, draw(st.booleans())
    if kind == thrift.STRUCT:
        return kind, draw(structs(depth - 1))
    element, _ = draw(values(depth - 1))
    items = [item for same, item in draw(st.lists(values(depth - 1), max_size=20)) if same == element]
    if kind == thrift.MAP:
        return kind, Map(element, element, list(zip(items, items, strict=True))) if items else Map(0, 0, [])
    return kind, List(element, items, kind)


@st.composite
def structs(draw: st.DrawFn, depth: int = 3) -> Struct:
    numbers = sorted(draw(st.sets(st.integers(1, 300), max_size=6)))
    tree = Struct()
    for number in numbers:
        kind, value = draw(values(depth))
        if isinstance(value, bool):
            kind = thrift.TRUE if value else thrift.FALSE
        tree.fields[number] = (kind, value)
    return tree


@given(structs())
def test_a_struct_comes_back(tree: Struct) -> None:
    assert read_struct(write_struct(tree)) == tree


@settings(max_examples=40)
@given(structs(), st.data())
def test_cut_bytes_are_an_error_and_never_a_crash(tree: Struct, data: st.DataObject) -> None:
    encoded = write_struct(tree)
    cut = encoded[: data.draw(st.integers(0, len(encoded) - 1))]
    with pytest.raises(InvalidFile):
        read_struct(cut)


@given(st.binary(max_size=200))
def test_noise_is_read_or_refused(noise: bytes) -> None:
    with contextlib.suppress(InvalidFile):
        read_struct(noise)


def test_a_long_list_that_is_not_there_is_refused_before_it_is_made() -> None:
    with pytest.raises(InvalidFile, match="longer than the data"):
        read_struct(bytes([0x19, 0xF5, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F]))


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(InvalidFile, match="nests deeper"):
        read_struct(b"\x1c" * 100_000)


def test_a_number_of_more_than_64_bits_is_refused() -> None:
    with pytest.raises(InvalidFile, match="64 bits"):
        read_struct(b"\x16" + b"\xff" * 10 + b"\x01")


def test_set_keeps_the_numbers_ascending() -> None:
    tree = Struct({1: (thrift.I32, 1), 9: (thrift.I32, 9)})
    tree.set(5, thrift.BINARY, b"x")
    tree.set(7, thrift.TRUE, False)
    assert list(tree) == [1, 5, 7, 9]
    assert read_struct(write_struct(tree)).flag(7) is False


def test_footers_of_other_writers_come_out_byte_for_byte(conformance: Path) -> None:
    files = sorted(conformance.rglob("*.parquet"))
    assert len(files) > 100
    for path in files:
        with path.open("rb") as file:
            raw = read_footer(file, path.name).raw
        assert write_struct(read_struct(raw)) == raw, path.name


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("15 02 05 02 04 00", "field 1 twice"),
        ("05 00 02 00", "field number 0"),
        ("05 01 02 00", "field number -1"),
        ("05 82 80 08 02 00", "field number 65537"),  # other readers take it for the field 1
        ("15 82 80 80 80 20 00", "more than 32 bits"),  # other readers take it for 1
        ("14 80 80 04 00", "more than 16 bits"),
        ("16 ff ff ff ff ff ff ff ff ff 03 00", "more than 64 bits"),
    ],
)
def test_bytes_that_other_readers_understand_differently_are_refused(data: str, message: str) -> None:
    with pytest.raises(InvalidFile, match=message):
        read_struct(bytes.fromhex(data))
