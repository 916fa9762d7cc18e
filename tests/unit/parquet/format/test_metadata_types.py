"""Fields of a footer have their declared wire types, or the footer is refused."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shredlake.errors import InvalidFile
from shredlake.parquet.format import thrift
from shredlake.parquet.format.footer import read_footer
from shredlake.parquet.format.metadata_types import (
    FILE_METADATA,
    ListType,
    StructType,
    check_types,
    wire_type,
)
from shredlake.parquet.format.thrift import (
    BINARY,
    FALSE,
    I32,
    I64,
    LIST,
    STRUCT,
    TRUE,
    List,
    Struct,
    read_struct,
)


def footer() -> Struct:
    sink = io.BytesIO()
    table = pa.table(
        {"n": [1], "t": pa.array([0], pa.timestamp("us", "UTC")), "d": pa.array([1], pa.uint8())}
    )
    pq.write_table(table, sink, sorting_columns=[pq.SortingColumn(0)])
    return read_struct(read_footer(sink).raw)


def test_footers_of_pyarrow_pass() -> None:
    check_types(footer())


def test_a_wrong_type_is_named_by_its_place() -> None:
    tree = footer()
    element = tree.structs(2)[1]
    element.set(4, I32, 7)
    with pytest.raises(InvalidFile, match=r"^FileMetaData\.2\.4 has the Thrift type 5, not 8$"):
        check_types(tree)
    tree = footer()
    meta = tree.structs(4)[0].structs(1)[0].struct(3)
    assert meta is not None
    meta.set(5, I32, 1)
    with pytest.raises(InvalidFile, match=r"^FileMetaData\.4\.1\.3\.5 has the Thrift type 5, not 6$"):
        check_types(tree)


def test_lists_have_elements_of_their_type_unless_empty() -> None:
    declared = StructType({1: ListType(I64), 2: ListType(StructType({1: I32}))})
    check_types(Struct({1: (LIST, List(I64, [5]))}), declared)
    check_types(Struct({1: (LIST, List(I32, []))}), declared)
    with pytest.raises(InvalidFile, match=r"FileMetaData\.1 lists the Thrift type 5, not 6"):
        check_types(Struct({1: (LIST, List(I32, [5]))}), declared)
    inner = Struct({1: (BINARY, b"x")})
    with pytest.raises(InvalidFile, match=r"FileMetaData\.2\.1 has the Thrift type 8, not 5"):
        check_types(Struct({2: (LIST, List(STRUCT, [Struct({}), inner]))}), declared)


@pytest.mark.parametrize("wire", [TRUE, FALSE])
def test_a_boolean_is_its_wire_type(wire: int) -> None:
    check_types(Struct({1: (wire, wire == TRUE)}), StructType({1: TRUE}))
    with pytest.raises(InvalidFile):
        check_types(Struct({1: (wire, wire == TRUE)}), StructType({1: I32}))


def test_fields_of_newer_versions_are_ignored() -> None:
    tree = footer()
    tree.set(99, BINARY, b"new")
    check_types(tree)
    assert 99 not in FILE_METADATA.fields


def test_wire_types() -> None:
    assert [wire_type(one) for one in (I32, ListType(I32), StructType())] == [I32, LIST, thrift.STRUCT]
