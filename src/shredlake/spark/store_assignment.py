"""Casts a frame's values to a table's types by Spark's INSERT rules, regardless of the session's settings.

| from                      | to                        | result                                            |
|---------------------------|---------------------------|---------------------------------------------------|
| a type                    | itself, or a wider number | stored unchanged                                  |
| a number                  | another type of number    | a value that would change fails the job           |
| a date or timestamp       | another of these types    | a value that would change fails the job           |
| any plain type            | string                    | cast to string                                    |
| a struct, array or map    | the same, leaves widened  | stored, if the fields are in the same order       |
| anything else             |                           | rejected before the job starts                    |

With `spark.sql.ansi.enabled=false`, a plain cast would let numbers wrap around and turn text into NULL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shredlake.errors import InvalidSchema
from shredlake.spark.arrow import DIGITS

if TYPE_CHECKING:
    from pyspark.sql import Column

WHOLE = ("tinyint", "smallint", "int", "bigint")
FRACTIONS = ("float", "double")
TIMES = ("date", "timestamp", "timestamp_ntz")


def stored(value: Column, source: Any, target: Any, column: str) -> Column:
    """Casts a frame's column of type `source` to the type `target` of the table's `column`."""
    have, want = source.simpleString(), target.simpleString()
    if have == want:
        return value
    if source.typeName() == "void" or widens(source, target):
        return value.cast(target)
    if want == "string" and not _nested(source):
        return value.cast(target)
    if (_number(have) and _number(want)) or (have in TIMES and want in TIMES):
        return _unchanged(value, source, target, column)
    raise InvalidSchema(
        f"the frame's column {column} is {have}, but the table's is {want}, and Spark does not convert "
        "between them on INSERT. Cast it in the frame first."
    )


def widens(source: Any, target: Any) -> bool:
    """Whether every value of the type `source` is also a value of the type `target`.

    >>> from pyspark.sql.types import DecimalType, IntegerType, LongType
    >>> widens(IntegerType(), LongType()), widens(LongType(), IntegerType())
    (True, False)
    >>> widens(IntegerType(), DecimalType(10, 0)), widens(IntegerType(), DecimalType(9, 0))
    (True, False)
    """
    from pyspark.sql.types import ArrayType, DecimalType, MapType, StructType

    have, want = source.simpleString(), target.simpleString()
    if have == want:
        return True
    if isinstance(target, DecimalType):
        digits, scale = DIGITS.get(have), 0
        if isinstance(source, DecimalType):
            digits, scale = source.precision - source.scale, source.scale
        return digits is not None and digits <= target.precision - target.scale and scale <= target.scale
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return widens(source.elementType, target.elementType)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return widens(source.keyType, target.keyType) and widens(source.valueType, target.valueType)
    if isinstance(source, StructType) and isinstance(target, StructType):
        return [field.name.casefold() for field in source.fields] == [
            field.name.casefold() for field in target.fields
        ] and all(widens(a.dataType, b.dataType) for a, b in zip(source.fields, target.fields, strict=True))
    exact = {"float": WHOLE[:2], "double": (*WHOLE[:3], "float")}
    return have in (exact.get(want) or WHOLE[: WHOLE.index(want)] if want in (*WHOLE, *exact) else ())


def _unchanged(value: Column, source: Any, target: Any, column: str) -> Column:
    """Casts to the target type. A value that the cast would change fails the job."""
    from pyspark.sql import functions as F

    made = value.try_cast(target)
    if target.simpleString() in FRACTIONS:  # rounding is allowed, but not overflow to infinity
        finite = ~F.isnan(made) & (F.abs(made) != float("inf"))
        same = finite | F.isnan(value.cast("double")) | (F.abs(value.cast("double")) == float("inf"))
    else:
        same = made.try_cast(source).eqNullSafe(value)
    text = F.concat(
        F.lit(f"column {column}: "),
        value.cast("string"),
        F.lit(f" does not fit the table's type {target.simpleString()}. Nothing was committed"),
    )
    refused = F.raise_error(text).cast(target)
    return F.when(value.isNull() | (made.isNotNull() & same), made).otherwise(refused)


def _number(name: str) -> bool:
    return name in (*WHOLE, *FRACTIONS) or name.startswith("decimal")


def _nested(kind: Any) -> bool:
    return kind.typeName() in ("struct", "array", "map", "variant")
