"""Names of types, and the types of Arrow columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shredlake.errors import InvalidExpression
from shredlake.expr.types import checked_decimal, duckdb_name, from_arrow, parse_type
from shredlake.kernels.arrow.types import variant


@pytest.mark.parametrize(
    "name",
    ["boolean", "tinyint", "bigint", "float", "string", "binary", "date", "timestamp", "timestamp_ntz",
     "timestamp_nanos", "timestamp_ntz_nanos", "decimal(9,2)", "uuid", "void", "variant"],
)  # fmt: skip
def test_a_type_is_found_by_its_name_and_by_its_arrow_type(name: str) -> None:
    kind = parse_type(f" {name.upper()} ")
    assert kind.name == name
    assert from_arrow(kind.arrow) == kind


def test_types_with_parts() -> None:
    assert parse_type("array<struct<a: int, `b c`: string>>").name == "array<struct<a:int,`b c`:string>>"
    assert parse_type("map<string, decimal(3,1)>").arrow == pa.map_(pa.string(), pa.decimal128(3, 1))


@pytest.mark.parametrize(
    "text", ["", "no_such_type", "decimal(39,0)", "decimal(3,4)", "decimal(1,2,3)", "array<"]
)
def test_names_that_are_not_types(text: str) -> None:
    with pytest.raises(InvalidExpression):
        parse_type(text)


def test_decimals_without_parameters() -> None:
    assert [checked_decimal(given).name for given in ([], [5], [5, 2])] == [
        "decimal(10,0)",
        "decimal(5,0)",
        "decimal(5,2)",
    ]


@pytest.mark.parametrize(
    ("arrow", "name"),
    [
        (pa.uint64(), "decimal(20,0)"),
        (pa.uint32(), "bigint"),
        (pa.large_string(), "string"),
        (pa.binary(4), "binary"),
        (pa.timestamp("ms"), "timestamp_ntz"),
        (pa.timestamp("s", "Europe/Berlin"), "timestamp"),
        (pa.timestamp("ns", "UTC"), "timestamp_nanos"),
        (pa.dictionary(pa.int8(), pa.string()), "string"),
        (pa.run_end_encoded(pa.int32(), pa.date32()), "date"),
        (variant(), "variant"),
        (pa.list_(pa.int8()), "list<item: int8>"),
    ],
)
def test_types_of_arrow_columns(arrow: pa.DataType, name: str) -> None:
    assert from_arrow(arrow).name == name


def test_duckdb_has_other_names() -> None:
    assert [duckdb_name(name) for name in ("string", "timestamp", "date")] == [
        "VARCHAR",
        "TIMESTAMPTZ",
        "DATE",
    ]
