"""A treemap: nested areas in proportion to sizes.

The layout is "squarified": rows of cells are filled as long as their worst aspect ratio improves.

```
┌──────────┬─────┐
│          │  b  │
│    a     ├──┬──┤
│          │c │d │
└──────────┴──┴──┘
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shredlake.formatting import bytes_text
from shredlake.html.markup import Markup, element

ASPECT = 2.4
"""Width of the map, relative to its height."""

MOST_CELLS = 400
SMALLEST = 0.0004
"""Cells below this share of the map are drawn as one."""
GROUPED = 0.02
"""Groups below this share of the map are drawn as one cell."""


@dataclass(frozen=True)
class Area:
    """A part of the map: a cell, or a group of areas."""

    label: str
    size: int
    kind: str
    """The class of its colour."""
    row: int | None = None
    """The row of the page's tree that the area belongs to."""
    parts: tuple[Area, ...] = ()


Rectangle = tuple[float, float, float, float]
"""Left, top, width and height."""


def squarified(sizes: Sequence[float], width: float, height: float) -> list[Rectangle]:
    """Divides a rectangle in proportion to sizes, which are in descending order and positive.

    >>> squarified([2, 1, 1], 4, 2)
    [(0.0, 0.0, 2.0, 2.0), (2.0, 0.0, 2.0, 1.0), (2.0, 1.0, 2.0, 1.0)]
    """
    found: list[Rectangle] = []
    scale = width * height / total if (total := float(sum(sizes))) else 0.0
    areas = [size * scale for size in sizes]
    left = top = 0.0
    while areas:
        side = min(width, height)
        count = 1
        while count < len(areas) and _worst(areas[: count + 1], side) <= _worst(areas[:count], side):
            count += 1
        row, areas = areas[:count], areas[count:]
        # What is left of the map has lost digits: without the bound, the last row could leave the map.
        depth = min(sum(row) / side, max(width, height)) if side else 0.0
        offset = 0.0
        for area in row:
            length = area / depth if depth else 0.0
            if width >= height:
                found.append((left, top + offset, depth, length))
            else:
                found.append((left + offset, top, length, depth))
            offset += length
        if width >= height:
            left, width = left + depth, max(width - depth, 0.0)
        else:
            top, height = top + depth, max(height - depth, 0.0)
    return found


def _worst(row: Sequence[float], side: float) -> float:
    """The worst aspect ratio of cells in a row along a side."""
    total = sum(row)
    if not total or not side:
        return 0.0
    return max(side * side * max(row) / (total * total), total * total / (side * side * min(row)))


def treemap(areas: Sequence[Area], label: str) -> Markup:
    """The map of some areas. It is one stop of the tab key; arrow keys move from cell to cell."""
    total = sum(area.size for area in areas)
    cells = Markup("".join(_areas(areas, total or 1, ASPECT, 1.0)))
    return element("div", cells, class_="treemap", role="group", aria_label=label)


def _areas(
    areas: Sequence[Area], total: int, width: float, height: float, within: str = ""
) -> Iterator[Markup]:
    """The cells of some areas; `within` names the groups around them, which a screen reader does not see."""
    kept = _merged(sorted((one for one in areas if one.size > 0), key=lambda one: -one.size), total)
    for area, (x, y, w, h) in zip(kept, squarified([one.size for one in kept], width, height), strict=True):
        place = (
            f"left:{100 * x / width:.3f}%;top:{100 * y / height:.3f}%;"
            f"width:{100 * w / width:.3f}%;height:{100 * h / height:.3f}%"
        )
        share = area.size / total
        about = f"{within}{area.label}: {bytes_text(area.size)}, {share:.1%}"
        if area.parts and share >= GROUPED:
            inside = element(
                "div", *_areas(area.parts, total, w, h, f"{within}{area.label} › "), class_="inside"
            )
            title = element("span", area.label, class_="group-label")
            yield element("div", title, inside, class_="group", style=place, title=about)
        else:
            yield element(
                "div",
                element("span", area.label, class_="label"),
                element("span", bytes_text(area.size), class_="size"),
                class_=f"cell {_kind(area)}",
                style=place,
                title=about,
                role="button" if area.row is not None else "img",
                aria_label=about,
                data_row=area.row,
                tabindex="-1",
            )


def _kind(area: Area) -> str:
    """The kind of an area; that of the largest part for a group."""
    return _kind(max(area.parts, key=lambda part: part.size)) if area.parts else area.kind


def _merged(areas: list[Area], total: int) -> list[Area]:
    """Replaces the areas that are too small to be seen with one."""
    most = MOST_CELLS if len(areas) > MOST_CELLS else len(areas)
    seen = [area for area in areas[:most] if area.size >= SMALLEST * total]
    rest = areas[len(seen) :]
    if len(rest) < 2:
        return areas
    return sorted(
        [*seen, Area(f"{len(rest):,} more", sum(area.size for area in rest), "other")],
        key=lambda one: -one.size,
    )
