"""Opens the table of a read, and converts rows to the form that Spark expects of a Python data source."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from shredlake.caches import cached
from shredlake.delta.log.history import enabled_since
from shredlake.delta.log.listing import version_at
from shredlake.delta.log.snapshot import Snapshot, load_snapshot
from shredlake.delta.read.data_file import Query
from shredlake.delta.schema.names import resolve
from shredlake.delta.storage.storage import Storage, normalized_uri
from shredlake.errors import InvalidExpression, InvalidSchema, PipelineError
from shredlake.expr import Column, from_arrow
from shredlake.kernels.cast_options import CastOptions, spark_on
from shredlake.spark.arrow import spark_batch, spark_type
from shredlake.spark.datasource.options import SourceOptions
from shredlake.spark.session import OLDEST_JAVA, java_version
from shredlake.spark.snapshots import latest

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def storage_of(options: SourceOptions) -> Storage:
    """The place of the table."""
    return Storage(normalized_uri(options.path), dict(options.storage))


def opened(options: SourceOptions) -> Snapshot:
    """The version of the table that a batch read asks for."""
    storage = storage_of(options)
    version, timestamp = options["version"], options["timestamp"]
    if version is not None and timestamp is not None:
        raise PipelineError("a table is read at a version or at a timestamp, not both")
    if timestamp is not None:
        version = version_at(storage, timestamp, enabled_since(latest(storage)))
    return latest(storage) if version is None else load_snapshot(storage, version)


def cast_options(options: SourceOptions) -> CastOptions:
    """The cast options of a read. Spark does not tell a Python data source the session's time zone."""
    found = CastOptions.of(
        strict=options["strict"], timezone=options["timeZone"], dialect=spark_on(_java_of_spark())
    )
    found.check()
    return found


@cached(1, "Java of Spark")
def _java_of_spark() -> int:
    """The version of the Java that Spark runs on, which decides the digits of doubles as text."""
    return java_version() or OLDEST_JAVA


# ── Types ───────────────────────────────────────────────────────────────────────────────────────────────


def spark_schema(query: Query, snapshot: Snapshot) -> StructType:
    """The result of a query as Spark sees it. All columns are nullable."""
    from pyspark.sql.types import StructField, StructType

    names = [projection.name.casefold() for projection in query.projections]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidExpression(f"two columns are named {twice!r}; rename one, as in v:a::int AS other")
    fields = []
    for projection, item in zip(query.projections, query.schema, strict=True):
        if isinstance(projection.expr, Column):
            kind = spark_type(resolve(snapshot.schema, projection.expr.name)[-1].type)
        else:
            kind = spark_type(from_arrow(item.type))
        fields.append(StructField(projection.name, kind))
    return StructType(fields)


def check_schema(found: StructType, wanted: StructType) -> None:
    """Refuses a schema that is not the table's: given by the user, or out of date."""
    from pyspark.sql.types import StructType

    def plain(schema: StructType) -> list[tuple[str, str]]:
        return [(item.name, item.dataType.simpleString()) for item in schema.fields]

    if plain(wanted) != plain(found):
        raise InvalidSchema(
            f"the DataFrame has the columns {wanted.simpleString()}, but the table now gives "
            f"{StructType(found.fields).simpleString()}. The table's schema changed after load(), or "
            ".schema(...) differs from it: load the table again, without .schema()"
        )


# ── Rows ────────────────────────────────────────────────────────────────────────────────────────────────


def arrow_schema_of(schema: StructType) -> pa.Schema:
    """The Arrow schema in which Spark expects batches."""
    from pyspark.sql.pandas.types import to_arrow_schema

    if "timezone" in inspect.signature(to_arrow_schema).parameters:
        return to_arrow_schema(schema, timezone="UTC")
    return to_arrow_schema(schema)  # before Spark 4.2, where UTC is the default


def for_spark(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches in exactly the schema that Spark expects. Variants have their fields in Spark's order."""
    for batch in batches:
        made = spark_batch(batch.columns, schema.names)
        columns = [
            column if column.type.equals(item.type) else column.cast(item.type)
            for column, item in zip(made.columns, schema, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def check_has_columns(schema: pa.Schema) -> None:
    """Refuses a read without columns, from which Spark could not count rows."""
    if not len(schema):
        raise PipelineError("the option columns is empty; name at least one column, or leave it out")
