"""Schemas of Spark's frames, written as DDL; Spark's own parser needs a session."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from shredlake.delta.schema.types import from_arrow, schema_json
from shredlake.expr.types import parse_type


def schema_of(columns: str) -> Any:
    """The `StructType` of columns such as `id bigint, v variant`."""
    from pyspark.sql.types import StructType

    arrow = parse_type(f"struct<{columns}>").arrow
    return StructType.fromJson(json.loads(schema_json(from_arrow(pa.schema(list(arrow))))))
