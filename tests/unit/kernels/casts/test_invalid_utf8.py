"""Strings that are not UTF-8: found, decoded and counted as Java does."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shredlake.kernels.casts.invalid_utf8 import characters, damaged, decoded


def texts(*rows: bytes | None) -> pa.Array:
    return pa.array(rows, pa.binary()).cast(pa.string(), safe=False)


def test_only_damaged_rows_are_found() -> None:
    assert damaged(texts(b"a", "é".encode(), b"\xc3", None, b"x\xffy")) == {2: b"\xc3", 4: b"x\xffy"}
    assert damaged(texts(b"a", None)) == {}


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"a\xffb", "a\ufffdb"),
        (b"\xe2\x82", "\ufffd"),
        (b"\xed\xa0\x80x", "\ufffdx"),
        ("😀".encode()[:3] + b"a", "\ufffda"),
    ],
)
def test_java_replaces_each_error_by_one_character(raw: bytes, text: str) -> None:
    assert decoded(texts(b"fine", raw, None)).to_pylist() == ["fine", text, None]


@pytest.mark.parametrize(
    ("raw", "count"), [(b"", 0), (b"\xc3(", 1), (b"\xe2\x82", 1), (b"\xff\xfe", 2), (b"a\xf0b", 2)]
)
def test_characters_are_counted_by_their_first_bytes(raw: bytes, count: int) -> None:
    assert characters(texts("äöü".encode(), raw)).to_pylist() == [3, count]


def test_sound_columns_are_returned_unchanged() -> None:
    column = texts(b"a", None)
    assert decoded(column) is column
