"""`TableReport`: the facts about a table, for the terminal, for JSON and for a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.files import as_adds
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.read.layouts import FileLayouts
from shredlake.delta.report import MEASURED_FILES
from shredlake.delta.report.drift import Drift, logged_drift
from shredlake.delta.report.measure import Measured, measure
from shredlake.delta.report.paths import PathFacts, path_facts
from shredlake.delta.report.rejects import RejectedFor, rejects_beside
from shredlake.delta.report.suggest import Suggestion, suggestions
from shredlake.delta.report.versions import MOST_VERSIONS, Versions, versions_of
from shredlake.delta.stats.ranges import Ranges, ranges
from shredlake.delta.stats.skipping import FileStatistics
from shredlake.expr import from_arrow
from shredlake.formatting import plain_fields
from shredlake.garbage import CollectorPaused
from shredlake.runner import in_order

MOST_RANGES = 256
"""Number of paths whose ranges are kept; of more, the best sorted ones."""


@dataclass(frozen=True)
class Overlap:
    """How the ranges of files overlap in one column or path: what a query on it can skip."""

    name: str
    type: str
    files: int
    """Number of files that have bounds."""
    minimum: Any
    maximum: Any
    files_per_value: float
    """Number of files that a query for one value reads, on average."""
    bars: tuple[tuple[float, float], ...]
    """The range of each file, scaled to between 0 and 1, in the order of the minima."""

    @cached_property
    def is_constant(self) -> bool:
        return bool(self.minimum == self.maximum)


@dataclass(frozen=True, kw_only=True)
class TableReport:
    """A table: its files, the paths of its Variants, its versions, and what to do.

    >>> from shredlake.example import example_table
    >>> report = example_table("report").report()
    >>> report.version, report.rows, [path.path for path in report.paths["v"]]
    (1, 2, ['a'])
    >>> report.html().startswith("<!doctype html>")
    True
    """

    uri: str
    version: int
    files: int
    rows: int | None
    """None if the row count of a file is unknown."""
    deleted: int
    """Number of rows that deletion vectors remove."""
    bytes: int
    layouts: int
    untouched: Mapping[str, int]
    """Number of files that do not shred a Variant column, per column."""
    paths: Mapping[str, tuple[PathFacts, ...]]
    """Paths per Variant column."""
    overlaps: tuple[Overlap, ...]
    measured: Measured
    history: Versions
    drift: Drift
    """Drift as far as the log tells; `shredlake.drift` can also read the files."""
    rejects_table: str | None
    rejects: tuple[RejectedFor, ...]
    suggestions: tuple[Suggestion, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The report as plain dicts, lists, numbers and strings, ready for JSON."""
        fields = plain_fields(self)
        del fields["drift"]["uri"]
        return {"table": fields.pop("uri"), **fields}

    def html(self) -> str:
        """The report as a page: one HTML file that needs no network."""
        from shredlake.delta.report.page import table_page

        return table_page(self)


@CollectorPaused()
def table_report(snapshot: Snapshot, *, files: int = MEASURED_FILES) -> TableReport:
    """Collects the report of a table. Bytes and fill are measured in at most `files` files."""
    adds = as_adds(snapshot.files.table())

    def on_threads(keys: Any, read: Any) -> Any:
        return in_order((partial(read, key) for key in keys), pa.cpu_count())

    layouts = FileLayouts(snapshot, on_threads).of(adds)
    found = list(ranges(snapshot))
    bounds: dict[str, list[Ranges]] = {}
    for item in found:
        bounds.setdefault(item.name, []).append(item)
    places = list(snapshot.variants)
    counts = FileStatistics.of(snapshot).row_counts
    if snapshot.files.live is not None:
        counts = counts.filter(snapshot.files.live)
    history = versions_of(snapshot)
    oldest = history.versions[0].version if len(history.versions) == MOST_VERSIONS else None
    deleted = sum(add.deletion_vector.cardinality for add in adds if add.deletion_vector)
    beside = rejects_beside(snapshot.storage)
    report = TableReport(
        uri=snapshot.storage.uri,
        version=snapshot.version,
        files=len(adds),
        rows=None if counts.null_count else int((pc.sum(counts).as_py() or 0) - deleted),
        deleted=deleted,
        bytes=sum(add.size for add in adds),
        layouts=len({tuple(sorted(layout.items(), key=str)) for layout in layouts}),
        untouched={place.name: sum(place.physical not in layout for layout in layouts) for place in places},
        paths={
            place.name: path_facts([layout.get(place.physical) for layout in layouts], place.name, bounds)
            for place in places
        },
        overlaps=overlaps(found),
        measured=measure(snapshot, files),
        history=history,
        drift=logged_drift(snapshot, oldest),
        rejects_table=None if beside is None else beside[0],
        rejects=() if beside is None else beside[1],
    )
    return replace(report, suggestions=suggestions(snapshot, report, found))


def overlaps(found: list[Ranges]) -> tuple[Overlap, ...]:
    """The files that queries can skip, the best sorted paths first; paths with one value only come last."""
    items = []
    for item in found:
        low, high = item.overall()
        starts, ends = item.positions()
        bars = tuple((round(float(a), 5), round(float(b), 5)) for a, b in zip(starts, ends, strict=True))
        items.append(
            Overlap(
                item.name,
                from_arrow(item.type).name,
                files=item.bounded,
                minimum=low,
                maximum=high,
                files_per_value=round(item.mean_depth(), 3),
                bars=bars,
            )
        )
    items.sort(key=lambda one: (one.is_constant, -one.files, one.files_per_value, one.name))
    return tuple(items[:MOST_RANGES])
