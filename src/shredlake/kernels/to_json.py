"""Variant columns to JSON text."""

from __future__ import annotations

import pyarrow as pa

from shredlake.kernels.chunks import Column, assemble, pieces, run, thread_count
from shredlake.kernels.columns import check_column
from shredlake.kernels.compiled import engine
from shredlake.kernels.layout import shredding_schema
from shredlake.kernels.malformed import parts_of, reason
from shredlake.kernels.unshred import unshred
from shredlake.variant import Variant


def to_json(column: Column, *, threads: int | None = None) -> Column:
    """The JSON text of every row of a Variant column, shredded or not; null rows stay null.

    The texts are those of `Variant.to_json`: decimals keep their scale, doubles have the shortest digits that
    read back the same, dates and times are ISO strings, binary is base64. An Array whose texts exceed 2 GiB
    comes back as a ChunkedArray. A row that is no Variant is a MalformedVariant that names it.

    >>> import pyarrow as pa
    >>> from shredlake.kernels import from_json
    >>> to_json(from_json(pa.array(['{"b": 1.10, "a": [true, null]}', None]))).to_pylist()
    ['{"a":[true,null],"b":1.10}', None]
    """
    column = check_column(column)
    if shredding_schema(column.type) is not None:
        column = unshred(column, threads=threads)
    count = thread_count(threads)
    results = run(_render_piece, pieces(column, count), count)
    return assemble(column, [array for arrays in results for array in arrays])


def _render_piece(first_row: int, piece: pa.StructArray) -> list[pa.Array]:
    metadata, value, validity = parts_of(piece, first_row)
    render = engine("json_render").render
    arrays: list[pa.Array] = []
    row = 0
    while row < len(piece) or not arrays:
        texts, stopped, full = render(metadata, value, validity, row)
        if stopped < len(piece) and not (full and len(texts)):
            raise reason(metadata, value, stopped, first_row, Variant.to_json)
        arrays.append(texts)
        row = stopped
    return arrays
