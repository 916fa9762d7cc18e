"""`unshred`: reconstructs a column of Variants from a shredded column."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from shredlake.kernels.arrow.buffers import check_column, column_of, metadata_of, part
from shredlake.kernels.arrow.flat_schema import Kind, Plan, plan_of
from shredlake.kernels.arrow.normalize import as_binary
from shredlake.kernels.arrow.types import shredding_schema
from shredlake.kernels.dispatch import dispatch
from shredlake.kernels.threads import Column, assemble, pieces, run, thread_count
from shredlake.shredding.schema import Node, Untyped


def unshred(column: Column, *, strict: bool = False, threads: int | None = None) -> Column:
    """Reconstructs the column of Variants, `struct<metadata, value>`, from a shredded column.

    Accepts the layouts of other writers: any order of fields, no `value`, optional field groups, large, view
    and dictionary types. By default, reading follows the specification's preferences (a field that is both
    shredded and in `value` is read from its column) and fails if parts contradict each other. `strict`
    rejects everything that writers must not produce.

    Null rows stay null; a Variant that is missing in a row that is not null reads as Variant null. Names that
    the metadata lacks are added to it (with `strict` they are an error). An Array that would exceed 2 GiB
    becomes a ChunkedArray.

    >>> import pyarrow as pa
    >>> from shredlake.kernels import to_json
    >>> from shredlake.kernels import shredded_type
    >>> from shredlake.shredding import ShreddingSchema
    >>> rows = [(b"\\x01\\x00\\x00", None, 34), (b"\\x01\\x00\\x00", b"\\x0dn/a", None), None]
    >>> shredded = pa.array(rows, shredded_type(ShreddingSchema.parse("bigint")))
    >>> to_json(unshred(shredded)).to_pylist()
    ['34', '"n/a"', None]
    """
    column = check_column(column)
    schema = shredding_schema(column.type)
    root: Node = Untyped() if schema is None else schema.root
    count = thread_count(threads)
    results = run(partial(_unshred_piece, plan_of(root), strict), pieces(column, count), count)
    return assemble(column, [array for arrays in results for array in arrays])


def _unshred_piece(
    plan: Plan, reject_conflicts: bool, first_row: int, piece: pa.StructArray
) -> list[pa.StructArray]:
    if plan.nodes[0].kind is Kind.UNTYPED:
        value = as_binary(part(piece, "value"))
        if value.null_count == piece.null_count == 0:
            return [column_of(metadata_of(piece, first_row), value, None, None)]
    arrays: list[pa.StructArray] = dispatch("unshred").unshred(piece, plan, reject_conflicts, first_row)
    return arrays
