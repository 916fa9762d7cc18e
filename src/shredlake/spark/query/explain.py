"""Explains, from the log and file footers, how much data a query on Spark will read, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from shredlake.delta.log.files import as_adds
from shredlake.delta.protocol.actions import Add
from shredlake.delta.read.data_file import DataFile
from shredlake.delta.stats.skipping import FileStatistics, prune
from shredlake.expr import Column, Expr, Get, conjuncts, name_parts, references
from shredlake.expr.sql import spelled, spelled_ref
from shredlake.expr.types import PRESENT
from shredlake.formatting import bytes_text, counted
from shredlake.parquet.read.open_file import OpenFile
from shredlake.parquet.read.skipping import matching_row_groups
from shredlake.runner import call_storage
from shredlake.spark.query.path_columns import Service

if TYPE_CHECKING:
    from shredlake.spark.query.scan import SparkScan

FOOTERS = 256
"""The maximum number of footers that are read. With more files, a sample is extrapolated."""


@dataclass(frozen=True)
class FileCost:
    """The cost of reading one file, according to its footer."""

    row_groups: int
    row_groups_total: int
    bytes: int
    rows: int
    rows_in_value: Mapping[str, int]
    """The number of rows in `value`, per mixed path."""
    ruled_out: tuple[int, ...] = ()
    """The number of row groups that each part of the predicate rules out."""


ADDED_FILTERS: Final = "filters that are added to the DataFrame later rule out row groups, but no files"


@dataclass(frozen=True)
class SparkExplain:
    """The amount of data that the query of one table reads, with explanations."""

    files: int
    files_total: int
    pruned_by_partition: int
    pruned_by_statistics: int
    row_groups: int
    row_groups_total: int
    bytes: int
    bytes_total: int
    predicates: tuple[str, ...] = field(default=())
    """One sentence per part of the predicate on the files that it rules out."""
    notes: tuple[str, ...] = field(default=())
    """The reasons why paths are not read as plain columns."""

    def __str__(self) -> str:
        lines = [
            f"files       {self.files:>8,} of {self.files_total:,}   "
            f"(pruned by partition values {self.pruned_by_partition:,}, by statistics "
            f"{self.pruned_by_statistics:,})",
            f"row groups  {self.row_groups:>8,} of {self.row_groups_total:,}   in the files read",
            f"bytes       {bytes_text(self.bytes):>8} of {bytes_text(self.bytes_total)}   "
            f"{self.bytes / self.bytes_total if self.bytes_total else 0:.1%} of the table",
        ]
        return "\n".join([*lines, *self.predicates, *self.notes])


@dataclass(frozen=True)
class SparkSqlExplain:
    """The plan of an SQL query, table by table.

    >>> one = SparkExplain(1, 4, 0, 3, 2, 2, 5_000, 100_000)
    >>> print(SparkSqlExplain({"t": one}, {"t": ("contains(v:k::string, 'x')",)}))
    t is answered from its paths
    files              1 of 4   (pruned by partition values 0, by statistics 3)
    row groups         2 of 2   in the files read
    bytes         5.0 kB of 100.0 kB   5.0% of the table
    contains(v:k::string, 'x') rules out nothing: only Spark understands it
    """

    tables: Mapping[str, SparkExplain]
    left_to_spark: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The conditions that only Spark can evaluate, by table."""
    reason: str = ""
    """Why Spark reads whole Variants instead of plain columns; empty if it does not."""
    by_workers: str = ""
    """How the workers reduce the rows that Spark gets; empty if they do not."""
    declined: Mapping[str, str] = field(default_factory=dict)
    """The reason why each strategy that was tried before does not apply (`strategies.py`)."""
    sub_variants: Sequence[str] = ()
    """The paths at which Spark rebuilds Variants; empty if it rebuilds whole ones, or none."""

    def __str__(self) -> str:
        parts = []
        for name, found in self.tables.items():
            how = "is answered from its paths" + (
                f", {self.by_workers} by the workers" if self.by_workers else ""
            )
            if self.reason:
                how = f"is read by Spark with its Variants: {self.reason}"
            if self.sub_variants:
                how += f"\nSpark rebuilds the Variants at {', '.join(self.sub_variants)}, not whole ones"
            others = (
                f"{condition} rules out nothing: only Spark understands it"
                for condition in self.left_to_spark.get(name, ())
            )
            parts.append("\n".join([f"{name} {how}", str(found), *others]))
        tried = [f"{name} not used: {reason}" for name, reason in self.declined.items()]
        return "\n\n".join([*parts, "\n".join(tried)] if tried else parts)


def explain(scan: SparkScan) -> SparkExplain:
    """Counts files from the log, and row groups and bytes from the footers of the remaining files."""
    groups = scan.groups
    count = sum(len(group.files) for group in groups)
    tables = [group.files.table for group in groups]
    chosen = _every(pa.concat_tables(tables), max(1, -(-count // FOOTERS))) if tables else []
    costs = call_storage(partial(_cost, scan), chosen)
    scale = count / len(chosen) if chosen else 1.0
    sizes = scan.snapshot.files.table(["size"]).column(0).to_pylist()
    return SparkExplain(
        files=count,
        files_total=len(sizes),
        pruned_by_partition=scan.local.verdict.by_partition,
        pruned_by_statistics=scan.local.verdict.by_statistics,
        row_groups=round(sum(cost.row_groups for cost in costs) * scale),
        row_groups_total=round(sum(cost.row_groups_total for cost in costs) * scale),
        bytes=round(sum(cost.bytes for cost in costs) * scale),
        bytes_total=sum(sizes),
        predicates=tuple(_predicates(scan, costs, len(sizes), scale)),
        notes=tuple(_notes(scan, costs)),
    )


def _every(files: pa.Table, step: int) -> list[Add]:
    """Every n-th file."""
    return as_adds(files.take(pa.array(range(0, files.num_rows, step))))


def _cost(scan: SparkScan, add: Add) -> FileCost:
    data = DataFile(scan.snapshot, add)
    file = data.file
    try:
        refs = [data.binding.expression(ref) for ref in scan.references]
        columns = _columns(file, refs)
        predicate = scan.local.query.predicate
        groups = range(len(file.chunks))
        kept = list(groups)

        def matching(part: Expr) -> list[int]:
            bound = data.binding.expression(part)
            accesses = {ref: file.columns.access(ref) for ref in references(bound)}
            return matching_row_groups(file, bound, accesses, scan.options)

        ruled_out: tuple[int, ...] = ()
        if predicate is not None:
            kept = matching(predicate)
            ruled_out = tuple(len(groups) - len(matching(part)) for part in conjuncts(predicate))
        size = sum(file.chunks.chunk(group, column).extent[1] for group in kept for column in columns)
        rows = sum(file.chunks.row_counts)
        return FileCost(len(kept), len(groups), size, rows, dict(_mixed(scan, data)), ruled_out)
    finally:
        file.close()


def _columns(file: OpenFile, refs: list[Expr]) -> frozenset[int]:
    """The leaf columns that the query reads in this file."""
    found: frozenset[int] = frozenset()
    for expr in refs:
        for ref in references(expr):
            if isinstance(ref, Get) and ref.type == PRESENT:
                access = file.columns.presence(name_parts(ref.column))
            else:
                access = file.columns.access(ref)
            if access is not None:
                found |= access.read(lambda column: _is_all_null(file, column))
    return found


def _is_all_null(file: OpenFile, column: int) -> bool:
    return all(file.chunks.chunk(group, column).is_all_null for group in range(len(file.chunks)))


def _mixed(scan: SparkScan, data: DataFile) -> Iterator[tuple[str, int]]:
    """The number of rows in `value` for each path that is partly read from there."""
    for ref in scan.references:
        if not isinstance(ref, Get):
            continue
        bound = data.binding.expression(ref)
        access = data.file.columns.access(bound) if isinstance(bound, Column | Get) else None
        if access is None or access.leaf is None:
            continue
        rows = 0
        for column in access.residuals:
            for group in range(len(data.file.chunks)):
                chunk = data.file.chunks.chunk(group, column)
                nulls = chunk.null_count
                rows += chunk.values - (nulls or 0)
        if rows:
            yield _place(ref), rows


def _predicates(scan: SparkScan, costs: list[FileCost], files: int, scale: float) -> Iterator[str]:
    """A sentence for each part of the predicate on what it rules out by itself, or why it does not."""
    predicate = scan.local.query.predicate
    statistics = FileStatistics.of(scan.snapshot)
    for number, part in enumerate(conjuncts(predicate) if predicate is not None else ()):
        verdict = prune(scan.snapshot, part, scan.options)
        pruned = verdict.by_partition + verdict.by_statistics
        groups = round(sum(cost.ruled_out[number] for cost in costs) * scale)
        text = f"{spelled(part)} rules out {pruned:,} of {counted(files, 'file')}"
        if groups:
            text += f", {counted(groups, 'row group')} in the files read"
        unknown = [_place(ref) for ref in references(part) if not statistics.bounds(ref)]
        if not pruned and not groups and unknown:
            text += f": no statistics for {', '.join(sorted(unknown))}"
        elif not pruned and not groups and files:
            text += ": by their statistics, all may match"
        yield text


def _notes(scan: SparkScan, costs: list[FileCost]) -> Iterator[str]:
    """A sentence for each path that is not a plain column in all files."""
    files = sum(len(group.files) for group in scan.groups)
    rows = sum(cost.rows for cost in costs)
    in_value: Counter[str] = Counter()
    for cost in costs:
        in_value.update(cost.rows_in_value)
    mixed: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for group in scan.groups:
        if group.worker:
            others[group.worker] += len(group.files)
        for ref, served in group.served.items():
            if served.service is Service.MIXED:
                mixed[_place(ref)] += len(group.files)
    for path, count in mixed.items():
        share = in_value[path] / rows if rows else 0.0
        yield f"{path} is mixed in {count:,} of {counted(files, 'file')}: {share:.1%} of rows read from value"
    for reason, count in others.items():
        yield f"workers read {count:,} of {counted(files, 'file')}: {reason}"


def _place(ref: Column | Get) -> str:
    """A column or path without its type."""
    return spelled_ref(replace(ref, type=None) if isinstance(ref, Get) else ref)
