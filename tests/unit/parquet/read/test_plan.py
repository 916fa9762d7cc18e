"""One query over files of several layouts: the same slots and types for all, or an error that names both."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shredlake.errors import InvalidExpression, InvalidFile, InvalidSchema
from shredlake.expr.parse import parse_columns, parse_predicate
from shredlake.kernels import shred, variant
from shredlake.parquet.read.open_file import OpenFile
from shredlake.parquet.read.plan import Plan, make_plan
from shredlake.shredding.schema import ShreddingSchema
from variant_columns import column_of


def file_of(name: str = "", **columns: Any) -> OpenFile:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, row_group_size=2)
    file = OpenFile(sink)
    if name:
        file.source.name = name
    return file


def plan_of(
    files: list[OpenFile], columns: list[str] | None = None, where: str | None = None, **options: Any
) -> Plan:
    projections = None if columns is None else parse_columns(columns)
    predicate = None if where is None else parse_predicate(where)
    return make_plan(files, projections, predicate, **({"views": "variant"} | options))


V = column_of([{"a": 1}, {"a": "x"}])
SHREDDED = shred(V, ShreddingSchema.parse("struct<a bigint>"))


def test_by_default_all_columns_of_all_files() -> None:
    plan = plan_of([file_of(id=[1, 2], v=V), file_of(extra=["x", "y"], v=SHREDDED)])
    assert plan.schema.names == ["id", "v", "extra"]
    assert plan.schema.field("v").type == variant()
    assert len(plan.tasks) == 2
    assert plan.tasks[0].slots is plan.tasks[1].slots
    assert all(task.schema is plan.schema for task in plan.tasks)


def test_the_type_is_one_that_holds_the_values_of_all_files() -> None:
    files = [
        file_of(n=pa.array([1, 2], pa.int8())),
        file_of(n=pa.array([1, 2], pa.int64())),
        file_of(other=[1, 2]),
    ]
    assert plan_of(files, ["n"]).schema.field("n").type == pa.int64()


def test_types_that_do_not_meet_are_an_error_that_names_both_files() -> None:
    files = [file_of("one.parquet", n=[1, 2]), file_of("two.parquet", n=["x", "y"])]
    with pytest.raises(InvalidSchema, match=r"n is int64 in one\.parquet and string in two\.parquet"):
        plan_of(files, ["n"])


def test_a_column_that_no_file_has() -> None:
    with pytest.raises(InvalidExpression, match="no file has a column 'nowhere'; the columns are: id, v"):
        plan_of([file_of(id=[1, 2], v=V)], ["nowhere"])


def test_an_ambiguous_column_names_its_file() -> None:
    sink = io.BytesIO()
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["n", "n"])
    pq.write_table(twice, sink)
    file = OpenFile(sink)
    file.source.name = "f.parquet"
    with pytest.raises(InvalidFile, match=r"^f\.parquet: there are several columns named 'n'"):
        plan_of([file], ["n"])


@pytest.mark.parametrize(
    ("views", "type_"),
    [
        ("variant", variant()),
        ("json", pa.string()),
        ({"v": "json"}, pa.string()),
        ({"other": "json"}, variant()),
    ],
)
def test_forms_of_a_variant(views: Any, type_: pa.DataType) -> None:
    assert plan_of([file_of(v=SHREDDED)], ["v"], views=views).schema.field("v").type == type_


def test_the_raw_struct_is_that_of_the_file() -> None:
    plan = plan_of([file_of(v=SHREDDED)], ["v"], views="struct")
    assert plan.schema.field("v").type.names == ["metadata", "value", "typed_value"]


def test_old_timestamps_are_instants() -> None:
    sink = io.BytesIO()
    table = pa.table({"t": pa.array([0], pa.timestamp("ns"))})
    pq.write_table(table, sink, use_deprecated_int96_timestamps=True)
    assert plan_of([OpenFile(sink)], ["t"]).schema.field("t").type == pa.timestamp("us", "UTC")


def test_types_of_expressions_are_found_without_rows() -> None:
    columns = ["v:a::decimal(9,2) AS d", "id + 1 AS n", "v:a AS raw"]
    plan = plan_of([file_of(id=[1, 2], v=V)], columns)
    assert plan.schema.types[0] == pa.decimal128(9, 2)
    assert pa.types.is_integer(plan.schema.types[1])
    assert plan.schema.types[2] == variant()
    known = plan_of([file_of(id=[1, 2], v=V)], ["id + 1 AS n"], output_types=[pa.int32()])
    assert known.schema.types == [pa.int32()], "a type that the caller knows is not looked for"


def test_a_predicate_that_is_not_boolean_is_refused_if_asked() -> None:
    file = file_of(id=[1, 2])
    with pytest.raises(InvalidExpression):
        plan_of([file], ["id"], "id + 1", check=True)
    assert plan_of([file], ["id"], "id > 1", check=True).predicate == parse_predicate("id > 1")


def test_cheap_conditions_come_first() -> None:
    big = ["x" * 200 + str(n) for n in range(2)]
    plan = plan_of([file_of(id=[1, 2], text=big)], ["id"], "text > 'a' and id > 0")
    written = [condition.written for condition in plan.tasks[0].conditions]
    assert written == [parse_predicate("id > 0"), parse_predicate("text > 'a'")]
    empty = plan_of([file_of(id=pa.array([], pa.int64()))], ["id"], "id > 0")
    assert len(empty.tasks[0].conditions) == 1


def test_no_files_and_no_columns() -> None:
    assert plan_of([]).tasks == ()
    assert plan_of([]).schema == pa.schema([])
