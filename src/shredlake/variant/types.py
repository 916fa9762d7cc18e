"""The types of a Variant, and the bytes of each primitive.

The first byte of a value:

```
  7   6   5   4   3   2   1   0
+-----------------------+-------+
|      type header      | basic |    basic: 0 primitive, 1 short string, 2 object, 3 array
+-----------------------+-------+
```
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

PRIMITIVE: Final = 0
SHORT_STRING: Final = 1
OBJECT: Final = 2
ARRAY: Final = 3

MAX_SHORT_STRING: Final = 63

TRUE_ID: Final = 1
FALSE_ID: Final = 2


class VariantType(enum.Enum):
    """The physical type of one value.

    True and false are one type; so are short and long strings.

    >>> VariantType.DECIMAL4.value
    'decimal4'
    >>> VariantType("int8").is_exact_number
    True
    """

    NULL = "null"
    BOOLEAN = "boolean"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    DOUBLE = "double"
    DECIMAL4 = "decimal4"
    DECIMAL8 = "decimal8"
    DECIMAL16 = "decimal16"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"
    FLOAT = "float"
    BINARY = "binary"
    STRING = "string"
    TIME = "time"
    TIMESTAMP_NANOS = "timestamp_nanos"
    TIMESTAMP_NTZ_NANOS = "timestamp_ntz_nanos"
    UUID = "uuid"
    OBJECT = "object"
    ARRAY = "array"

    @property
    def is_integer(self) -> bool:
        """Whether this is one of the four integer types."""
        return self in INTEGER_WIDTHS

    @property
    def is_decimal(self) -> bool:
        """Whether this is one of the three decimal types."""
        return self in DECIMAL_WIDTHS

    @property
    def is_exact_number(self) -> bool:
        """Whether this is an integer or a decimal: one class of numbers, compared by amount."""
        return self.is_integer or self.is_decimal


@dataclass(frozen=True, slots=True)
class Primitive:
    """One row of the specification's table: `width` bytes follow the first byte, None if a length follows."""

    id: int
    type: VariantType
    width: int | None


PRIMITIVES: Final[tuple[Primitive, ...]] = (
    Primitive(0, VariantType.NULL, 0),
    Primitive(TRUE_ID, VariantType.BOOLEAN, 0),
    Primitive(FALSE_ID, VariantType.BOOLEAN, 0),
    Primitive(3, VariantType.INT8, 1),
    Primitive(4, VariantType.INT16, 2),
    Primitive(5, VariantType.INT32, 4),
    Primitive(6, VariantType.INT64, 8),
    Primitive(7, VariantType.DOUBLE, 8),
    Primitive(8, VariantType.DECIMAL4, 1 + 4),  # scale, unscaled
    Primitive(9, VariantType.DECIMAL8, 1 + 8),
    Primitive(10, VariantType.DECIMAL16, 1 + 16),
    Primitive(11, VariantType.DATE, 4),
    Primitive(12, VariantType.TIMESTAMP, 8),
    Primitive(13, VariantType.TIMESTAMP_NTZ, 8),
    Primitive(14, VariantType.FLOAT, 4),
    Primitive(15, VariantType.BINARY, None),
    Primitive(16, VariantType.STRING, None),
    Primitive(17, VariantType.TIME, 8),
    Primitive(18, VariantType.TIMESTAMP_NANOS, 8),
    Primitive(19, VariantType.TIMESTAMP_NTZ_NANOS, 8),
    Primitive(20, VariantType.UUID, 16),
)
"""Indexed by primitive id. Higher ids are reserved for writers newer than this reader."""

PRIMITIVE_IDS: Final[dict[VariantType, int]] = {
    primitive.type: primitive.id for primitive in PRIMITIVES if primitive.type is not VariantType.BOOLEAN
}

INTEGER_WIDTHS: Final[dict[VariantType, int]] = {
    VariantType.INT8: 1,
    VariantType.INT16: 2,
    VariantType.INT32: 4,
    VariantType.INT64: 8,
}
"""Bytes of each integer, narrowest first."""

DECIMAL_WIDTHS: Final[dict[VariantType, int]] = {
    VariantType.DECIMAL4: 4,
    VariantType.DECIMAL8: 8,
    VariantType.DECIMAL16: 16,
}
"""Bytes of each decimal's unscaled number, narrowest first."""

DECIMAL_PRECISION: Final[dict[VariantType, int]] = {
    VariantType.DECIMAL4: 9,
    VariantType.DECIMAL8: 18,
    VariantType.DECIMAL16: 38,
}
"""The maximum number of digits of each decimal type, narrowest first."""

MAX_DECIMAL_DIGITS: Final = 38
MICROS_PER_DAY: Final = 86_400_000_000


def smallest_integer(number: int) -> VariantType | None:
    """The narrowest integer type that holds the number, or None beyond 64 bits.

    >>> smallest_integer(-129)
    <VariantType.INT16: 'int16'>
    """
    for type_, width in INTEGER_WIDTHS.items():
        if -(1 << 8 * width - 1) <= number < 1 << 8 * width - 1:
            return type_
    return None


def smallest_decimal(unscaled: int, scale: int) -> VariantType | None:
    """The narrowest decimal that holds the number's digits, or None beyond 38.

    Zeros right after the point count: 0.0000000001 is a decimal(10, 10), so it takes a decimal8, as in Spark
    and other SQL engines, where the scale never exceeds the precision.

    >>> smallest_decimal(1, 10)
    <VariantType.DECIMAL8: 'decimal8'>
    """
    digits = max(decimal_digits(unscaled), scale)
    return next((type_ for type_, most in DECIMAL_PRECISION.items() if digits <= most), None)


def decimal_digits(unscaled: int) -> int:
    """The number of decimal digits; zero has one. Numbers of 40 or more digits count as 40.

    >>> decimal_digits(-1024), decimal_digits(0)
    (4, 1)
    """
    magnitude = abs(unscaled)
    return len(str(magnitude)) if magnitude < 10**39 else 40
