"""Bounds that no reader can use are left out, and nothing else of the footer changes."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shredlake.kernels import shred
from shredlake.parquet.format.footer import Footer, read_footer
from shredlake.parquet.format.thrift import read_struct
from shredlake.parquet.variant_columns import variant_columns
from shredlake.parquet.write.bounds import BOUNDS, binary_leaves, without_bounds
from shredlake.shredding.schema import ShreddingSchema
from variant_columns import MISSING, column_of

VALUES = [{"a": 1}, {"a": "x"}, MISSING, 5]


def footer_of(*, statistics: bool = True) -> Footer:
    column = shred(column_of(VALUES), ShreddingSchema.parse("struct<a bigint>"))
    sink = io.BytesIO()
    table = pa.table({"v": column, "b": [b"x"] * 4})
    pq.write_table(table, sink, row_group_size=2, write_statistics=statistics)
    return read_footer(sink)


def leaf_names(footer: Footer) -> dict[int, str]:
    return {leaf.column: leaf.dotted for leaf in footer.schema.leaves() if leaf.column is not None}


def test_the_leaves_that_hold_binary_variants() -> None:
    footer = footer_of()
    names = leaf_names(footer)
    found = [names[leaf] for leaf in binary_leaves(variant_columns(footer.schema))]
    assert found == ["v.metadata", "v.value", "v.typed_value.a.value"]
    assert list(binary_leaves([])) == []


def test_only_these_bounds_are_removed() -> None:
    footer = footer_of()
    leaves = set(binary_leaves(variant_columns(footer.schema)))
    before, after = read_struct(footer.raw), read_struct(without_bounds(footer, leaves).raw)
    kept = 0
    for old, new in zip(before.structs(4), after.structs(4), strict=True):
        for number, (was, now) in enumerate(zip(old.structs(1), new.structs(1), strict=True)):
            was_meta, now_meta = was.struct(3), now.struct(3)
            assert was_meta is not None
            assert now_meta is not None
            was_statistics, now_statistics = was_meta.struct(12), now_meta.struct(12)
            assert was_statistics is not None
            assert now_statistics is not None
            if number in leaves:
                assert not set(BOUNDS) & set(now_statistics)
                for field in BOUNDS:
                    was_statistics.remove(field)
            else:
                kept += len(set(BOUNDS) & set(now_statistics))
    assert kept > 0
    assert after == before, "the rest is the same"


@pytest.mark.parametrize("statistics", [True, False])
def test_nothing_to_remove_changes_no_byte(statistics: bool) -> None:
    footer = footer_of(statistics=statistics)
    leaves = [] if statistics else list(binary_leaves(variant_columns(footer.schema)))
    assert without_bounds(footer, leaves).raw == footer.raw
    once = without_bounds(footer, [0])
    assert without_bounds(once, [0]).raw == once.raw
