"""Bytes, fill and bounds of every path, measured in some of a table's files, and rows for the advisor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from shredlake.delta.log.files import Files
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.read.scan import TableScan
from shredlake.delta.storage.storage import decode_path
from shredlake.parquet.inspect.inspect import ColumnReport, FileReport, inspect
from shredlake.parquet.inspect.merge import merged_columns, merged_others
from shredlake.runner import in_order
from shredlake.variant.identifiers import quote

SAMPLED_FILES, SAMPLED_ROWS = 8, 4096
"""Number of files that the advisor looks at, and of rows in each."""


@dataclass(frozen=True)
class Measured:
    """The summed contents of some files of a table."""

    files: int
    bytes: int
    columns: tuple[ColumnReport, ...]
    others: Mapping[str, int]
    """Bytes of the columns that are not Variants."""


def measure(snapshot: Snapshot, files: int) -> Measured:
    """Measures at most this many files."""
    paths = snapshot.files.table().column("path")
    chosen = [paths[place].as_py() for place in spread(len(paths), files)]
    reports = list(in_order((partial(_inspected, snapshot, path) for path in chosen), pa.cpu_count()))
    return Measured(
        len(reports), sum(report.bytes for report in reports), merged_columns(reports), merged_others(reports)
    )


def _inspected(snapshot: Snapshot, path: str) -> FileReport:
    with snapshot.storage.data_file(decode_path(path)) as (location, store):
        return inspect(location, store=store)


def spread(count: int, wanted: int) -> Sequence[int]:
    """Places of `wanted` items, evenly spread over `count`.

    >>> spread(10, 4), spread(2, 4), spread(0, 4)
    ([1, 3, 6, 8], [0, 1], [])
    """
    if count <= wanted:
        return list(range(count))
    return [(2 * number + 1) * count // (2 * wanted) for number in range(wanted)]


def sampled(snapshot: Snapshot, column: str) -> Iterator[pa.Array]:
    """The first rows of some files, evenly spread over the table: one top-level column."""
    table = snapshot.files.table()
    for place in spread(table.num_rows, SAMPLED_FILES):
        one = replace(snapshot, files=Files([], table.slice(place, 1), ()))
        left = SAMPLED_ROWS
        for batch in TableScan(one, [quote(column)], None, threads=1).stream(SAMPLED_ROWS):
            yield batch.column(0).slice(0, left)
            left -= batch.num_rows
            if left <= 0:
                break
