"""A small table in memory, for the examples in docstrings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from shredlake.kernels import from_json, variant
from shredlake.table import Table


def example_table(name: str, properties: Mapping[str, Any] | None = None) -> Table:
    """A table in memory with two rows, for examples.

    >>> example_table("itself").scan(["id"]).to_arrow().column("id").to_pylist()
    [1, 2]
    """
    shredded = {"delta.enableVariantShredding": "true", "shredlake.shredding.v": "struct<a bigint>"}
    schema = pa.schema([("id", pa.int64()), ("v", variant())])
    table = Table.create(
        f"memory://example-{name}/table", schema, properties=shredded | dict(properties or {})
    )
    table.append(pa.table({"id": [1, 2], "v": from_json(pa.array(['{"a": 10}', '{"a": 20}']))}))
    return table
