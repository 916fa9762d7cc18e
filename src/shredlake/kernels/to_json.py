"""Variant columns to JSON text."""

from __future__ import annotations

import pyarrow as pa

from shredlake.errors import InvalidValue, MalformedVariant, ShredlakeError
from shredlake.kernels.chunks import Column, assemble, pieces, run, thread_count
from shredlake.kernels.columns import as_binary, check_column, metadata_of, part, validity_of
from shredlake.kernels.compiled import engine
from shredlake.kernels.layout import shredding_schema
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
    check_column(column)
    if shredding_schema(column.type) is not None:
        column = unshred(column, threads=threads)
    count = thread_count(threads)
    results = run(_render_piece, pieces(column, count), count)
    return assemble(column, [array for arrays in results for array in arrays])


def _render_piece(first_row: int, piece: pa.StructArray) -> list[pa.Array]:
    metadata, value = metadata_of(piece), as_binary(part(piece, "value"))
    validity = validity_of(piece)
    render = engine("json_render").render
    texts, row, reason = render(metadata, value, validity, 0)
    arrays = [texts]
    while row < len(piece):
        if reason != "full" or not len(texts):
            raise _reason(metadata[row].as_py(), value[row].as_py(), first_row + row)
        texts, row, reason = render(metadata, value, validity, row)
        arrays.append(texts)
    return arrays


def _reason(metadata: bytes, value: bytes, row: int) -> ShredlakeError:
    """What is wrong with a row that has no text: the kernel says which, the reference says why."""
    try:
        Variant(metadata, value).to_json()
    except MalformedVariant as error:
        return MalformedVariant(
            f"row {row}: {error.problem}", part=error.part, offset=error.offset, path=error.path
        )
    except InvalidValue as error:
        return InvalidValue(f"row {row}: {error}")
    return InvalidValue(f"row {row}: the text is too large")
