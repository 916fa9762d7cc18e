"""Shredding schemas: the tree, and its DDL both ways."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest

from shredlake.errors import InvalidSchema
from shredlake.shredding import ARRAY_ELEMENT, Array, Object, Scalar, ShreddingSchema, Untyped
from shredlake.shredding.schema import DDL_NAMES, MAX_DEPTH, decimal, node_path
from shredlake.variant import VariantType

ROUND_TRIPS = [
    "variant",
    "bigint",
    "decimal(38,38)",
    "array<variant>",
    "array<array<array<uuid>>>",
    "struct<a bigint, b struct<c string>, t array<decimal(9,2)>>",
    "struct<`$type` string, `a.b` int, `` date, `tick``s` time, `9` binary, `naïve` boolean>",
    "struct<struct struct<array array<string>>>",
    "struct<z int, a int>",
]


@pytest.mark.parametrize("ddl", ROUND_TRIPS)
def test_ddl_prints_back(ddl: str) -> None:
    assert str(ShreddingSchema.parse(ddl)) == ddl


@pytest.mark.parametrize("kind", DDL_NAMES)
def test_every_scalar_of_the_specification_has_a_name(kind: VariantType) -> None:
    node = (
        decimal({"DECIMAL4": 9, "DECIMAL8": 18, "DECIMAL16": 38}[kind.name], 2)
        if kind.is_decimal
        else Scalar(kind)
    )
    assert node.type is kind
    assert ShreddingSchema.parse(str(ShreddingSchema(node))).root == node


def test_only_types_that_no_column_can_have_are_left_out() -> None:
    assert set(VariantType) - set(DDL_NAMES) == {VariantType.NULL, VariantType.OBJECT, VariantType.ARRAY}


@pytest.mark.parametrize(
    ("ddl", "node"),
    [
        ("BIGINT", Scalar(VariantType.INT64)),
        ("Long", Scalar(VariantType.INT64)),
        ("integer", Scalar(VariantType.INT32)),
        ("short", Scalar(VariantType.INT16)),
        ("byte", Scalar(VariantType.INT8)),
        ("real", Scalar(VariantType.FLOAT)),
        ("timestamp_ltz", Scalar(VariantType.TIMESTAMP)),
        ("decimal", decimal(10, 0)),
        ("numeric(5)", decimal(5, 0)),
        (" array < int > ", Array(Scalar(VariantType.INT32))),
        ("struct<a:int,b : variant>", Object((("a", Scalar(VariantType.INT32)), ("b", Untyped())))),
        ("struct<\n  Name string\n>", Object((("Name", Scalar(VariantType.STRING)),))),
    ],
)
def test_spellings_that_spark_takes(ddl: str, node: object) -> None:
    assert ShreddingSchema.parse(ddl).root == node


@pytest.mark.parametrize(
    ("ddl", "position", "path", "problem"),
    [
        ("", 0, "$", "expected a type, found the end of the text"),
        ("struct<a uint>", 9, "$['a']", "unknown type 'uint'"),
        ("struct<>", 7, "$", "an object without fields"),
        ("struct<a struct<>>", 16, "$['a']", "an object without fields"),
        ("struct<a int", 12, "$", "expected '>', found the end of the text"),
        ("struct<a int, a string>", 14, "$", "field a occurs twice"),
        ("struct<a int, `a` string>", 14, "$", "field a occurs twice"),
        ("struct<a int b int>", 13, "$", "expected '>', found 'b'"),
        ("struct<a>", 8, "$['a']", "expected a type, found '>'"),
        ("array<>", 6, "$[*]", "expected a type"),
        ("array<array<int>", 16, "$", "expected '>'"),
        ("array<decimal(39,2)>", 6, "$[*]", "the precision must be 1 to 38"),
        ("decimal(0,0)", 0, "$", "the precision must be 1 to 38"),
        ("decimal(5,6)", 0, "$", "the scale must be 0 to 5"),
        ("decimal(5,-1)", 10, "$", "unexpected '-'"),
        ("decimal(x)", 8, "$", "expected a number"),
        ("struct<`a int>", 7, "$", "backtick without its partner"),
        ("struct<a-b int>", 8, "$", "unexpected '-'"),
        ("map<string, int>", 0, "$", "unknown type 'map'"),
        ("struct<a int> trailing", 14, "$", "expected the end of the type"),
    ],
)
def test_errors_point_at_the_text_and_name_the_node(ddl: str, position: int, path: str, problem: str) -> None:
    with pytest.raises(InvalidSchema) as error:
        ShreddingSchema.parse(ddl)
    assert problem in str(error.value)
    assert f"at position {position} of" in str(error.value)
    assert f"node {path}" in str(error.value)


def test_the_depth_of_a_schema_is_bounded() -> None:
    def nested(levels: int) -> str:
        return "array<" * (levels - 1) + "int" + ">" * (levels - 1)

    ShreddingSchema.parse(nested(MAX_DEPTH))
    with pytest.raises(InvalidSchema, match="deeper"):
        ShreddingSchema.parse(nested(MAX_DEPTH + 1))
    with pytest.raises(InvalidSchema, match="deeper"):
        ShreddingSchema.parse("struct<a " * 100_000)
    node: Array | Scalar = Scalar(VariantType.INT8)
    for _ in range(MAX_DEPTH):
        node = Array(node)
    with pytest.raises(InvalidSchema, match="deeper"):
        ShreddingSchema(node)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Object(()), "without fields"),
        (lambda: Object((("a", Untyped()), ("a", Untyped()))), "twice"),
        (lambda: Object((("\ud800", Untyped()),)), "not valid Unicode"),
        (lambda: Scalar(VariantType.NULL), "NULL"),
        (lambda: Scalar(VariantType.OBJECT), "OBJECT"),
        (lambda: Scalar(VariantType.DECIMAL4), "needs a precision and a scale"),
        (lambda: Scalar(VariantType.DECIMAL4, 10, 2), ", not a DECIMAL4"),
        (lambda: Scalar(VariantType.INT8, 3, 0), "does not take a precision"),
        (lambda: decimal(3, 4), "the scale must be 0 to 3"),
    ],
)
def test_impossible_nodes(make: object, problem: str) -> None:
    with pytest.raises(InvalidSchema, match=problem):
        make()  # type: ignore[operator]


def test_schemas_are_values() -> None:
    schema = ShreddingSchema.parse("struct<a int, b array<string>>")
    assert schema == ShreddingSchema.parse("struct<a integer, `b` array<string>>")
    assert hash(schema) == hash(ShreddingSchema.parse("struct<a int, b array<string>>"))
    assert schema != ShreddingSchema.parse("struct<b array<string>, a int>"), "the order of columns counts"


def test_schemas_travel_between_processes() -> None:
    schema = ShreddingSchema.parse("struct<a int, b array<struct<c string>>>")
    make = (
        "import pickle, sys; from shredlake.shredding import ShreddingSchema as S; "
        f"sys.stdout.buffer.write(pickle.dumps(S.parse({str(schema)!r})))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    sent = subprocess.run(
        [sys.executable, "-c", make], capture_output=True, check=True, env=environment
    ).stdout
    assert {pickle.loads(sent): 1}[schema] == 1, "equal schemas have equal hashes, wherever they were made"


def test_leaves_and_nodes_come_with_their_steps() -> None:
    schema = ShreddingSchema.parse("struct<a struct<b array<struct<c int>>>, v variant>")
    assert [steps for steps, _ in schema.leaves()] == [("a", "b", ARRAY_ELEMENT, "c"), ("v",)]
    assert [node_path(steps) for steps, _ in schema.nodes()] == [
        "$",
        "$['a']",
        "$['a']['b']",
        "$['a']['b'][*]",
        "$['a']['b'][*]['c']",
        "$['v']",
    ]


def test_paths_are_normalised() -> None:
    assert (
        node_path(("it's", "back\\slash", "tab\t", "\x01"))
        == "$['it\\'s']['back\\\\slash']['tab\\t']['\\u0001']"
    )
