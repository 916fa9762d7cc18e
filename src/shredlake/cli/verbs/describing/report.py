"""`shredlake report`: how the files of a table shred its Variants, and what queries can skip.

```
events  version 12   64 files   20,000,000 rows   1.2 GB   in 2 layouts
v
  path      typed as         files  mixed  not typed  statistics  files per value
  amount    double              64     12          0          52              1.9
```
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow.compute as pc
import typer
from rich.console import Console
from rich.table import Table as Grid

from shredlake.cli.inputs import open_table
from shredlake.cli.terminal import cells, say, screen, shown
from shredlake.delta.log.files import as_adds
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.schema.variants import variant_places
from shredlake.delta.stats.ranges import Ranges, ranges
from shredlake.delta.stats.skipping import FileStatistics
from shredlake.formatting import bytes_text, counted
from shredlake.parquet.variant_columns import ColumnLayout
from shredlake.shredding.schema import ARRAY_ELEMENT, Scalar, Steps, node_ddl, node_path
from shredlake.spark.query.layouts import FileLayouts
from shredlake.variant.path import Path


@dataclass
class PathFacts:
    """One path of a Variant column over all files."""

    path: str
    types: dict[str, int] = field(default_factory=dict)
    """Types of the path, each with the number of files that have it."""
    mixed: int = 0
    """Number of files in which some values of the path are in `value`."""
    with_statistics: int = 0
    files_per_value: float | None = None
    """Number of files that a query for one value reads, on average."""

    @property
    def typed(self) -> int:
        return sum(self.types.values())


@dataclass
class TableFacts:
    """A table, and the paths of its Variants."""

    uri: str
    version: int
    files: int
    rows: int | None
    """None if the row count of a file is unknown."""
    size: int
    layouts: int
    untouched: dict[str, int]
    """Number of files that do not shred a Variant column, per column."""
    paths: dict[str, list[PathFacts]]
    """Paths per Variant column."""


def report(
    uri: str = typer.Argument(help="The table: a path or a URL."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show how the files of a Delta table shred its Variants, and what queries can skip."""
    facts = table_facts(open_table(uri).snapshot)
    if as_json:
        say(json.dumps(asdict(facts), ensure_ascii=False))
    else:
        render(facts, screen())


def table_facts(snapshot: Snapshot) -> TableFacts:
    """Collects the facts from the log; reads footers only of files that the log does not describe."""
    adds = as_adds(snapshot.files.table())
    layouts = FileLayouts(None, snapshot).of(adds)
    bounds: dict[str, list[Ranges]] = {}
    for item in ranges(snapshot):
        bounds.setdefault(item.name, []).append(item)
    places = list(variant_places(snapshot.schema))
    counts = FileStatistics.of(snapshot).row_counts
    if snapshot.files.live is not None:
        counts = counts.filter(snapshot.files.live)
    deleted = sum(add.deletion_vector.cardinality for add in adds if add.deletion_vector)
    return TableFacts(
        uri=snapshot.storage.uri,
        version=snapshot.version,
        files=len(adds),
        rows=None if counts.null_count else int((pc.sum(counts).as_py() or 0) - deleted),
        size=sum(add.size for add in adds),
        layouts=len({tuple(sorted(layout.items(), key=str)) for layout in layouts}),
        untouched={place.name: sum(place.physical not in layout for layout in layouts) for place in places},
        paths={
            place.name: _paths([layout.get(place.physical) for layout in layouts], place.name, bounds)
            for place in places
        },
    )


def _paths(
    layouts: list[ColumnLayout | None], column: str, bounds: dict[str, list[Ranges]]
) -> list[PathFacts]:
    found: dict[str, PathFacts] = {}
    for layout, files in Counter(layout for layout in layouts if layout is not None).items():
        for steps, node in layout.schema.leaves():
            if isinstance(node, Scalar):
                facts = found.setdefault(node_path(steps), PathFacts(_short(steps)))
                facts.types[node_ddl(node)] = facts.types.get(node_ddl(node), 0) + files
                facts.mixed += files * (node_path(steps) in layout.residual)
    for facts in found.values():
        known = bounds.get(f"{column}:{facts.path}" if facts.path else column, [])
        facts.with_statistics = sum(item.bounded for item in known)
        if known:
            facts.files_per_value = round(max(known, key=lambda item: item.bounded).mean_depth(), 3)
    return sorted(found.values(), key=lambda one: (-one.typed, one.path))


def _short(steps: Steps) -> str:
    """A path as written after the colon; `[*]` stands for all elements of an array."""
    parts: list[str] = []
    for step in steps:
        text = "[*]" if step is ARRAY_ELEMENT else str(Path((str(step),))).removeprefix("$")
        parts.append(text)
    return "".join(parts).removeprefix(".")


def render(facts: TableFacts, console: Console) -> None:
    """Prints the facts, one table per Variant column."""
    rows = "an unknown number of rows" if facts.rows is None else counted(facts.rows, "row")
    console.print(
        shown(facts.uri, "bold").append(
            f"  version {facts.version}   {counted(facts.files, 'file')}   {rows}   "
            f"{bytes_text(facts.size)}   in {counted(facts.layouts, 'layout')}",
            style="not bold",
        )
    )
    for column, paths in facts.paths.items():
        text = shown(column, "bold cyan")
        if facts.untouched[column]:
            text.append(f"  not shredded in {counted(facts.untouched[column], 'file')}", style="yellow")
        console.print(text)
        grid = Grid(box=None, pad_edge=False, padding=(0, 2))
        for name in ("path", "typed as"):
            grid.add_column(name)
        for name in ("files", "mixed", "not typed", "with statistics", "files per value"):
            grid.add_column(name, justify="right")
        for one in paths:
            grid.add_row(*cells(_cells(one, facts.files)))
        console.print(grid)


def _cells(one: PathFacts, files: int) -> list[Any]:
    types = ", ".join(
        kind if len(one.types) == 1 else f"{kind} ({n:,})" for kind, n in Counter(one.types).most_common()
    )
    value = "" if one.files_per_value is None else f"{one.files_per_value:.1f}"
    return [
        one.path,
        types,
        f"{one.typed:,}",
        f"{one.mixed:,}",
        f"{files - one.typed:,}",
        f"{one.with_statistics:,}",
        value,
    ]
