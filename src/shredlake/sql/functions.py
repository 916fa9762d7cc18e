"""Functions that DuckDB calls: paths of Variants that no scan provides, evaluated by our kernels."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from shredlake.expr.ast import Get
from shredlake.expr.types import DataType, duckdb_name
from shredlake.kernels.arrow.types import variant
from shredlake.kernels.cast_options import CastOptions
from shredlake.kernels.get import get_path


def duckdb_type(kind: DataType) -> str:
    """The name of a type in DuckDB.

    >>> from shredlake.expr.types import parse_type
    >>> [duckdb_type(parse_type(text)) for text in ("string", "array<int>", "struct<a timestamp>")]
    ['VARCHAR', 'INTEGER[]', 'STRUCT("a" TIMESTAMPTZ)']
    """
    from shredlake.expr.types import from_arrow
    from shredlake.variant.identifiers import double_quote

    if pa.types.is_list(kind.arrow):
        return f"{duckdb_type(from_arrow(kind.arrow.value_type))}[]"
    if pa.types.is_struct(kind.arrow):
        fields = ", ".join(
            f"{double_quote(one.name)} {duckdb_type(from_arrow(one.type))}" for one in kind.arrow
        )
        return f"STRUCT({fields})"
    return duckdb_name(kind.name)


def register_getter(connection: Any, name: str, get: Get, options: CastOptions) -> None:
    """Registers a function that takes a Variant and returns the value of a path."""
    assert get.type is not None
    target, chosen = get.type.arrow, options.overridden_by(get.strict)

    def value(column: pa.ChunkedArray) -> pa.Array:
        rows = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(rows, pa.ChunkedArray):
            rows = pa.concat_arrays(rows.chunks) if rows.num_chunks else pa.nulls(0, variant())
        return get_path(rows.cast(variant()), get.path, target, chosen)

    connection.create_function(
        name, value, ["VARIANT"], duckdb_type(get.type), type="arrow", null_handling="special"
    )
