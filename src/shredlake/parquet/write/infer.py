"""Layouts for the Variant columns of a file, inferred from its first row group."""

from __future__ import annotations

import pyarrow as pa

from shredlake.kernels.arrow.types import is_variant
from shredlake.kernels.profile import infer_schema
from shredlake.parquet.nested import Names, Replacement, find_types, replace_columns
from shredlake.parquet.write.arrange import Plan
from shredlake.shredding.schema import ShreddingSchema, Untyped


def infer_plan(table: pa.Table, plan: Plan) -> dict[Names, ShreddingSchema | None]:
    """Adds a schema to the plan for each Variant column that is not shredded yet.

    >>> import shredlake as sl
    >>> table = pa.table({"v": sl.from_json(pa.array(['{"id": 1}', '{"id": 2}']))})
    >>> {".".join(names): str(schema) for names, schema in infer_plan(table, {("v",): None}).items()}
    {'v': 'struct<id bigint>'}
    """
    types = find_types(table.schema, is_variant)
    found: dict[Names, list[pa.Array]] = {names: [] for names, schema in plan.items() if schema is None}

    def collect(names: Names) -> Replacement:
        def note(array: pa.Array) -> pa.Array:
            found[names].append(array)
            return array

        return Replacement(types[names], note)

    replace_columns(table, {names: collect(names) for names in found})
    inferred = dict(plan)
    for names, arrays in found.items():
        schema = infer_schema(pa.chunked_array(arrays, types[names]))
        inferred[names] = None if isinstance(schema.root, Untyped) else schema
    return inferred
