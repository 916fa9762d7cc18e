"""Checksums depend on what the Variants mean, and on nothing else."""

from __future__ import annotations

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import MalformedVariant
from shredlake.kernels.checksum import checksum

TEXTS = ['{"a": 1, "b": [2.50]}', None, "null", '"text"', '{"b": {}}'] * 20
COLUMN = sl.from_json(pa.array(TEXTS))


def test_order_layout_and_threads_do_not_matter(kernels: str) -> None:
    wanted = checksum(COLUMN)
    assert checksum(COLUMN.take(pa.array(range(99, -1, -1)))) == wanted
    assert checksum(sl.shred(COLUMN, sl.ShreddingSchema.parse("struct<a int, b variant>"))) == wanted
    assert checksum(pa.chunked_array([COLUMN.slice(0, 30), COLUMN.slice(30)]), threads=2) == wanted


@pytest.mark.parametrize("text", ['{"a": 2, "b": [2.50]}', '{"a": 1, "b": 2.50}', '{"a": 1}', "null", None])
def test_any_other_value_changes_it(kernels: str, text: str | None) -> None:
    assert checksum(sl.from_json(pa.array([text, *TEXTS[1:]], pa.string()))) != checksum(COLUMN)


def test_rows_count_as_often_as_they_occur() -> None:
    assert checksum(sl.from_json(["1"])) != checksum(sl.from_json(["1", "1"]))


def test_a_malformed_row_is_named(kernels: str) -> None:
    rows = [{"metadata": b"\x01\x00\x00", "value": value} for value in (b"\x00", b"\xfc")]
    with pytest.raises(MalformedVariant, match="row 1"):
        checksum(pa.array(rows, sl.variant()))
