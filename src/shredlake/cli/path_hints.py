"""Hints for paths that no file knows: `no file has v:knd; did you mean v:kind?`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.layout_tag import LAYOUT_TAG
from shredlake.delta.read.scan import TableScan
from shredlake.delta.report.paths import short_path
from shredlake.expr.ast import Get, references
from shredlake.parquet.variant_columns import ColumnLayout, parse_layout_json

if TYPE_CHECKING:
    from shredlake.sql.result import SqlResult

MOST_FILES = 1000
"""Number of files whose layouts are looked at."""


def unknown_paths(scan: TableScan) -> Iterator[str]:
    """One hint for each path of a scan that no file shreds, if a similar path is shredded."""
    asked = {
        ref
        for expression in (*(one.expr for one in scan.query.projections), scan.query.predicate)
        if expression is not None
        for ref in references(expression)
        if isinstance(ref, Get)
    }
    yield from hints(scan.snapshot, asked)


def unknown_paths_of_query(result: SqlResult) -> Iterator[str]:
    """The same for the paths of an SQL query."""
    from shredlake.sql.sources import DeltaSource  # `query` does not need it

    for source, asked in result._paths():
        if isinstance(source, DeltaSource):
            yield from hints(source.table.snapshot, asked)


def hints(snapshot: Snapshot, asked: Collection[Get]) -> Iterator[str]:
    """One hint for each path that no file shreds, if a similar path is shredded.

    Values of the path may still be in the residuals of files, so the hint only says what is known.
    """
    if not asked:
        return
    places = {place.name: place.physical for place in snapshot.variants}
    layouts = _layouts(snapshot)
    for ref in sorted(asked, key=str):
        found = [layout[places[ref.column]] for layout in layouts if places.get(ref.column) in layout]
        known = {short_path(steps) for layout in found for steps, _ in layout.schema.nodes()}
        path = str(ref.path).removeprefix("$").removeprefix(".")
        plain = path.partition("[")[0].rstrip(".") or path
        if not found or path in known or plain in known or any(one.startswith(f"{path}.") for one in known):
            continue
        if similar := get_close_matches(path, sorted(known - {""}), 1):
            certain = not any(layout.residual for layout in found) and len(found) == len(layouts)
            asked_for, meant = f"{ref.column}:{path}", f"{ref.column}:{similar[0]}"
            problem = f"no file has {asked_for}" if certain else f"{asked_for} is not shredded in any file"
            yield f"hint: {problem}; did you mean {meant}?"


def _layouts(snapshot: Snapshot) -> list[dict[str, ColumnLayout]]:
    """Layouts of the table's files, as far as the log tells them."""
    tags = snapshot.files.table().column("tags").slice(0, MOST_FILES)
    texts = {dict(item or ()).get(LAYOUT_TAG) for item in tags.to_pylist()}
    return [parse_layout_json(text) for text in texts if text]
