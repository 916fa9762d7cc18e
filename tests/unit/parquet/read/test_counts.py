"""Counts of levels: from the footer where it says enough, otherwise from the rows; both are the same."""

from __future__ import annotations

import io
from dataclasses import astuple
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shredlake.kernels import shred
from shredlake.parquet.format.chunks import Chunks
from shredlake.parquet.io.source import Source, open_input
from shredlake.parquet.read.counts import FooterCounts, count_levels
from shredlake.parquet.read.stream import parquet_file
from shredlake.parquet.variant_columns import variant_columns
from shredlake.parquet.write.writer import write_parquet
from shredlake.shredding.schema import ShreddingSchema
from variant_columns import MISSING, column_of

VALUES: list[Any] = [
    {"a": 1, "l": [1, "x", None]},
    {"a": None, "z": 5},
    {"l": []},
    MISSING,
    None,
    "text",
    {},
]
DDL = "struct<a bigint, l array<bigint>>"

# places, typed, residual (with nulls and partial objects), null, partial
EXPECTED = {
    "$": (6, 4, 3, 1, 1),
    "$['a']": (4, 1, 1, 1, 0),
    "$['l']": (4, 2, 0, 0, 0),
    "$['l'][*]": (3, 1, 2, 1, 0),
}


def source_of(values: list[Any], *, statistics: bool, rows: int = 100) -> Source:
    sink = io.BytesIO()
    column = shred(column_of(values), ShreddingSchema.parse(DDL))
    pq.write_table(pa.table({"v": column}), sink, write_statistics=statistics, row_group_size=rows)
    return open_input(sink)


def counted(source: Source, progress: Any = None) -> dict[str, tuple[int, ...]]:
    footer = source.footer()
    with parquet_file(source, footer) as file:
        found = count_levels(source, file, footer, variant_columns(footer.schema), progress)
    return {path: astuple(counts) for (_, path), counts in found.items()}


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("rows", [1, 3, 100])
def test_counts_by_hand(statistics: bool, rows: int) -> None:
    assert counted(source_of(VALUES, statistics=statistics, rows=rows)) == EXPECTED


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("values", [[], [MISSING, MISSING]])
def test_nothing_is_nothing(statistics: bool, values: list[Any]) -> None:
    found = counted(source_of(values, statistics=statistics))
    assert set(found.values()) == {(0, 0, 0, 0, 0)}
    assert list(found) == list(EXPECTED)


def test_no_rows_are_read_where_the_footer_says_all() -> None:
    source = source_of([{"a": 1}, {"a": 2}] * 50, statistics=True)
    seen: list[tuple[int, int]] = []
    footer_only = source.bytes_read
    found = counted(source, lambda done, total: seen.append((done, total)))
    assert found["$['a']"] == (100, 100, 0, 0, 0)
    assert footer_only == 0
    bare: list[tuple[int, int]] = []
    counted(source_of(VALUES, statistics=False), lambda done, total: bare.append((done, total)))
    assert bare[-1] == (7, 7)


def test_objects_that_every_row_has(tmp_path: Any) -> None:
    values = [{"o": {"x": 1}, "p": {"y": 1}}, {"o": {}, "p": 5}]
    ddl = "struct<o struct<x bigint>, p struct<y bigint>>"
    write_parquet(pa.table({"v": column_of(values)}), tmp_path / "f", shredding={"v": ddl})
    with open_input(tmp_path / "f") as source:
        footer = source.footer()
        [column] = variant_columns(footer.schema)
        counts = FooterCounts(footer.schema, Chunks(footer, "f"), column)
        assert counts.objects_in_every_row() == {"$", "$['o']"}


def test_columns_in_lists_are_counted_by_their_elements() -> None:
    column = shred(column_of(VALUES), ShreddingSchema.parse(DDL))
    lists = pa.ListArray.from_arrays(pa.array([0, 0, 5, 7], pa.int32()), column)
    for statistics in (True, False):
        sink = io.BytesIO()
        pq.write_table(pa.table({"l": lists}), sink, write_statistics=statistics)
        assert counted(open_input(sink)) == EXPECTED
