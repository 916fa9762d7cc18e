"""Constants: the types of numbers, and casts that are folded once."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal

import pytest

from shredlake.expr.ast import Literal
from shredlake.expr.constants import depends_on_engine, fold_cast, number
from shredlake.expr.types import (
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    UUID,
    DataType,
    decimal,
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("2147483647", "int"),
        ("2147483648", "bigint"),
        ("9223372036854775807", "bigint"),
        ("9223372036854775808", "decimal(19,0)"),
        ("0.001", "decimal(3,3)"),
        ("1.", "decimal(1,0)"),
        ("1E2", "double"),
    ],
)
def test_the_type_of_a_number(text: str, kind: str) -> None:
    found = number(text)
    assert found is not None
    assert found.type.name == kind


@pytest.mark.parametrize("text", ["1e", "9" * 39, "0." + "1" * 39])
def test_texts_that_are_not_constants(text: str) -> None:
    assert number(text) is None


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (dt.date(2024, 2, 29), DATE, "2024-02-29"),
        (dt.datetime(2024, 1, 2, 3, 4, 5, 6, dt.UTC), TIMESTAMP, "2024-01-02 03:04:05.000006"),
        (dt.datetime(2024, 1, 2, 3, 4, 5), TIMESTAMP_NTZ, "2024-01-02 03:04:05"),
        (uuid.UUID(int=5), UUID, "00000000-0000-0000-0000-000000000005"),
        (Decimal("1.50"), decimal(3, 2), "1.5"),
    ],
)
def test_a_cast_of_text_is_folded(value: object, kind: DataType, text: str) -> None:
    assert fold_cast(Literal(text, STRING), kind) == Literal(value, kind)


def test_casts_that_fail_are_not_folded() -> None:
    assert fold_cast(Literal("x", STRING), INT) is None
    assert fold_cast(Literal(300, INT), TINYINT) is None
    assert fold_cast(Literal("+12345-01-01", STRING), DATE) is None, "Python has no such year"
    assert fold_cast(Literal(None, STRING), INT) == Literal(None, INT)


def test_engines_print_floats_differently() -> None:
    assert depends_on_engine(DOUBLE, decimal(3, 1))
    assert not depends_on_engine(DOUBLE, INT)
