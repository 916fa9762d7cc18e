"""The page of a Parquet file; its treemap and its tree of paths are also parts of a table's page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shredlake.formatting import bytes_text, counted, share_text
from shredlake.html.markup import joined
from shredlake.html.page import Page, Section, legend
from shredlake.html.table import nothing, table
from shredlake.html.tree import Cell, Column, Row, tree
from shredlake.html.treemap import Area, treemap
from shredlake.variant.path import Path

if TYPE_CHECKING:
    import pyarrow as pa

    from shredlake.parquet.inspect.inspect import ColumnReport, FileReport, PathReport

PARTS: Final = (("typed", "typed"), ("residual", "not typed"), ("null", "null"), ("missing", "missing"))
"""The parts of the fill bar: the count in a report, which is also the class of its colour, and a meaning."""

KINDS: Final = (
    ("text", "text", ("string",)),
    ("numbers", "numbers", ("bigint", "int", "smallint", "tinyint", "double", "float", "decimal")),
    ("time", "dates and times", ("timestamp", "timestamp_ntz", "date", "time")),
    ("boolean", "booleans", ("boolean",)),
    ("bytes", "bytes", ("binary", "uuid")),
    ("mixed", "not typed", ("variant", "object", "array")),
)
"""Colours of types: the class, the meaning, and the types as they begin in DDL."""

OTHER_KINDS: Final = (("other", "metadata"), ("plain", "other columns"))

COLUMNS: Final = (
    Column("Type", "left", 12),
    Column("Bytes", "right", 8, "Bytes in the files, this path alone"),
    Column("Share", "right", 6, "Of all bytes"),
    Column("Values", "right", 9, "Places that have a value"),
    Column("Mixed", "right", 6, "Of the values, how many are not of the type"),
    Column("Files", "right", 6, "Files that have the path"),
    Column("Minimum", "left", 14),
    Column("Maximum", "left", 14),
)

LONGEST = 80
"""Number of characters of a bound that are shown."""


def kind_of(type_: str) -> str:
    """The class of a type's colour.

    >>> kind_of("decimal(5,1)"), kind_of("timestamp_ntz"), kind_of("object")
    ('numbers', 'time', 'mixed')
    """
    word = type_.partition("(")[0].partition(",")[0].split(" ")[0]
    return next((kind for kind, _, names in KINDS if word in names), "other")


def file_page(report: FileReport) -> str:
    """The page of one file."""
    figures = [
        (f"{report.rows:,}", "row" if report.rows == 1 else "rows"),
        (bytes_text(report.bytes), "size"),
        (f"{report.row_groups:,}", "row group" if report.row_groups == 1 else "row groups"),
        (f"{sum(1 for _ in _paths(report.variants)):,}", "paths"),
    ]
    sections = [*path_sections(report.variants, report.others), _columns(report)]
    return Page(
        report.path.rsplit("/", 1)[-1] or report.path,
        report.path,
        figures,
        sections,
        footer=f"Written by {report.created_by or 'an unknown writer'}.",
    ).html()


def _columns(report: FileReport) -> Section:
    rows: list[Sequence[object]] = [
        (
            column.name,
            "shredded" if column.shredding else "not shredded",
            counted(column.variants, "Variant"),
            f"{column.nulls:,} NULL",
            bytes_text(column.bytes),
        )
        for column in report.variants
    ]
    rows += [(name, "plain column", "", "", bytes_text(size)) for name, size in report.others.items()]
    body = table(["Column", "Layout", "Values", "Nulls", "Bytes"], rows, numbers=(4,))
    return Section("columns", "Columns", "", body)


def path_sections(columns: Sequence[ColumnReport], others: Mapping[str, int]) -> list[Section]:
    """The treemap of bytes, and the tree of paths."""
    rows = list(_rows(columns))
    place = {row.name: number for number, row in enumerate(rows)}
    areas = [_column_area(column, place) for column in columns]
    areas += [Area(name, size, "plain") for name, size in others.items()]
    if not any(area.size for area in areas):
        return [Section("bytes", "Bytes by path", "", nothing("There are no rows yet."))]
    meanings = [(kind, meaning) for kind, meaning, _ in KINDS] + list(OTHER_KINDS)
    picture = joined(treemap(areas, "Bytes by path"), legend(meanings))
    found = [
        Section(
            "bytes", "Bytes by path",
            "Each area is as large as the bytes of its path. Choose one to find it in the list below.",
            picture,
        )
    ]  # fmt: skip
    if rows:
        found.append(
            Section(
                "paths", "Paths",
                "Press / to search. Arrow keys move, right and left open and close a branch, a column's "
                "title sorts.",
                joined(tree(COLUMNS, rows, PARTS), legend(PARTS)),
            )
        )  # fmt: skip
    return found


def _paths(columns: Sequence[ColumnReport]) -> Iterator[PathReport]:
    for column in columns:
        yield from column.root.walk()


def _rows(columns: Sequence[ColumnReport]) -> Iterator[Row]:
    number = 0
    for column in columns:
        # Parents come first, so the number of a parent is known when its children are reached.
        waiting: list[tuple[PathReport, int | None, str, str]] = [
            (column.root, None, column.name, column.name)
        ]
        while waiting:
            path, parent, label, name = waiting.pop()
            yield _row(path, label, name, parent)
            below = [(child, number, *_names(path, child, name)) for child in path.children]
            waiting.extend(reversed(below))
            number += 1


def _names(parent: PathReport, child: PathReport, name: str) -> tuple[str, str]:
    """The last step of a child's path, and the whole path, as a query writes them: `id` and `v:user.id`."""
    step = child.path.removeprefix(parent.path)
    if step != "[*]":
        step = str(Path.parse(f"${step}")).removeprefix("$")
    label = step.removeprefix(".")
    return label, f"{name}:{label}" if parent.path == "$" else name + step


def _row(path: PathReport, label: str, name: str, parent: int | None) -> Row:
    places = path.places or 1
    values = path.typed + path.residual + path.null
    known = path.typed + path.residual
    mixed = path.residual / known if known else None
    scalar = path.type not in ("object", "array", "variant")
    cells: tuple[Cell, ...] = (
        (path.type, path.type),
        (path.bytes, bytes_text(path.bytes)),
        (path.file_share, share_text(path.file_share, 1)),
        (values, f"{values:,}"),
        (mixed, "" if mixed is None else share_text(path.residual, known)),
        (path.files, f"{path.files:,}"),
        _bound(path.minimum),
        _bound(path.maximum),
    )
    one_value = parent is not None and "[*]" not in name and ", " not in path.type
    query = f"{name}::{path.type}" if scalar and one_value else ""
    return Row(label, name, parent, tuple(getattr(path, part) / places for part, _ in PARTS), cells, query)


def _bound(bound: pa.Scalar | None) -> Cell:
    if bound is None:
        return None, ""
    value, text = bound.as_py(), str(bound)
    key = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else text[:LONGEST]
    return key, text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _column_area(column: ColumnReport, place: Mapping[str, int]) -> Area:
    def area(path: PathReport, label: str, name: str) -> Area:
        row = place.get(name)
        if not path.children:
            return Area(label, path.bytes, kind_of(path.type), row)
        parts = tuple(area(child, *_names(path, child, name)) for child in path.children)
        rest = Area("not typed", path.bytes, "mixed", row)
        whole = rest.size + sum(part.size for part in parts)
        return Area(label, whole, "other", row, (*parts, rest))

    root = area(column.root, column.name, column.name)
    metadata = Area("metadata", column.metadata_bytes, "other")
    parts = (*(root.parts or (root,)), metadata)
    return Area(column.name, root.size + metadata.size, "other", root.row, parts)
