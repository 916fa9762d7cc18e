"""Converts Variant columns to JSON text."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa

from shredlake.errors import ShredlakeError
from shredlake.kernels.arrow.buffers import check_column
from shredlake.kernels.arrow.types import shredding_schema
from shredlake.kernels.dispatch import dispatch
from shredlake.kernels.from_arrow import from_arrow
from shredlake.kernels.row_errors import parts_of, row_error
from shredlake.kernels.threads import Column, assemble, pieces, run, thread_count
from shredlake.kernels.unshred import unshred
from shredlake.variant import Variant

# Rows that are re-encoded together if one of them has unsorted fields.
_ENCODED_ANEW = 4096


def to_json(column: Column, *, threads: int | None = None) -> Column:
    """Renders every row of a Variant column, shredded or not, as JSON text; null rows stay null.

    The texts are those of `Variant.to_json`: fields in the order of their names, decimals without trailing
    zeros, doubles with the shortest digits that parse to the same number, dates and times as ISO strings,
    binary as base64. An Array whose texts exceed 2 GiB becomes a ChunkedArray. A malformed row raises a
    MalformedVariant that names it.

    >>> import pyarrow as pa
    >>> from shredlake.kernels import from_json
    >>> to_json(from_json(pa.array(['{"b": 1.10, "a": [true, null]}', None]))).to_pylist()
    ['{"a":[true,null],"b":1.1}', None]
    """
    column = check_column(column)
    if shredding_schema(column.type) is not None:
        column = unshred(column, threads=threads)
    count = thread_count(threads)
    results = run(_render_piece, pieces(column, count), count)
    return assemble(column, [array for arrays in results for array in arrays])


def _render_piece(first_row: int, piece: pa.StructArray) -> list[pa.Array]:
    metadata, value, validity = parts_of(piece, first_row)
    render = dispatch("json_render").render
    arrays: list[pa.Array] = []
    row = 0
    while row < len(piece) or not arrays:
        texts, stopped, full = render(metadata, value, validity, row)
        if len(texts) or stopped == len(piece):
            arrays.append(texts)
        row = stopped
        if stopped < len(piece) and not full:
            arrays.append(_in_order(piece, row, first_row))
            row += len(arrays[-1])
        elif not len(texts) and stopped < len(piece):
            raise row_error(metadata, value, stopped, first_row, Variant.to_json)
    return arrays


def _in_order(piece: pa.StructArray, row: int, first_row: int) -> pa.Array:
    """Returns the texts of rows of which the first has unsorted fields: re-encoding sorts them."""
    for count in (min(_ENCODED_ANEW, len(piece) - row), 1):
        with suppress(ShredlakeError):
            metadata, value, validity = parts_of(from_arrow(piece.slice(row, count), threads=1), row)
            texts, stopped, _ = dispatch("json_render").render(metadata, value, validity, 0)
            if stopped:
                return texts
    metadata, value, _ = parts_of(piece, first_row)
    with suppress(ShredlakeError):  # a repeated key, which re-encoding would drop
        return pa.array([Variant(metadata[row].as_py(), value[row].as_py()).to_json()], pa.string())
    raise row_error(metadata, value, row, first_row, Variant.to_json)
