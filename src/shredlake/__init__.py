"""Semi-structured data at the speed of relational tables."""

from shredlake.errors import (
    CastError,
    InvalidExpression,
    InvalidJson,
    InvalidPath,
    InvalidSchema,
    InvalidValue,
    MalformedVariant,
    NoSuchElement,
    ShreddingConflict,
    ShredlakeError,
    UnsupportedExpression,
    WrongType,
)
from shredlake.kernels import (
    from_json,
    get,
    is_variant,
    reshred,
    shred,
    shredded_type,
    shredding_schema,
    unshred,
    variant,
)
from shredlake.parquet.check import check
from shredlake.parquet.rules import Violation
from shredlake.parquet.write import FileFacts, ParquetWriter, WriteOptions, write_parquet
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant.builder import VariantBuilder
from shredlake.variant.path import Path
from shredlake.variant.scalars import (
    Date,
    Decimal4,
    Decimal8,
    Decimal16,
    Float32,
    Int8,
    Int16,
    Int32,
    Int64,
    Timestamp,
    TimestampNanos,
    TimestampNtz,
    TimestampNtzNanos,
)
from shredlake.variant.types import VariantType
from shredlake.variant.value import Variant

__all__ = [
    "CastError",
    "Date",
    "Decimal4",
    "Decimal8",
    "Decimal16",
    "FileFacts",
    "Float32",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "InvalidExpression",
    "InvalidJson",
    "InvalidPath",
    "InvalidSchema",
    "InvalidValue",
    "MalformedVariant",
    "NoSuchElement",
    "ParquetWriter",
    "Path",
    "ShreddingConflict",
    "ShreddingSchema",
    "ShredlakeError",
    "Timestamp",
    "TimestampNanos",
    "TimestampNtz",
    "TimestampNtzNanos",
    "UnsupportedExpression",
    "Variant",
    "VariantBuilder",
    "VariantType",
    "Violation",
    "WriteOptions",
    "WrongType",
    "check",
    "from_json",
    "get",
    "is_variant",
    "reshred",
    "shred",
    "shredded_type",
    "shredding_schema",
    "unshred",
    "variant",
    "write_parquet",
]

__version__ = "0.1.0"
