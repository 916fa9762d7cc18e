"""Skips row groups by the footer's statistics, and rows by the page index."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.expr.ast import Column, Expr, Get
from shredlake.expr.prune import always_matches, may_match
from shredlake.kernels.cast_options import CastOptions
from shredlake.parquet.format.row_ranges import Rows, merge_ranges
from shredlake.parquet.read.access import Access
from shredlake.parquet.read.open_file import OpenFile
from shredlake.parquet.read.statistics import (
    Extreme,
    Facts,
    Statistics,
    chunk_facts,
    is_exact,
    page_statistics,
    row_group_statistics,
    segments_of,
)

Accesses = Mapping[Column | Get, Access | None]


def _of_row_groups(file: OpenFile, accesses: Accesses) -> Statistics:
    return row_group_statistics(file.chunks, file.leaves, file.types, accesses, file.row_group_bounds)


def matching_row_groups(
    file: OpenFile, predicate: Expr, accesses: Accesses, options: CastOptions
) -> list[int]:
    """The row groups that may match, according to the footer."""
    statistics = _of_row_groups(file, accesses)
    keep = may_match(predicate, statistics, options)
    return [group for group, kept in enumerate(keep.to_pylist()) if kept]


def certain_row_groups(
    file: OpenFile, condition: Expr, accesses: Accesses, options: CastOptions
) -> frozenset[int]:
    """The row groups in which every row meets a condition, by the footer."""
    statistics = _of_row_groups(file, accesses)
    certain = always_matches(condition, statistics, options)
    return frozenset(group for group, sure in enumerate(certain.to_pylist()) if sure)


def constant_values(file: OpenFile, access: Access | None, kind: pa.DataType) -> list[pa.Scalar | None]:
    """The value of a reference in each row group in which all rows have the same, by the footer."""
    unknown: list[pa.Scalar | None] = [None] * len(file.chunks)
    if access is None or access.leaf is None or access.leaf.column is None:
        return unknown
    if file.types[access.leaf.column] != kind or not _compares_exactly(kind):
        return unknown
    key = Column("")  # statistics ask by reference; here there is one
    bounds = _of_row_groups(file, {key: access}).bounds(key)
    if bounds is None:
        return unknown
    same = pc.and_(pc.equal(bounds.minimum, bounds.maximum), pc.equal(bounds.null_count, 0))
    return [
        bounds.minimum[group] if sure else None
        for group, sure in enumerate(pc.fill_null(same, False).to_pylist())
    ]


def extreme_values(
    file: OpenFile, access: Access | None, kind: pa.DataType, which: Extreme
) -> list[pa.Scalar | None]:
    """The minimum or maximum of a reference in each row group, by the footer; None where it is not exact.

    A null scalar means that all rows are null.
    """
    unknown: list[pa.Scalar | None] = [None] * len(file.chunks)
    if access is None or access.leaf is None or access.leaf.column is None:
        return unknown
    column = access.leaf.column
    if file.types[column] != kind or not has_exact_extremes(kind):
        return unknown
    key = Column("")
    bounds = _of_row_groups(file, {key: access}).bounds(key)
    if bounds is None:
        return unknown
    ends = bounds.minimum if which == "min" else bounds.maximum
    all_null = pc.fill_null(pc.equal(bounds.null_count, bounds.row_count), False)
    found = unknown
    for group, null in enumerate(all_null.to_pylist()):
        exact = ends[group].is_valid and is_exact(file.chunks.chunk(group, column), which)
        found[group] = ends[group] if null or exact else None
    return found


def has_exact_extremes(kind: pa.DataType) -> bool:
    """Whether minima and maxima of a type are exact: numbers and moments that compare as integers."""
    return bool(
        pa.types.is_signed_integer(kind)
        or pa.types.is_date32(kind)
        or (pa.types.is_timestamp(kind) and kind.unit == "us")
    )


def _compares_exactly(kind: pa.DataType) -> bool:
    """Whether equal bounds mean equal values: not for floats, which have NaN and two zeros."""
    is_moment = pa.types.is_date32(kind) or pa.types.is_timestamp(kind)
    return bool(kind == pa.string() or pa.types.is_integer(kind) or is_moment)


def matching_rows(
    file: OpenFile, group: int, predicate: Expr, accesses: Accesses, options: CastOptions
) -> Rows:
    """The rows of a row group that may match, according to the page index; all rows if there is none."""
    row_count = file.chunks.row_counts[group]
    columns = page_columns(file, group, accesses)
    pages = {column: pages for (_, column), pages in file.pages([group], columns).items()}
    indexed = [index for index in pages.values() if index is not None]
    if not indexed:
        return Rows.all(row_count)
    segments = segments_of(indexed, row_count)
    statistics = page_statistics(
        segments, pages, _whole(file, group, accesses), file.chunks.ordered_by_type, file.types, accesses
    )
    keep = may_match(predicate, statistics, options)
    return Rows(
        merge_ranges(segment for segment, kept in zip(segments, keep.to_pylist(), strict=True) if kept)
    )


def page_columns(file: OpenFile, group: int, accesses: Accesses) -> list[int]:
    """The columns whose page index may exclude rows."""
    columns = set()
    for access in accesses.values():
        if access is not None and access.leaf is not None and access.leaf.column is not None:
            columns |= {access.leaf.column, *access.residuals}
        elif access is not None and not access.columns:
            columns |= access.residuals
    chunks = {column: file.chunks.chunk(group, column) for column in sorted(columns)}
    return [column for column, chunk in chunks.items() if chunk.data_pages != 1 and not chunk.is_all_null]


def _whole(file: OpenFile, group: int, accesses: Accesses) -> dict[int, Facts]:
    """The statistics of the whole row group, for columns without a page index."""
    columns = {
        column
        for access in accesses.values()
        if access is not None
        for column in (*access.residuals, *([access.leaf.column] if access.leaf else []))
        if column is not None
    }
    return {
        column: chunk_facts(
            file.chunks.chunk(group, column), file.leaves[column], file.chunks.ordered_by_type(column)
        )
        for column in columns
    }
