"""The type in which two operands are compared: the same in both orders, and as the table says."""

from __future__ import annotations

from itertools import product

import pytest

from shredlake.expr.coerce import COMPARABLE, common_type
from shredlake.expr.types import VARIANT, parse_type


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        ("tinyint", "int", "int"),
        ("int", "decimal(3,1)", "decimal(11,1)"),
        ("decimal(5,1)", "decimal(5,3)", "decimal(7,3)"),
        ("bigint", "float", "double"),
        ("float", "float", "float"),
        ("string", "smallint", "bigint"),
        ("string", "decimal(3,1)", "double"),
        ("string", "date", "date"),
        ("string", "boolean", "boolean"),
        ("date", "timestamp", "timestamp"),
        ("timestamp", "timestamp_ntz", "timestamp"),
        ("void", "date", "date"),
        ("int", "boolean", None),
        ("binary", "date", None),
    ],
)
def test_the_table(one: str, other: str, wanted: str | None) -> None:
    for a, b in ((one, other), (other, one)):
        found = common_type(parse_type(a), parse_type(b))
        assert (found and found.name) == wanted


def test_the_order_of_operands_does_not_matter() -> None:
    for a, b in product(COMPARABLE, repeat=2):
        assert common_type(a, b) == common_type(b, a), (a, b)


def test_variants_are_not_compared() -> None:
    assert common_type(VARIANT, VARIANT) is None
    assert common_type(parse_type("decimal(38,0)"), parse_type("decimal(38,38)")).arrow.precision == 76
