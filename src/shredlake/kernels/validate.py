"""Full validation of Variant columns."""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import MalformedVariant
from shredlake.kernels.arrow.buffers import check_column, part, validity_of
from shredlake.kernels.arrow.normalize import as_binary
from shredlake.kernels.arrow.types import shredding_schema
from shredlake.kernels.dispatch import dispatch
from shredlake.kernels.threads import Column, pieces, run, thread_count
from shredlake.kernels.unshred import unshred
from shredlake.variant import Variant

Violations: TypeAlias = pa.Table
"""One row per malformed Variant: `row`, `path`, `part`, `offset` in bytes, `problem`."""

VIOLATIONS_SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("path", pa.string()),
        ("part", pa.string()),
        ("offset", pa.int64()),
        ("problem", pa.string()),
    ]
)


def validate(column: Column, *, threads: int | None = None) -> Violations:
    """Checks every byte of every Variant, as `Variant.validate` does; returns a table of the violations.

    Each bad row is listed once, with its first problem: bytes after the damage are unreliable. A shredded
    column is reconstructed first, in strict mode, so that conflicts between its parts raise.

    >>> import pyarrow as pa
    >>> from shredlake.kernels import variant
    >>> column = pa.array([{"metadata": b"\\x01\\x00\\x00", "value": b"\\x05\\xff"}], variant())
    >>> validate(column).to_pylist()
    [{'row': 0, 'path': '$', 'part': 'value', 'offset': 1, 'problem': 'the string is not UTF-8'}]
    """
    column = check_column(column)
    if shredding_schema(column.type) is not None:
        column = unshred(column, strict=True, threads=threads)
    count = thread_count(threads)
    return pa.concat_tables(run(_violations, pieces(column, count), count))


def malformed_rows(piece: pa.StructArray) -> dict[int, MalformedVariant]:
    """The errors of the malformed rows of an unshredded column, by row.

    >>> from shredlake.kernels import variant
    >>> column = pa.array([{"metadata": b"\\x01\\x00\\x00", "value": b"\\x05\\xff"}], variant())
    >>> malformed_rows(column)[0].problem
    'the string is not UTF-8'
    """
    # Null metadata is reported as empty metadata.
    metadata = pc.fill_null(as_binary(part(piece, "metadata")), b"")
    value, validity = as_binary(part(piece, "value")), validity_of(piece)
    rows = dispatch("validate").invalid_rows(metadata, value, validity)
    return {row: _error(metadata, value, row) for row in rows}


def _violations(first_row: int, piece: pa.StructArray) -> Violations:
    errors = malformed_rows(piece)
    return pa.table(
        [
            [first_row + row for row in errors],
            [error.path for error in errors.values()],
            [error.part for error in errors.values()],
            [error.offset for error in errors.values()],
            [error.problem for error in errors.values()],
        ],
        schema=VIOLATIONS_SCHEMA,
    )


def _error(metadata: pa.Array, value: pa.Array, row: int) -> MalformedVariant:
    try:
        Variant(metadata[row].as_py() or b"", value[row].as_py()).validate()
    except MalformedVariant as error:
        return error
    return MalformedVariant("the value's parts overlap, or exceed 2 GiB")
