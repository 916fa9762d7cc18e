"""The leaves that a reference reads, in files of every layout."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shredlake.errors import InvalidExpression, InvalidFile, InvalidSchema
from shredlake.expr.ast import Column, Get
from shredlake.kernels import shredded_type, variant
from shredlake.parquet.read.access import Access, FileColumns
from shredlake.parquet.read.open_file import OpenFile
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant.path import Path

DDL = "struct<a bigint, o struct<x string, u variant>, l array<bigint>>"


def columns_of(schema: pa.Schema, variants: Any = (), exact: bool = False) -> FileColumns:
    sink = io.BytesIO()
    table = pa.table([pa.nulls(0, field.type) for field in schema], schema=schema)
    pq.write_table(table, sink)
    return OpenFile(sink, variants=variants, exact=exact).columns


SHREDDED = columns_of(
    pa.schema(
        [
            ("id", pa.int64()),
            ("v", shredded_type(ShreddingSchema.parse(DDL))),
            ("s", pa.struct([("w", variant()), ("n", pa.int8())])),
            ("l", pa.list_(pa.int8())),
            ("m", pa.map_(pa.string(), pa.int8())),
        ]
    )
)


def names(columns: FileColumns, leaves: frozenset[int]) -> set[str]:
    return {columns.leaves[leaf].dotted.replace("v.typed_value", "T", 1) for leaf in leaves}


def accessed(path: str, column: str = "v") -> Access:
    found = SHREDDED.access(Get(column, Path.parse(path)))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("path", "always", "residuals"),
    [
        ("$.a", {"T.a.typed_value"}, {"T.a.value"}),
        ("$.o.x", {"T.o.typed_value.x.typed_value"}, {"T.o.typed_value.x.value"}),
        ("$.o.u", set(), {"T.o.typed_value.u.value"}),
        ("$.o.u.deep", set(), {"T.o.typed_value.u.value"}),
        ("$.o.rest", set(), {"T.o.value"}),
        ("$.rest", set(), {"v.value"}),
        ("$.a.below", set(), {"T.a.value"}),
        ("$.l[3]", {"T.l.typed_value.list.element.typed_value"}, {"T.l.typed_value.list.element.value"}),
        ("$.l.name", set(), {"T.l.value"}),
        ("$.a[0]", set(), {"T.a.value"}),
    ],
)
def test_leaves_of_a_path(path: str, always: set[str], residuals: set[str]) -> None:
    access = accessed(path)
    assert names(SHREDDED, access.columns) == always
    assert names(SHREDDED, access.residuals) >= residuals
    assert access.place == ("v",)


def test_whole_objects_read_all_below_and_their_names() -> None:
    access = accessed("$.o")
    assert names(SHREDDED, access.columns) == {"T.o.typed_value.x.typed_value", "T.o.typed_value.u.value"}
    assert names(SHREDDED, access.residuals) == {"T.o.value", "T.o.typed_value.x.value"}
    assert access.needs_names
    whole = SHREDDED.access(Column("v"))
    assert whole == accessed("$")


def test_statistics_hold_for_scalars_outside_of_lists() -> None:
    assert accessed("$.a").leaf is not None
    assert accessed("$.l[0]").leaf is None
    assert accessed("$.o").leaf is None
    plain = SHREDDED.access(Column("id"))
    assert plain is not None
    assert plain.leaf is SHREDDED.leaves[0]
    lists = SHREDDED.access(Column("l"))
    assert lists is not None
    assert lists.leaf is None


def test_residuals_and_names_are_read_only_where_there_are_values() -> None:
    access = accessed("$.a")
    [metadata] = {access.metadata}
    assert metadata is not None
    assert access.read(lambda column: True) == access.columns
    assert access.read(lambda column: False) == access.columns | access.residuals | {metadata}
    assert accessed("$.o").read(lambda column: True) >= {metadata}, "names of an object"


def test_structs_hold_columns_and_variants() -> None:
    inner = accessed("$.x", "s.w")
    assert inner.place == ("s", "w")
    assert names(SHREDDED, inner.residuals) == {"s.w.value"}
    struct = SHREDDED.access(Column("s"))
    assert struct is not None
    assert names(SHREDDED, struct.columns | struct.residuals) >= {"s.w.value", "s.n"}
    assert SHREDDED.access(Column("s.missing")) is None
    assert SHREDDED.access(Column("nowhere")) is None
    assert SHREDDED.find(("v", "value")) is None, "the inside of a Variant is not a column"
    assert SHREDDED.find(("l", "list")) is None


def test_presence_is_one_leaf_and_raw_is_all() -> None:
    present, raw = SHREDDED.presence(("v",)), SHREDDED.raw(("v",))
    assert present is not None
    assert names(SHREDDED, present.columns) == {"v.metadata"}
    assert raw is not None
    assert len(raw.columns) == 11
    assert SHREDDED.presence(("nowhere",)) is SHREDDED.raw(("nowhere",)) is None


def test_leaves_in_lists_and_maps() -> None:
    assert {SHREDDED.leaves[leaf].path[0] for leaf in SHREDDED.in_maps} == {"m"}
    assert {SHREDDED.leaves[leaf].path[0] for leaf in SHREDDED.repeated} == {"v", "l", "m"}


def test_a_path_needs_a_variant() -> None:
    with pytest.raises(InvalidExpression, match=r"id is not a Variant but int64; a path such as id:a"):
        SHREDDED.access(Get("id", Path.parse("$.a")))
    with pytest.raises(InvalidExpression, match="s is not a Variant but a group"):
        SHREDDED.access(Get("s", Path.parse("$.a")))


def test_columns_of_one_name_are_ambiguous() -> None:
    schema = pa.schema([("a", pa.int8()), ("a", pa.int8()), ("b", pa.int8())])
    columns = columns_of(schema)
    with pytest.raises(InvalidFile, match="several columns named 'a'"):
        columns.access(Column("a"))
    assert columns.access(Column("b")) is not None


def test_declared_variants_are_the_only_ones_if_exact() -> None:
    schema = pa.schema([("v", variant()), ("w", variant())])
    assert columns_of(schema).variants.keys() == {("v",), ("w",)}
    assert columns_of(schema, ["v"]).variants.keys() == {("v",), ("w",)}
    assert columns_of(schema, ["v"], exact=True).variants.keys() == {("v",)}
    with pytest.raises((InvalidSchema, InvalidFile), match="id is declared as a Variant but is int64"):
        columns_of(pa.schema([("id", pa.int64())]), ["id"])
