"""Values of a frame as a table's column stores them: Spark's rule for INSERT, whatever the session's setting.

| from                      | to                        |                                                   |
|---------------------------|---------------------------|---------------------------------------------------|
| a type                    | itself, or a wider number | as it is                                          |
| a number                  | another type of number    | a value that would change ends the job            |
| a date or timestamp       | another of these          | the same                                          |
| any plain type            | string                    | its text                                          |
| a struct, array or map    | the same, leaves widened  | fields in the same order                          |
| anything else             |                           | refused before any work is done: cast it yourself |

Under `spark.sql.ansi.enabled=false` a plain cast would wrap numbers around and turn text into NULL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shredlake.errors import InvalidSchema

if TYPE_CHECKING:
    from pyspark.sql import Column

WHOLE = ("tinyint", "smallint", "int", "bigint")
FRACTIONS = ("float", "double")
TIMES = ("date", "timestamp", "timestamp_ntz")


def stored(value: Column, source: Any, target: Any, column: str) -> Column:
    """A column of a frame, of type `source`, as the table's `column` of type `target` keeps it."""
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
        f"the frame's column {column} is {have}, but the table's is {want}: Spark does not store one as the "
        "other. Cast it in the frame first"
    )


def widens(source: Any, target: Any) -> bool:
    """Whether every value of a type is a value of another type too.

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
        digits = (source.precision - source.scale, source.scale) if isinstance(source, DecimalType) else None
        digits = digits or {"tinyint": (3, 0), "smallint": (5, 0), "int": (10, 0), "bigint": (19, 0)}.get(
            have
        )
        return digits is not None and (
            digits[0] <= target.precision - target.scale and digits[1] <= target.scale
        )
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
    """The value in the other type; the job ends at a value that is not the same there."""
    from pyspark.sql import functions as F

    made = value.try_cast(target)
    if target.simpleString() in FRACTIONS:  # rounded, as everywhere; but never to infinity
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
