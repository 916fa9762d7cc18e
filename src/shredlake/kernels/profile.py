"""`profile`: what a column of Variants holds, path by path."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from shredlake.errors import InvalidValue
from shredlake.kernels.arrow.buffers import check_column, metadata_of, part, validity_of
from shredlake.kernels.arrow.normalize import as_binary
from shredlake.kernels.arrow.types import shredding_schema
from shredlake.kernels.dispatch import dispatch
from shredlake.kernels.row_errors import row_error
from shredlake.kernels.threads import Column, chunks_of, run, thread_count
from shredlake.shredding.inference.profile import MAX_DEPTH, MAX_PATHS, Profile
from shredlake.variant import Variant

# Fixed, so that the profile of a column does not depend on the number of cores.
PIECE_ROWS = 65_536


def profile(
    column: Column, *, max_paths: int = MAX_PATHS, max_depth: int = MAX_DEPTH, threads: int | None = None
) -> Profile:
    """The profile of a Variant column, shredded or not: one pass, memory bounded by `max_paths`.

    Values deeper than `max_depth` count as a whole.

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
    """The same, as the bytes that travel between processes and that `merge_profiles` takes."""
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
        metadata, value = metadata_of(piece, first_row), as_binary(part(piece, "value"))
        found = dispatch("profile").summarize(metadata, value, validity_of(piece), max_paths, max_depth)
        if isinstance(found, int):
            raise row_error(metadata, value, found, first_row, Variant.validate)
        return found

    parts = run(summarize, cut, thread_count(threads))
    return parts[0] if len(parts) == 1 else merge_profiles(parts, max_paths=max_paths)


def merge_profiles(parts: Iterable[bytes], *, max_paths: int = MAX_PATHS) -> bytes:
    """The profile of all rows from the profiles of parts of them, in the order of the rows, all as bytes.

    >>> import shredlake as sl
    >>> part = profile_bytes(sl.from_json(pa.array(["[1]"])))
    >>> Profile.from_bytes(merge_profiles([part, part])).rows
    2
    """
    try:
        return dispatch("profile").merge(parts, max_paths)
    except ValueError as error:
        raise InvalidValue(f"one of the parts is not a profile: {error}") from error
