"""Converts types, batches and file paths between Spark and Arrow."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import pyarrow as pa

from shredlake.delta.schema.types import SCHEMA_NAMES, DeltaType, Field, Struct, schema_json
from shredlake.delta.storage.storage import Storage, decode_path, is_absolute
from shredlake.errors import InvalidExpression
from shredlake.expr.types import BOOLEAN, PRESENT, DataType
from shredlake.kernels.arrow.nested import MAP_KEY, children, unwrap, with_children
from shredlake.kernels.arrow.types import is_variant
from shredlake.kernels.casts.invalid_utf8 import decoded

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType as SparkType

NOT_IN_SPARK: Final = ("uuid", "timestamp_nanos", "timestamp_ntz_nanos", "time")
"""Shredlake types that some supported Spark version cannot store in a column."""

DIGITS: Final = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
"""The number of digits in the largest value of each integer type."""

HADOOP_SCHEMES: Final = {"s3": "s3a", "gs": "gs", "az": "abfss", "abfs": "abfss"}


def spark_type(kind: DataType | DeltaType) -> SparkType:
    """The Spark type for the type of an expression, or of a column in a Delta schema.

    >>> from shredlake.expr.types import BIGINT
    >>> spark_type(BIGINT).simpleString(), spark_type("variant").simpleString()
    ('bigint', 'variant')
    """
    from pyspark.sql.types import StructType

    if kind == PRESENT:
        kind = BOOLEAN
    if not isinstance(kind, DataType):
        # Delta and Spark write schemas in the same JSON format.
        return StructType.fromJson(json.loads(schema_json(Struct((Field("c", kind),))))).fields[0].dataType
    if kind.name in NOT_IN_SPARK:
        raise InvalidExpression(f"Spark has no column type {kind.name}. Read the path as string instead.")
    if "<" in kind.name:
        return StructType.fromDDL(f"c {kind.name}").fields[0].dataType
    # Parsing DDL would need a session. Among plain types, only integers have other names in schemas.
    plain = {"name": "c", "type": SCHEMA_NAMES.get(kind.name, kind.name), "nullable": True, "metadata": {}}
    return StructType.fromJson({"type": "struct", "fields": [plain]}).fields[0].dataType


def spark_batch(columns: Sequence[pa.Array], names: Sequence[str]) -> pa.RecordBatch:
    """A batch in the form that Spark expects from a worker.

    Spark reads the fields of a Variant by position: first `value`, then `metadata`.
    """
    return pa.RecordBatch.from_arrays([_for_spark(column) for column in columns], names=list(names))


def _for_spark(column: pa.Array) -> pa.Array:
    kind = column.type
    if is_variant(kind):
        fields = [
            pa.field("value", pa.binary(), nullable=False),
            pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
        ]
        # The fields are not nullable, so a NULL Variant gets empty parts.
        value, metadata = (column.field(name).fill_null(b"") for name in ("value", "metadata"))
        return pa.StructArray.from_arrays([value, metadata], fields=fields, mask=column.is_null())
    return _rebuilt(column, _for_spark)


def _rebuilt(column: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """The column with `change` applied to its children. A column without children is returned as is."""
    below = children(column.type)
    if not below:
        return column
    inner, wrap = unwrap(column)
    new = [change(child) for child in inner]
    fields = [
        pa.field(field.name, child.type, nullable=names != MAP_KEY)
        for (names, field), child in zip(below, new, strict=True)
    ]
    return wrap(new, with_children(column.type, fields))


def from_spark(column: pa.Array) -> pa.Array:
    """A column received from Spark, with the fields of its Variants in the order that shredlake uses."""
    kind = column.type
    if is_variant(kind):
        fields = [pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary())]
        parts = [column.field(field.name).fill_null(b"") for field in fields]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=column.is_null())
    return _rebuilt(column, from_spark) if _holds_variant(kind) else column


def _holds_variant(kind: pa.DataType) -> bool:
    inner = (kind.field(index).type for index in range(kind.num_fields))
    return is_variant(kind) or any(_holds_variant(one) for one in inner)


def collected(frame: DataFrame) -> pa.Table:
    """All rows of a frame as a valid Arrow table, in which every string is UTF-8.

    Spark's own `toArrow` returns invalid UTF-8 unchanged, and fails on Variants that are NULL.
    """
    from pyspark.sql.types import BinaryType, StructField, StructType, VariantType

    plain = StructType([StructField("metadata", BinaryType()), StructField("value", BinaryType())])

    def without_variants(kind: SparkType) -> SparkType:
        text = kind.json().replace(VariantType().json(), plain.json())
        return StructType.fromJson({"type": "struct", "fields": [
            {"name": "c", "type": json.loads(text), "nullable": True, "metadata": {}}
        ]}).fields[0].dataType  # fmt: skip

    schema = StructType(
        [StructField(item.name, without_variants(item.dataType)) for item in frame.schema.fields]
    )
    if [item.dataType for item in schema] != [item.dataType for item in frame.schema]:

        def convert(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                columns = [from_spark(column) for column in batch.columns]
                yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

        frame = frame.mapInArrow(convert, schema)
    found = frame.toArrow()
    return pa.table(
        [_in_utf8(from_spark(column.combine_chunks())) for column in found.columns], names=found.column_names
    )


def _in_utf8(column: pa.Array) -> pa.Array:
    """The column with invalid UTF-8 decoded as Java decodes it. A valid column is returned as is."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        return decoded(column) if is_text else _rebuilt(column, _in_utf8)
    return column


def hadoop_path(storage: Storage, path: str) -> str:
    """The path at which Spark finds a file of the log: decoded, and with Hadoop's scheme.

    The path is literal. Spark must not expand it as a glob (see `relations`).

    >>> hadoop_path(Storage("s3://bucket/events"), "day=2024-01-01/a%20b.parquet")
    's3a://bucket/events/day=2024-01-01/a b.parquet'
    >>> hadoop_path(Storage("/data/my table"), "a.parquet")
    'file:///data/my table/a.parquet'
    >>> hadoop_path(Storage("/data"), "file:/data/b%20c.parquet")
    'file:///data/b c.parquet'
    """
    storage.require_inside(decode_path(path))
    if is_absolute(path):
        address = unquote(path)
    elif storage.is_local:
        address = f"{storage.local_root}/{decode_path(path)}"
    else:
        address = f"{storage.uri}/{decode_path(path)}"
    scheme, colon, rest = address.partition(":")
    if not colon or address.startswith("/"):
        scheme, rest = "file", address
    if scheme == "file":
        rest = "//" + "/" + rest.lstrip("/")
    return f"{HADOOP_SCHEMES.get(scheme, scheme)}:{rest}"
