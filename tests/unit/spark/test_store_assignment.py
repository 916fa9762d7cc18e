"""Types of a frame go into the types of a table: widened, checked value by value, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from shredlake.errors import InvalidSchema
from shredlake.spark.store_assignment import stored, widens

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")


def kind(name: str) -> Any:
    """A type by its name in Spark's JSON, and of these the containers `[x]`, `{x}` and `(name x, ...)`."""
    from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

    inner = name[1:-1]
    if name.startswith("["):
        return ArrayType(kind(inner))
    if name.startswith("{"):
        return MapType(StringType(), kind(inner))
    if name.startswith("("):
        fields = [item.split() for item in inner.split(", ")] if inner else []
        return StructType([StructField(field, kind(of)) for field, of in fields])
    plain = {"name": "c", "type": name, "nullable": True, "metadata": {}}
    return StructType.fromJson({"type": "struct", "fields": [plain]}).fields[0].dataType


@pytest.mark.parametrize(
    ("source", "target", "wanted"),
    [
        ("byte", "short", True),
        ("short", "byte", False),
        ("integer", "integer", True),
        ("short", "float", True),
        ("integer", "float", False),  # a float has 24 bits
        ("integer", "double", True),
        ("long", "double", False),
        ("float", "double", True),
        ("double", "float", False),
        ("long", "decimal(19,0)", True),
        ("long", "decimal(20,2)", False),
        ("decimal(9,2)", "decimal(10,3)", True),
        ("decimal(9,2)", "decimal(9,3)", False),
        ("decimal(9,2)", "decimal(12,1)", False),
        ("decimal(3,0)", "long", False),
        ("float", "decimal(38,10)", False),
        ("date", "timestamp", False),
        ("integer", "string", False),
        ("[integer]", "[long]", True),
        ("[long]", "[integer]", False),
        ("{integer}", "{long}", True),
        ("(a integer, b date)", "(A long, B date)", True),
        ("(a integer, b date)", "(b date, a integer)", False),
        ("(a integer)", "(a integer, b date)", False),
        ("(a integer)", "[integer]", False),
        ("variant", "variant", True),
    ],
)
def test_types_that_hold_every_value_of_another(source: str, target: str, wanted: bool) -> None:
    assert widens(kind(source), kind(target)) is wanted


class Cast:
    """A column that only knows how it is cast."""

    def cast(self, target: Any) -> tuple[str, str]:
        return "cast", target.simpleString()


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("integer", "long", ("cast", "bigint")),
        ("void", "date", ("cast", "date")),
        ("date", "string", ("cast", "string")),
        ("binary", "string", ("cast", "string")),
        ("(a integer)", "(a long)", ("cast", "struct<a:bigint>")),
    ],
)
def test_casts_that_keep_every_value(source: str, target: str, expected: tuple[str, str]) -> None:
    value: Any = Cast()
    assert stored(value, kind(source), kind(target), "c") == expected
    assert stored(value, kind(target), kind(target), "c") is value, "of the same type it is stored as it is"


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("string", "integer"),
        ("boolean", "integer"),
        ("integer", "date"),
        ("timestamp", "long"),
        ("(a integer)", "string"),
        ("variant", "string"),
        ("[integer]", "string"),
        ("[long]", "[integer]"),
        ("(a integer)", "(b integer)"),
        ("string", "binary"),
    ],
)
def test_other_types_are_refused_before_the_job(source: str, target: str) -> None:
    value: Any = Cast()
    with pytest.raises(
        InvalidSchema, match=r"the frame's column `?c`? is .*, but the table's is .*Cast it in the frame"
    ):
        stored(value, kind(source), kind(target), "c")


@pytest.mark.spark
def test_values_that_would_change_fail(spark: Any) -> None:
    from pyspark.sql import functions as F

    def asked(text: str, source: str, target: str) -> Any:
        column = stored(F.expr(text), kind(source), kind(target), "c")
        return spark.range(1).select(column.alias("x")).first()["x"]

    assert asked("5L", "long", "integer") == 5
    assert asked("cast(null as bigint)", "long", "integer") is None
    assert asked("cast('NaN' as double)", "double", "float") != 0
    assert asked("double('-Infinity')", "double", "float") == float("-inf")
    assert asked("0.1D", "double", "float") == pytest.approx(0.1)
    for text, source, target in (
        ("5000000000L", "long", "integer"),
        ("1e300D", "double", "float"),
        ("double('NaN')", "double", "long"),
        ("1.5BD", "decimal(2,1)", "long"),
        ("timestamp_ntz'2020-01-01 01:00:00'", "timestamp_ntz", "date"),
    ):
        with pytest.raises(Exception, match=r"column c: .* does not fit the table's type"):
            asked(text, source, target)
