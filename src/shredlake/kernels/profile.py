"""Profiles of Variant columns, and the shredding schema that `infer_schema` chooses from one."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from shredlake.errors import InvalidValue
from shredlake.kernels.arrow.buffers import check_column, filled, metadata_of, part, validity_of
from shredlake.kernels.arrow.normalize import as_binary
from shredlake.kernels.arrow.types import shredding_schema
from shredlake.kernels.dispatch import dispatch
from shredlake.kernels.row_errors import row_error
from shredlake.kernels.threads import Column, chunks_of, run, thread_count
from shredlake.shredding.inference import MAX_LEAVES
from shredlake.shredding.inference.infer import MAX_DEPTH as MAX_LAYOUT_DEPTH
from shredlake.shredding.inference.infer import MIN_SHARE
from shredlake.shredding.inference.infer import infer_schema as infer_from_profile
from shredlake.shredding.inference.profile import MAX_DEPTH, MAX_PATHS, Profile
from shredlake.shredding.inference.report import InferredSchema
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant import Variant
from shredlake.variant.path import Path

# Fixed, so that the profile of a column does not depend on the number of cores.
PIECE_ROWS = 65_536


def profile(
    column: Column, *, max_paths: int = MAX_PATHS, max_depth: int = MAX_DEPTH, threads: int | None = None
) -> Profile:
    """Profiles a Variant column, shredded or not, in one pass with memory bounded by `max_paths`.

    Values deeper than `max_depth` are profiled as a whole.

    >>> import shredlake as sl
    >>> found = profile(sl.from_json(pa.array(['{"id": 1}', '{"id": "n/a"}', None])))
    >>> found.rows, found.nulls, {kind.value: n for kind, n in found.at("id").types.items()}
    (3, 1, {'int8': 1, 'string': 1})
    """
    return Profile.from_bytes(
        profile_bytes(column, max_paths=max_paths, max_depth=max_depth, threads=threads)
    )


def profile_bytes(
    column: Column, *, max_paths: int = MAX_PATHS, max_depth: int = MAX_DEPTH, threads: int | None = None
) -> bytes:
    """Returns the profile as bytes, to send between processes and to `merge_profiles`."""
    column = check_column(column)
    if shredding_schema(column.type) is not None:
        from shredlake.kernels.unshred import unshred

        column = unshred(column, threads=threads)
    cut, row = [], 0
    for chunk in chunks_of(column):
        for start in range(0, max(len(chunk), 1), PIECE_ROWS):
            cut.append((row, chunk.slice(start, PIECE_ROWS)))
            row += len(cut[-1][1])

    def summarize(first_row: int, piece: pa.StructArray) -> bytes:
        metadata, value = metadata_of(piece, first_row), filled(as_binary(part(piece, "value")), piece)
        found = dispatch("profile").summarize(metadata, value, validity_of(piece), max_paths, max_depth)
        if isinstance(found, int):
            raise row_error(metadata, value, found, first_row, Variant.validate)
        return found

    parts = run(summarize, cut, thread_count(threads))
    return parts[0] if len(parts) == 1 else merge_profiles(parts, max_paths=max_paths)


def merge_profiles(parts: Iterable[bytes], *, max_paths: int = MAX_PATHS) -> bytes:
    """Merges the profiles of consecutive parts of a column; all are given and returned as bytes.

    >>> import shredlake as sl
    >>> part = profile_bytes(sl.from_json(pa.array(["[1]"])))
    >>> Profile.from_bytes(merge_profiles([part, part])).rows
    2
    """
    try:
        return dispatch("profile").merge(parts, max_paths)
    except ValueError as error:
        raise InvalidValue(f"one of the parts is not a profile: {error}") from error


def infer_schema(
    data: Column | Profile,
    *,
    queries: Iterable[str | Path] = (),
    max_leaves: int = MAX_LEAVES,
    max_depth: int = MAX_LAYOUT_DEPTH,
    min_share: float = MIN_SHARE,
    previous: ShreddingSchema | str | None = None,
    threads: int | None = None,
) -> InferredSchema:
    """Chooses a shredding schema for a Variant column or a profile; `.report()` explains the choice.

    `queries` are paths that queries use: they get columns however rare they are. `previous` is the table's
    layout, which is kept unless another one is worth the change. Objects and arrays deeper than `max_depth`,
    at most 30 levels, are not shredded. The root of the result is `variant` if nothing is worth a column.

    >>> import pyarrow as pa, shredlake as sl
    >>> rows = ['{"id": %d, "price": %d.50, "tags": ["a"]}' % (n, n) for n in range(1000)]
    >>> schema = infer_schema(sl.from_json(pa.array(rows)))
    >>> str(schema)
    'struct<id bigint, price decimal(9,2), tags array<string>>'
    >>> print(schema.report())
    1000 rows, 3 leaves of 300, expected size ...
    $          object          100.0% of rows
      id       bigint          100.0% of rows ... ascending in the file
      price    decimal(9,2)    100.0% of rows ... ascending in the file
      tags     array           100.0% of rows
        [*]    string          100.0% of rows ...
    """
    known = data if isinstance(data, Profile) else profile(data, threads=threads)
    return infer_from_profile(
        known,
        queries=queries,
        max_leaves=max_leaves,
        max_depth=max_depth,
        min_share=min_share,
        previous=previous,
    )
