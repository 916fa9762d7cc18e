"""The report of a table as a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shredlake.delta.report.drift import Change, Drift, types_text
from shredlake.delta.report.versions import LayoutFacts, Versions
from shredlake.formatting import bytes_text, counted, share_text
from shredlake.html.markup import Markup, element, joined
from shredlake.html.page import Page, Section
from shredlake.html.plot import STACKED, Series, depths, ranges, stacked, steps
from shredlake.html.table import cards, command, nothing, table
from shredlake.parquet.inspect.page import path_sections

if TYPE_CHECKING:
    from shredlake.delta.report.report import Overlap, TableReport

MOST_CARDS = 24
"""Number of paths whose ranges are drawn."""
MOST_BARS = 64
"""Number of files that are drawn as bars; of more, a curve shows how many files cover a value."""
NAMED = 6
"""Number of paths that a row names."""
LONGEST = 28


def table_page(report: TableReport) -> str:
    """The page of a table."""
    name = report.uri.rstrip("/").rsplit("/", 1)[-1] or report.uri
    figures = [
        ("unknown" if report.rows is None else f"{report.rows:,}", "row" if report.rows == 1 else "rows"),
        (bytes_text(report.bytes), "size"),
        (f"{report.files:,}", "file" if report.files == 1 else "files"),
        (f"{sum(map(len, report.paths.values())):,}", "typed paths"),
        (f"{report.layouts:,}", "layout" if report.layouts == 1 else "layouts"),
        (f"{report.version:,}", "version"),
    ]
    measured = report.measured
    note = (
        f"Bytes, fill and bounds are those of {measured.files:,} of {counted(report.files, 'file')}, evenly "
        "spread over the table. "
        if measured.files < report.files
        else ""
    )
    sections = [
        _suggestions(report),
        *path_sections(measured.columns, measured.others),
        _skipping(report),
        _growth(report.history),
        _drift(report.drift),
        _rejects(report),
    ]
    return Page(
        name, f"{report.uri}, version {report.version}", figures, sections, f"{note}Made by shredlake."
    ).html()


def _suggestions(report: TableReport) -> Section:
    items = [
        element("li", element("strong", one.title), element("p", one.reason), command(one.command))
        for one in report.suggestions
    ]
    body = element("ul", *items, class_="suggestions") if items else nothing("Nothing to improve was found.")
    return Section("suggestions", "Suggestions", "", body)


def _skipping(report: TableReport) -> Section:
    lead = (
        "One bar per file, from its smallest to its greatest value. Where bars do not overlap, a query for a "
        "value reads one file and skips the others."
    )
    shown = report.overlaps[:MOST_CARDS]
    if not shown:
        return Section("skipping", "What queries can skip", "", nothing("The files have no statistics."))
    body: list[Markup] = [cards(_range_card(one, report.files) for one in shown)]
    if len(report.overlaps) > len(shown):
        rows = [
            (one.name, one.type, _short(one.minimum), _short(one.maximum), f"{one.files_per_value:.1f}")
            for one in report.overlaps[MOST_CARDS:]
        ]
        titles = ["Path", "Type", "Minimum", "Maximum", "Files per value"]
        more = element("summary", counted(len(rows), "more path"))
        body.append(element("details", more, table(titles, rows, numbers=(4,))))
    return Section("skipping", "What queries can skip", lead, joined(*body))


def _range_card(one: Overlap, files: int) -> Markup:
    about = f"{one.name}: {one.files_per_value:.1f} files per value of {files:,}"
    if one.is_constant:
        verdict: object = "All files have the same value."
    else:
        skipped = max(0.0, 1 - one.files_per_value / files) if files else 0.0
        verdict = joined(
            "A query for one value reads ",
            element("b", f"{one.files_per_value:.1f} of {counted(files, 'file')}"),
            f" and skips {share_text(skipped, 1)}.",
        )
    if one.files < files:
        verdict = joined(verdict, f" {counted(files - one.files, 'file has', 'files have')} no bounds.")
    picture = ranges(one.bars, about) if len(one.bars) <= MOST_BARS else depths(_depths(one.bars, 160), about)
    return element(
        "figure",
        element("figcaption", element("strong", one.name), element("span", one.type, class_="last")),
        picture,
        element(
            "div", element("span", _short(one.minimum)), element("span", _short(one.maximum)), class_="axis"
        ),
        element("p", verdict, class_="verdict"),
        class_="range-card",
    )


def _depths(bars: Sequence[tuple[float, float]], places: int) -> list[int]:
    """The number of bars over each of some equal intervals."""
    change = [0] * (places + 1)
    for low, high in bars:
        start = min(int(low * places), places - 1)
        end = max(start, min(int(high * places), places - 1))
        change[start] += 1
        change[end + 1] -= 1
    found, depth = [], 0
    for one in change[:places]:
        depth += one
        found.append(depth)
    return found


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _growth(history: Versions) -> Section:
    versions = history.versions
    if len(versions) < 2:
        return Section("versions", "Versions", "", nothing("The table has one version so far."))
    labels = [f"{one.version}" for one in versions]
    plots = [
        steps(Series("Rows", [one.rows for one in versions], lambda n: f"{n:,.0f}"), labels),
        steps(Series("Size", [one.bytes for one in versions], bytes_text), labels),
        steps(Series("Files", [one.files for one in versions], lambda n: f"{n:,.0f}"), labels),
    ]
    totals = {
        layout.number: max(one.layouts.get(layout.number, 0) for one in versions)
        for layout in history.layouts
    }
    largest = sorted(history.layouts, key=lambda one: -totals[one.number])[: STACKED - 1]
    layers: list[tuple[str, Sequence[float]]] = [
        (_layout_name(layout), [one.layouts.get(layout.number, 0) for one in versions])
        for layout in sorted(largest, key=lambda one: one.number)
    ]
    rest = {layout.number for layout in history.layouts} - {layout.number for layout in largest}
    if rest:
        values = [sum(one.layouts.get(number, 0) for number in rest) for one in versions]
        layers.append((counted(len(rest), "other layout"), values))
    if layers:
        plots.append(stacked("Files by layout", layers, labels))
    first, last = versions[0], versions[-1]
    lead = (
        f"From version {first.version} ({first.timestamp:%Y-%m-%d %H:%M} UTC) to version {last.version} "
        f"({last.timestamp:%Y-%m-%d %H:%M} UTC)."
    )
    return Section("versions", "Growth and layouts over versions", lead, cards(plots))


def _layout_name(layout: LayoutFacts) -> str:
    if not layout.known:
        return f"not recorded in the log, since version {layout.since}"
    return f"{counted(layout.typed_paths, 'typed path')}, since version {layout.since}"


def _drift(drift: Drift) -> Section:
    by_version: dict[int, list[Change]] = {}
    for one in drift.changes:
        by_version.setdefault(one.version, []).append(one)
    rows = [
        (
            version,
            f"{changes[0].timestamp:%Y-%m-%d %H:%M}",
            changes[0].operation,
            *(
                _named([f"{one.path}: {types_text(one)}" for one in changes if one.kind == kind])
                for kind in ("appeared", "changed", "vanished")
            ),
        )
        for version, changes in sorted(by_version.items(), reverse=True)
    ]
    if not rows:
        quiet = "No path appeared, vanished or changed type."
        return Section("drift", "Drift", "", nothing(quiet))
    lead = "Versions in which paths appeared, changed type, or were seen for the last time, as the log tells."
    titles = ["Version", "Time (UTC)", "Operation", "New paths", "Other type", "Last seen"]
    return Section("drift", "Drift", lead, table(titles, rows, numbers=(0,)))


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - NAMED:,} more" if len(paths) > NAMED else ""
    return ", ".join(paths[:NAMED]) + more


def _rejects(report: TableReport) -> Section:
    if report.rejects_table is None:
        return Section("rejects", "Rejects", "", nothing("The table has no rejects table."))
    if not report.rejects:
        return Section("rejects", "Rejects", "", nothing("No document was refused."))
    rows = [
        (
            f"{one.count:,}",
            one.reason,
            "" if one.file is None else f"{one.file.rsplit('/', 1)[-1]}, line {one.line or 'unknown'}",
            element("code", one.raw, class_="raw"),
        )
        for one in report.rejects
    ]
    lead = f"Documents that were refused, by reason, with the first of each. From {report.rejects_table}."
    body = table(["Documents", "Reason", "First in", "Begins with"], rows, numbers=(0,))
    return Section("rejects", "Rejects", lead, body)
