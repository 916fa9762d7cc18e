"""Converts Variant columns to Python objects."""

from __future__ import annotations

from typing import Any

from shredlake.kernels.arrow.buffers import check_column
from shredlake.kernels.arrow.types import shredding_schema
from shredlake.kernels.dispatch import dispatch
from shredlake.kernels.row_errors import parts_of, row_error
from shredlake.kernels.threads import Column, chunks_of
from shredlake.kernels.unshred import unshred
from shredlake.variant import Variant


def to_python(column: Column) -> list[Any]:
    """Converts the rows of a Variant column, shredded or not, to Python objects as `Variant.to_python`.

    A null row is None, and so is Variant null: `column.is_valid()` tells them apart.

    >>> import pyarrow as pa
    >>> from shredlake.kernels import from_json
    >>> to_python(from_json(pa.array(['{"a": [1, 2.50]}', 'null', None])))
    [{'a': [1, Decimal('2.50')]}, None, None]
    """
    column = check_column(column)
    if shredding_schema(column.type) is not None:
        column = unshred(column)
    objects: list[Any] = []
    for chunk in chunks_of(column):
        metadata, value, validity = parts_of(chunk, len(objects))
        rows, stopped = dispatch("to_python").to_python(metadata, value, validity)
        if stopped < len(chunk):
            raise row_error(metadata, value, stopped, len(objects), Variant.to_python)
        objects += rows
    return objects
