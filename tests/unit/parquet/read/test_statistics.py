"""Bounds from bytes: those that can be trusted, and null for all others."""

from __future__ import annotations

import datetime as dt
import io
import struct
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shredlake.parquet.format.schema import SchemaNode
from shredlake.parquet.read.open_file import OpenFile
from shredlake.parquet.read.pages import PageBounds, Pages
from shredlake.parquet.read.statistics import (
    Facts,
    chunk_facts,
    decode,
    is_exact,
    page_facts,
    page_statistics,
    segments_of,
    to_bounds,
)


def leaf(physical: str, annotation: str | None = None) -> SchemaNode:
    return SchemaNode("x", "optional", physical, annotation, (), ("x",), 1, 0)


DECODED: list[tuple[str, str | None, pa.DataType, bytes, Any]] = [
    ("int32", None, pa.int32(), struct.pack("<i", -5), -5),
    ("int32", "INT(8, true)", pa.int8(), struct.pack("<i", -5), -5),
    ("int32", "INT(8, true)", pa.int8(), struct.pack("<i", 300), None),
    ("int32", "INT(8, false)", pa.uint8(), struct.pack("<i", 200), 200),
    ("int32", "INT(8, false)", pa.uint8(), struct.pack("<i", -1), None),
    ("int64", "INT(64, false)", pa.uint64(), struct.pack("<Q", 2**64 - 1), 2**64 - 1),
    ("int32", None, pa.int32(), b"\x01", None),
    ("int64", None, pa.int64(), struct.pack("<i", 1), None),
    ("boolean", None, pa.bool_(), b"\x01", True),
    ("float", None, pa.float32(), struct.pack("<f", 1.5), 1.5),
    ("double", None, pa.float64(), struct.pack("<d", float("nan")), None),
    ("int32", "DATE", pa.date32(), struct.pack("<i", 1), dt.date(1970, 1, 2)),
    (
        "int64",
        "TIMESTAMP(false, MICROS)",
        pa.timestamp("us"),
        struct.pack("<q", 1),
        dt.datetime(1970, 1, 1, 0, 0, 0, 1),
    ),
    ("int64", "TIMESTAMP(false, MILLIS)", pa.timestamp("us"), struct.pack("<q", 1), None),
    ("int64", "TIME(false, MICROS)", pa.time64("us"), struct.pack("<q", 1), dt.time(0, 0, 0, 1)),
    ("int32", "DECIMAL(5, 2)", pa.decimal128(5, 2), struct.pack("<i", -150), Decimal("-1.50")),
    ("int32", "DECIMAL(5, 2)", pa.decimal128(5, 2), struct.pack("<i", 100_000), None),
    ("binary", "DECIMAL(38, 2)", pa.decimal128(38, 2), b"\xff\x6a", Decimal("-1.50")),
    ("fixed_len_byte_array", "DECIMAL(38, 0)", pa.decimal128(38, 0), b"", None),
    ("binary", "STRING", pa.string(), "é".encode(), "é"),
    ("binary", "STRING", pa.dictionary(pa.int32(), pa.string()), b"a", "a"),
    ("binary", None, pa.binary(), b"\xff", b"\xff"),
    ("fixed_len_byte_array", "UUID", pa.uuid(), b"a" * 16, UUID(bytes=b"a" * 16)),
    ("fixed_len_byte_array", "UUID", pa.uuid(), b"a" * 8, None),
    ("int96", None, pa.timestamp("ns"), b"a" * 12, None),
    ("fixed_len_byte_array", "FLOAT16", pa.float16(), b"ab", None),
]


@pytest.mark.parametrize(("physical", "annotation", "type_", "raw", "value"), DECODED)
def test_bounds_are_decoded_or_unknown(
    physical: str, annotation: str | None, type_: pa.DataType, raw: bytes, value: Any
) -> None:
    for upper in (True, False):
        found = decode([raw, None], leaf(physical, annotation), type_, upper=upper)
        assert found.to_pylist() == [value, None]
    assert len(decode([], leaf(physical, annotation), type_, upper=True)) == 0


def test_a_text_cut_inside_a_character_bounds_from_below_only() -> None:
    cut = "aé".encode()[:2]
    for upper, expected in ((False, "a"), (True, None)):
        assert decode([cut], leaf("binary", "STRING"), pa.string(), upper=upper).to_pylist() == [expected]


def test_floats_may_always_hold_nan() -> None:
    facts = [Facts(struct.pack("<d", 1.0), struct.pack("<d", 2.0), 0, 5), Facts()]
    found = to_bounds(facts, leaf("double"), pa.float64())
    assert found.minimum.to_pylist() == [1.0, None]
    assert found.null_count.to_pylist() == [0, None]
    assert found.row_count.to_pylist() == [5, None]
    assert found.may_be_nan is not None
    assert found.may_be_nan.to_pylist() == [True, True]
    assert to_bounds(facts, leaf("int64"), pa.int64()).may_be_nan is None


def test_all_null_is_known_only_with_a_null_count() -> None:
    assert Facts(null_count=5, row_count=5).all_null
    assert not Facts(null_count=4, row_count=5).all_null
    assert not Facts(row_count=5).all_null
    assert not Facts().all_null


def test_facts_of_chunks() -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"n": [3, None, 1]}), sink)
    file = OpenFile(sink)
    chunk, node = file.chunks.chunk(0, 0), file.leaves[0]
    found = chunk_facts(chunk, node, ordered=True)
    assert found == Facts(struct.pack("<q", 1), struct.pack("<q", 3), 1, 3)
    assert is_exact(chunk, "min")
    pq.write_table(pa.table({"n": [3]}), sink := io.BytesIO(), write_statistics=False)
    bare = OpenFile(sink).chunks.chunk(0, 0)
    assert chunk_facts(bare, node, ordered=True) == Facts(row_count=1)
    assert not is_exact(bare, "max")


def pages(*, bounds: PageBounds | None) -> Pages:
    return Pages(None, [(0, 10), (10, 10)], [0, 4], 10, bounds)


def test_facts_of_pages() -> None:
    known = PageBounds([False, True], [b"a", b""], [b"c", b""], [1, 6])
    assert page_facts(pages(bounds=known), 0, True) == Facts(b"a", b"c", 1, 4)
    assert page_facts(pages(bounds=known), 1, True) == Facts(None, None, 6, 6)
    assert page_facts(pages(bounds=known), 0, False) == Facts(None, None, 1, 4)
    assert page_facts(pages(bounds=None), 1, True) == Facts(row_count=6)
    lists = PageBounds([False, False], [b"a", b"a"], [b"c", b"c"], [9, 0])
    assert page_facts(pages(bounds=lists), 0, True).null_count is None, "more nulls than rows: a list"
    uncounted = PageBounds([False, False], [b"a", b"a"], [b"c", b"c"], None)
    assert page_facts(pages(bounds=uncounted), 0, True) == Facts(b"a", b"c", None, 4)


def test_segments_end_at_every_page_of_every_column() -> None:
    other = Pages(None, [(0, 1)] * 3, [0, 3, 7], 10)
    assert segments_of([pages(bounds=None), other], 10) == [(0, 3), (3, 4), (4, 7), (7, 10)]
    assert segments_of([], 10) == [(0, 10)]


def test_a_part_of_a_page_keeps_only_null_counts_of_none_or_all() -> None:
    known = PageBounds([False, True], [b"a", b""], [b"c", b""], [1, 6])
    found = page_statistics(
        [(0, 2), (2, 4), (4, 7), (4, 10)],
        {0: pages(bounds=known), 1: None},
        {1: Facts(b"x", b"z", 0, 10)},
        lambda column: True,
        [pa.string(), pa.string()],
        {},
    )
    first, second = found.facts(0), found.facts(1)
    assert first is not None
    assert [(fact.minimum, fact.null_count, fact.row_count) for fact in first] == [
        (b"a", None, 2),
        (b"a", None, 2),
        (None, 3, 3),
        (None, 6, 6),
    ]
    assert second is not None
    assert {(fact.minimum, fact.null_count) for fact in second} == {(b"x", 0)}
    assert found.facts(2) is None
