"""Column chunks: found in a footer, parsed on demand, and compared with the schema."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shredlake.errors import InvalidFile
from shredlake.parquet.format import footer as numbers
from shredlake.parquet.format.chunks import (
    CHUNK_CRYPTO,
    FILE_COLUMN_ORDERS,
    Chunks,
    check_values,
    refuse_encrypted,
)
from shredlake.parquet.format.footer import Footer, read_footer
from shredlake.parquet.format.thrift import I64, STRUCT, Reader, Struct, read_struct, write_struct

pytestmark = pytest.mark.usefixtures("kernels")

TABLE = pa.table(
    {
        "n": pa.array([1, None, 3, 4], pa.int64()),
        "s": pa.array(["x", "x", "y", None]),
        "l": pa.array([[1, 2], [], None, [3]]),
        "e": pa.nulls(4, pa.int8()),
    }
)


def footer_of(table: pa.Table = TABLE, **options: Any) -> Footer:
    sink = io.BytesIO()
    pq.write_table(table, sink, **({"row_group_size": 2, "write_page_index": True} | options))
    return read_footer(sink)


def changed(change: Callable[[Struct], None]) -> Footer:
    footer = footer_of()
    tree = read_struct(footer.raw)
    change(tree)
    return Footer(write_struct(tree), footer.start, footer.schema)


def test_the_numbers_are_those_of_pyarrow() -> None:
    sink = io.BytesIO()
    pq.write_table(TABLE, sink, row_group_size=2)
    chunks, metadata = Chunks(read_footer(sink), "f"), pq.read_metadata(sink)
    assert len(chunks) == 2
    assert chunks.row_counts == [2, 2]
    for group in range(2):
        for column in range(4):
            ours, theirs = chunks.chunk(group, column), metadata.row_group(group).column(column)
            assert ours.values == theirs.num_values
            assert ours.uncompressed_size == theirs.total_uncompressed_size
            assert ours.null_count == theirs.statistics.null_count
            start = theirs.dictionary_page_offset or theirs.data_page_offset
            assert ours.extent == (start, theirs.total_compressed_size)
            assert (ours.dictionary_size > 0) == theirs.has_dictionary_page
    assert [chunk.values for chunk in chunks.all()] == [2, 2, 3, 2, 2, 2, 2, 2]


def test_dictionaries_nulls_and_indexes() -> None:
    chunks = Chunks(footer_of(), "f")
    n, s, _, empty = (chunks.chunk(0, column) for column in range(4))
    assert s.is_dictionary
    assert empty.is_all_null
    assert not n.is_all_null
    assert n.data_pages == 1
    assert n.offset_index is not None
    assert n.column_index is not None
    assert n.index_extents == (n.offset_index, n.column_index)
    plain = Chunks(footer_of(use_dictionary=False, write_page_index=False), "f").chunk(0, 1)
    assert not plain.is_dictionary
    assert plain.dictionary_size == 0
    assert plain.index_extents == (None, None)


def test_without_statistics_nulls_are_unknown() -> None:
    chunk = Chunks(footer_of(write_statistics=False), "f").chunk(0, 3)
    assert chunk.null_count is None
    assert not chunk.is_all_null


def test_a_file_without_rows() -> None:
    chunks = Chunks(footer_of(TABLE.slice(0, 0)), "f")
    assert sum(chunk.values for chunk in chunks.all()) == 0
    chunks.compare(4, frozenset({2}))


def test_the_order_of_a_column_is_that_which_the_footer_declares() -> None:
    assert Chunks(footer_of(), "f").ordered_by_type(0)
    assert not Chunks(footer_of(), "f").ordered_by_type(9)
    without = Chunks(changed(lambda tree: tree.remove(FILE_COLUMN_ORDERS)), "f")
    assert not without.ordered_by_type(0)


def test_the_schema_is_the_list_of_elements() -> None:
    footer = footer_of()
    found = Reader(Chunks(footer, "f").schema).value(9)
    names = [item.text(4) for item in found.items]  # type: ignore[attr-defined]
    assert names[1:3] == ["n", "s"]


def meta_of(tree: Struct, column: int = 0) -> Struct:
    meta = (
        tree.structs(numbers.FILE_ROW_GROUPS)[0]
        .structs(numbers.ROW_GROUP_COLUMNS)[column]
        .struct(numbers.CHUNK_META)
    )
    assert meta is not None
    return meta


def test_row_groups_that_contradict_the_schema() -> None:
    with pytest.raises(InvalidFile, match="row group 0 has 4 column chunks, not 5"):
        Chunks(footer_of(), "f").compare(5, frozenset())
    fewer = Chunks(changed(lambda tree: meta_of(tree).set(5, I64, 1)), "f")
    with pytest.raises(InvalidFile, match="row group 0, column 0 has 1 values, but its row group has 2 rows"):
        fewer.compare(4, frozenset({2}))
    with pytest.raises(InvalidFile, match="has 4 columns, but the schema has more"):
        Chunks(footer_of(), "f").chunk(0, 4)


def test_negative_row_counts_and_cut_footers_are_damage() -> None:
    def negate(tree: Struct) -> None:
        tree.structs(numbers.FILE_ROW_GROUPS)[1].set(3, I64, -2)

    with pytest.raises(InvalidFile, match="f: the footer is damaged: a row group has -2 rows"):
        Chunks(changed(negate), "f")
    footer = footer_of()
    with pytest.raises(InvalidFile, match="f: its footer is malformed"):
        Chunks(replace(footer, raw=footer.raw[: len(footer.raw) // 2]), "f")


def test_an_encrypted_chunk_is_named_as_such() -> None:
    def encrypt(tree: Struct) -> None:
        chunk = tree.structs(numbers.FILE_ROW_GROUPS)[0].structs(numbers.ROW_GROUP_COLUMNS)[0]
        chunk.remove(numbers.CHUNK_META)
        chunk.set(CHUNK_CRYPTO, STRUCT, Struct({}))

    chunks = Chunks(changed(encrypt), "f")
    with pytest.raises(InvalidFile, match="row group 0, column 0 is encrypted"):
        chunks.chunk(0, 0)
    assert chunks.chunk(0, 1).values == 2
    refuse_encrypted(Struct({}), "here")


@pytest.mark.parametrize(("values", "repeated"), [(4, False), (4, True), (6, False), (-1, True)])
def test_numbers_of_values(values: int, repeated: bool) -> None:
    """A column has as many values as rows, and below a list it may have more."""
    check_values(5, 5, repeated=repeated, place="here")
    check_values(6, 5, repeated=True, place="here")
    with pytest.raises(InvalidFile, match=f"here has {values} values, but its row group has 5 rows"):
        check_values(values, 5, repeated=repeated, place="here")
