"""Queries in the names of one file."""

from __future__ import annotations

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.read.bind import bind, canonical, condition
from shredlake.delta.schema.types import Field, Struct
from shredlake.errors import InvalidExpression
from shredlake.expr import Expr, Get, parse_predicate, references

NAMES = {"delta.columnMapping.physicalName": "c-1"}
SCHEMA = Struct(
    (
        Field("id", "long"),
        Field("s", Struct((Field("Inner", "string"),))),
        Field("v", "variant", metadata=NAMES),
        Field("day", "string"),
        Field("new", "long"),
    )
)
FILE = pa.schema([("id", pa.int64()), ("s", pa.struct([("Inner", pa.string())])), ("c-1", sl.variant())])
BINDING = bind(SCHEMA, {"day": "mon"}, FILE, by_id=False)


def bound(text: str) -> Expr:
    return BINDING.expression(canonical(parse_predicate(text), SCHEMA))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ID > 5", "id > 5"),
        ("s.inner = 'x'", "s.Inner = 'x'"),
        ("v:a::bigint = 1", "`c-1`:a::bigint = 1"),
    ],
)
def test_names_become_those_of_the_file(text: str, wanted: str) -> None:
    assert bound(text) == parse_predicate(wanted)


def test_the_cast_of_a_whole_variant_is_a_path() -> None:
    [ref] = references(bound("v::string = 'x'"))
    assert isinstance(ref, Get)
    assert (ref.column, str(ref.path), str(ref.type)) == ("c-1", "$", "string")


def test_partition_values_and_missing_columns_are_constants() -> None:
    assert bound("day = 'mon'") == parse_predicate("'mon' = 'mon'")
    assert "None" in repr(bound("new = 1"))


@pytest.mark.parametrize("text", ["day:a::int = 1", "id:a::int = 1", "missing = 1"])
def test_columns_without_paths(text: str) -> None:
    with pytest.raises(InvalidExpression):
        bound(text)


def test_a_condition_is_boolean() -> None:
    assert condition(None, SCHEMA) is None
    with pytest.raises(InvalidExpression):
        condition("id + 1", SCHEMA)


def test_columns_are_found_by_id() -> None:
    schema = Struct((Field("now", "long", metadata={"delta.columnMapping.id": 7}),))
    file = pa.schema([pa.field("then", pa.int64(), metadata={b"PARQUET:field_id": b"7"})])
    assert bind(schema, {}, file, by_id=True).locate(list(schema.fields)) == ("then",)
    assert bind(schema, {}, file, by_id=False).locate(list(schema.fields)) is None
