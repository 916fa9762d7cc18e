"""Adds up the reports of several files, path by path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from shredlake.parquet.inspect.inspect import ColumnReport, FileReport, PathReport


def merged_columns(reports: Sequence[FileReport]) -> tuple[ColumnReport, ...]:
    """The Variant columns of all files: counts and bytes added up, bounds widened.

    A path that has another type in some files keeps the most frequent one first: `bigint, string`.
    """
    found: dict[str, list[ColumnReport]] = {}
    for report in reports:
        for column in report.variants:
            found.setdefault(column.name, []).append(column)
    size = sum(report.bytes for report in reports) or 1
    return tuple(_column(columns, size) for columns in found.values())


def merged_others(reports: Iterable[FileReport]) -> dict[str, int]:
    """Bytes of the other columns of all files."""
    total: Counter[str] = Counter()
    for report in reports:
        total.update(report.others)
    return dict(total)


def _column(columns: list[ColumnReport], size: int) -> ColumnReport:
    bytes_ = sum(column.bytes for column in columns)
    first = columns[0]
    return ColumnReport(
        name=first.name,
        annotated=all(column.annotated for column in columns),
        shredding=next((column.shredding for column in columns if column.shredding), None),
        variants=sum(column.variants for column in columns),
        nulls=sum(column.nulls for column in columns),
        metadata_bytes=sum(column.metadata_bytes for column in columns),
        bytes=bytes_,
        file_share=bytes_ / size,
        root=_path([column.root for column in columns], size),
    )


def _path(paths: list[PathReport], size: int) -> PathReport:
    if len(paths) == 1 and not paths[0].children:
        return _resized(paths[0], size)
    below: dict[str, list[PathReport]] = {}
    for path in paths:
        for child in path.children:
            below.setdefault(child.path, []).append(child)
    places = sum(path.places for path in paths)
    typed, residual, null = (
        sum(getattr(path, name) for path in paths) for name in ("typed", "residual", "null")
    )
    bytes_ = sum(path.bytes for path in paths)
    types = Counter(path.type for path in paths)
    return PathReport(
        path=paths[0].path,
        type=", ".join(name for name, _ in types.most_common()),
        places=places,
        typed=typed,
        residual=residual,
        null=null,
        missing=sum(path.missing for path in paths),
        partial=sum(path.partial for path in paths),
        bytes=bytes_,
        file_share=bytes_ / size,
        minimum=_bound([path.minimum for path in paths if path.typed], min),
        maximum=_bound([path.maximum for path in paths if path.typed], max),
        children=tuple(_path(found, size) for found in below.values()),
        files=len(paths),
    )


def _resized(path: PathReport, size: int) -> PathReport:
    return replace(path, file_share=path.bytes / size)


def _bound(bounds: list[pa.Scalar | None], choose: Any) -> pa.Scalar | None:
    """The outermost bound; None if a file has none or the types differ."""
    known = [bound for bound in bounds if bound is not None]
    if not known or len(known) < len(bounds) or len({bound.type for bound in known}) > 1:
        return None
    try:
        return choose(known, key=lambda bound: bound.as_py())
    except (TypeError, ValueError):
        return None
