"""Computed columns: expressions over the document, stored in the table as generated columns.

Later ingests, appends and streams then fill the columns in by themselves. An expression that only Spark can
evaluate is not stored, since the table could then not be written without Spark: each job has to pass it
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.write.constraints import DEFAULT, GENERATED
from shredlake.errors import InvalidExpression, InvalidSchema
from shredlake.expr.evaluate import evaluate, type_of
from shredlake.expr.parse import parse_columns, parse_value, understood
from shredlake.expr.sql import to_sql
from shredlake.kernels.arrow.types import is_variant, variant


def computed_fields(column: str, computed: Mapping[str, str]) -> list[pa.Field]:
    """Computed columns as fields, typed by evaluating their expressions on no rows.

    >>> [str(field.type) for field in computed_fields("v", {"day": "v:ts::date", "n": "v:n::int + 1"})]
    ['date32[day]', 'int32']
    """
    nothing = pa.table({column: pa.array([], variant())})
    fields = []
    for name, expression in computed.items():
        [projection] = parse_columns([expression])
        fields.append(pa.field(name, evaluate(projection.expr, nothing).type))
    return fields


def kept(fields: Iterable[pa.Field], column: str, computed: Mapping[str, str]) -> list[pa.Field]:
    """The columns of a new table; computed ones carry their expressions if the table can store them."""
    return [
        field.with_metadata({**(field.metadata or {}), GENERATED: spark_sql(computed[field.name])})
        if field.name in computed and _keeps(field, column, computed[field.name])
        else field
        for field in fields
    ]


def _keeps(field: pa.Field, column: str, expression: str) -> bool:
    """Whether the table can store the expression: it is not a Variant, and has a type here without Spark."""
    if is_variant(field.type):
        return False
    found = understood(expression, parse_value)
    documents = pa.schema([(column, variant())])
    return not isinstance(found, InvalidExpression) and isinstance(type_of(found, documents), pa.DataType)


def is_generated(snapshot: Snapshot, name: str) -> bool:
    """Whether the table computes a column itself."""
    found = snapshot.schema.get(name)
    return found is not None and GENERATED in found.metadata


def not_kept(snapshot: Snapshot, computed: Mapping[str, str]) -> dict[str, str]:
    """The columns that a job has to compute because the table does not."""
    return {name: text for name, text in computed.items() if not is_generated(snapshot, name)}


def check_computed(snapshot: Snapshot, computed: Mapping[str, str], given: Sequence[str]) -> None:
    """Raises if a column is missing or computed differently, or if a partition column would stay empty."""
    where = snapshot.storage.uri
    for name, text in computed.items():
        found = snapshot.schema.get(name)
        if found is None:
            raise InvalidSchema(
                f"{where} has no column {name!r} to compute; it has {', '.join(snapshot.schema.names)}. "
                'Add the column with schema_mode="merge" (--schema-mode merge)'
            )
        own = found.metadata.get(GENERATED)
        if own not in (None, text) and spark_sql(str(own)) != spark_sql(text):
            raise InvalidSchema(
                f"{where} computes column {name!r} as {own}, not as {text}. Omit the column or use "
                "the table's own expression"
            )
    filled = {name.casefold() for name in (*computed, *given)}
    for name in snapshot.metadata.partition_columns:
        found = snapshot.schema.get(name)
        metadata = found.metadata if found is not None else {}
        if name.casefold() not in filled and GENERATED not in metadata and DEFAULT not in metadata:
            raise InvalidSchema(
                f"{where} is partitioned by {name!r}, which the source does not have: every row would land "
                f'in the partition NULL. Compute the column, with --with "{name}: EXPRESSION" or computed='
            )


def spark_sql(expression: str) -> str:
    """Translates an expression to Spark SQL; a path cast gives null if the value does not fit.

    >>> spark_sql("v:ts::timestamp")
    "try_variant_get(v, '$.ts', 'timestamp')"
    >>> spark_sql("to_date(v:ts::timestamp)")
    'to_date(v:ts::timestamp)'
    """
    found = understood(expression, parse_value)
    # Spark may support what is not understood here, or it reports what is wrong.
    return expression if isinstance(found, InvalidExpression) else to_sql(found)
