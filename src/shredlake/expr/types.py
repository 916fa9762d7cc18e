"""The types of expressions: a Spark SQL name and the Arrow type that carries it.

| Spark SQL | Arrow | | Spark SQL | Arrow |
|---|---|---|---|---|
| boolean | bool | | string | string |
| tinyint, smallint, int, bigint | int8 to int64 | | binary | binary |
| float, double | float32, float64 | | date | date32 |
| decimal(p,s) | decimal128(p, s) | | timestamp | timestamp(us, UTC) |
| struct, array, map | struct, list, map | | timestamp_ntz | timestamp(us) |
| variant | struct(metadata, value) | | void | null |

Three names are ours, since Spark lacks these types: `uuid`, `timestamp_nanos`, `timestamp_ntz_nanos`; `time`
is microseconds since midnight (Spark's `time(6)`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from shredlake.caches import cached
from shredlake.errors import InvalidExpression
from shredlake.kernels.arrow.types import is_variant, variant

MAX_PRECISION = 38


@dataclass(frozen=True)
class DataType:
    """A type with its Spark SQL name and its Arrow type."""

    name: str
    arrow: pa.DataType = field(hash=False)  # pyarrow makes the text of a type to hash it

    def __str__(self) -> str:
        return self.name


BOOLEAN = DataType("boolean", pa.bool_())
TINYINT = DataType("tinyint", pa.int8())
SMALLINT = DataType("smallint", pa.int16())
INT = DataType("int", pa.int32())
BIGINT = DataType("bigint", pa.int64())
FLOAT = DataType("float", pa.float32())
DOUBLE = DataType("double", pa.float64())
STRING = DataType("string", pa.string())
BINARY = DataType("binary", pa.binary())
DATE = DataType("date", pa.date32())
TIMESTAMP = DataType("timestamp", pa.timestamp("us", "UTC"))
TIMESTAMP_NTZ = DataType("timestamp_ntz", pa.timestamp("us"))
TIME = DataType("time", pa.time64("us"))
TIMESTAMP_NANOS = DataType("timestamp_nanos", pa.timestamp("ns", "UTC"))
TIMESTAMP_NTZ_NANOS = DataType("timestamp_ntz_nanos", pa.timestamp("ns"))
UUID = DataType("uuid", pa.uuid())
VOID = DataType("void", pa.null())
VARIANT = DataType("variant", variant())
PRESENT = DataType("present", pa.bool_())
"""Whether there is a value, even the Variant null: true or NULL. Only plans on Spark read a path as this."""

INTEGRALS = (TINYINT, SMALLINT, INT, BIGINT)  # from narrow to wide

_OURS = {kind.name: kind for kind in (TIMESTAMP_NANOS, TIMESTAMP_NTZ_NANOS)}


_IN_DUCKDB: Final = {
    "string": "VARCHAR", "binary": "BLOB", "int": "INTEGER", "timestamp": "TIMESTAMPTZ",
    "timestamp_ntz": "TIMESTAMP", "timestamp_ntz_nanos": "TIMESTAMP_NS", "timestamp_nanos": "TIMESTAMPTZ",
}  # fmt: skip
"""Types that have another name in DuckDB."""


def duckdb_name(name: str) -> str:
    """The name of a type without parts, as DuckDB spells it.

    >>> duckdb_name("int"), duckdb_name("decimal(9,2)")
    ('INTEGER', 'DECIMAL(9,2)')
    """
    return _IN_DUCKDB.get(name, name.upper())


def decimal(precision: int, scale: int = 0) -> DataType:
    """Returns the decimal type with this precision and scale."""
    return DataType(f"decimal({precision},{scale})", pa.decimal128(precision, scale))


@cached(256, "types")
def parse_type(text: str) -> DataType:
    """Parses a Spark DDL type name.

    >>> parse_type("decimal(9, 2)")
    DataType(name='decimal(9,2)', arrow=Decimal128Type(decimal128(9, 2)))
    """
    ours = _OURS.get(text.strip().lower())
    if ours is not None:
        return ours
    from shredlake.expr.tokens import read_type

    return read_type(text)


TYPE_EXAMPLES: Final = "bigint, double, decimal(10,2), string, timestamp, array<string> or struct<a int>"


def checked_decimal(parameters: list[int]) -> DataType:
    """The decimal type of a precision and a scale, either of which may be omitted."""
    if len(parameters) > 2:
        raise InvalidExpression(f"a decimal has a precision and a scale, not {len(parameters)} numbers")
    precision, scale = [*parameters, *(10, 0)[len(parameters) :]]
    if not 1 <= precision <= MAX_PRECISION or not 0 <= scale <= precision:
        raise InvalidExpression(
            f"decimal({precision},{scale}) is invalid: precision is 1 to {MAX_PRECISION}, scale at most that"
        )
    return decimal(precision, scale)


_BY_ARROW: dict[pa.DataType, DataType] = {
    **{
        kind.arrow: kind
        for kind in (
            BOOLEAN,
            *INTEGRALS,
            FLOAT,
            DOUBLE,
            STRING,
            BINARY,
            DATE,
            TIMESTAMP,
            TIMESTAMP_NTZ,
            TIME,
            TIMESTAMP_NANOS,
            TIMESTAMP_NTZ_NANOS,
            UUID,
            VOID,
        )
    },
    pa.uint8(): SMALLINT,
    pa.uint16(): INT,
    pa.uint32(): BIGINT,
    pa.uint64(): decimal(20, 0),
    pa.float16(): FLOAT,
    pa.large_string(): STRING,
    pa.string_view(): STRING,
    pa.large_binary(): BINARY,
    pa.binary_view(): BINARY,
    pa.date64(): DATE,
    pa.timestamp("s"): TIMESTAMP_NTZ,
    pa.timestamp("ms"): TIMESTAMP_NTZ,
    pa.time32("s"): TIME,
    pa.time32("ms"): TIME,
}


def from_arrow(arrow: pa.DataType) -> DataType:
    """Returns the expression type of an Arrow column; types without a Spark name keep Arrow's name.

    >>> from_arrow(pa.large_string()).name, from_arrow(pa.dictionary(pa.int8(), pa.int32())).name
    ('string', 'int')
    """
    if pa.types.is_dictionary(arrow) or pa.types.is_run_end_encoded(arrow):
        return from_arrow(arrow.value_type)
    if pa.types.is_decimal(arrow):
        return DataType(f"decimal({arrow.precision},{arrow.scale})", arrow)
    if pa.types.is_timestamp(arrow) and arrow.tz is not None:
        return TIMESTAMP_NANOS if arrow.unit == "ns" else TIMESTAMP
    if pa.types.is_fixed_size_binary(arrow) and not isinstance(arrow, pa.UuidType):
        return BINARY
    if is_variant(arrow):
        return VARIANT
    return _BY_ARROW.get(arrow, DataType(str(arrow), arrow))
