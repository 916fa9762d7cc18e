"""Columns of Variants from Python values, and what a file's footer says, for the tests of files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shredlake.kernels import is_variant, unshred, variant
from shredlake.parquet.format.footer import read_footer
from shredlake.parquet.format.schema import SchemaNode
from shredlake.variant.value import Variant

MISSING = object()
"""Stands for SQL NULL in lists of Python values, where None is Variant null."""


def column(rows: Iterable[Variant | None]) -> pa.StructArray:
    """The unshredded column of some Variants; None is SQL NULL."""
    return pa.array(
        [None if row is None else {"metadata": row.metadata, "value": row.value} for row in rows], variant()
    )


def column_of(values: Iterable[Any]) -> pa.StructArray:
    """The column of Python values; `MISSING` is SQL NULL, None is Variant null."""
    return column(None if value is MISSING else Variant.of(value) for value in values)


def rows(array: pa.Array | pa.ChunkedArray) -> list[Variant | None]:
    """The Variants of a column, shredded or not."""
    assert is_variant(array.type)
    return [
        None if row is None else Variant(row["metadata"], row["value"]) for row in unshred(array).to_pylist()
    ]


def read_rows(path: str | Path, name: str = "v") -> list[Variant | None]:
    """The Variants of a file's column, read as plain groups by pyarrow and put together by the kernels."""
    return rows(pq.ParquetFile(path).read()[name])


def footer_schema(path: str | Path) -> SchemaNode:
    """The schema in a file's footer, annotations included."""
    with open(path, "rb") as file:
        return read_footer(file, str(path)).schema
