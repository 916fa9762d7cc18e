"""Plots as SVG: steps over versions, stacked steps, and ranges of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shredlake.html.markup import Markup, element

WIDTH, HEIGHT = 320.0, 120.0
"""The size of a plot in its own units; on the page it is as wide as its place."""

STACKED = 8
"""Number of colours for stacked layers."""


@dataclass(frozen=True)
class Series:
    """Values over versions; None where a value is unknown."""

    title: str
    values: Sequence[float | None]
    shown: Callable[[float], str]


def steps(series: Series, labels: Sequence[str]) -> Markup:
    """A plot of one series as steps, one per label."""
    known = [value for value in series.values if value is not None]
    top = max(known, default=0) or 1
    wide = WIDTH / max(len(series.values), 1)
    line: list[str] = []
    pen = "M"
    for place, value in enumerate(series.values):
        if value is None:
            pen = "M"
            continue
        y = _y(value, top)
        line.append(f"{pen}{place * wide:.1f},{y:.1f}L{(place + 1) * wide:.1f},{y:.1f}")
        pen = "L"
    path = "".join(line)
    whole = len(known) == len(series.values) and bool(known)
    area = f"{path}L{WIDTH},{HEIGHT}L0,{HEIGHT}Z" if whole else ""
    last = series.shown(known[-1]) if known else "unknown"
    first = series.shown(known[0]) if known else "unknown"
    about = (
        f"{series.title}: {first} at version {labels[0]}, {last} at version {labels[-1]}" if labels else ""
    )
    drawing = _svg(
        about,
        element("path", d=area, class_="area") if area else "",
        element("path", d=path, class_="line"),
        _spots(labels, [series.shown(v) if v is not None else "unknown" for v in series.values]),
    )
    return element(
        "figure",
        element("figcaption", element("strong", series.title), element("span", last, class_="last")),
        drawing,
        _axis(labels, series.shown(top)),
        class_="plot",
    )


def stacked(title: str, layers: Sequence[tuple[str, Sequence[float]]], labels: Sequence[str]) -> Markup:
    """Layers of values on top of each other, each with its name."""
    places = len(labels)
    totals = [sum(values[place] for _, values in layers) for place in range(places)]
    top = max(totals, default=0) or 1
    wide = WIDTH / max(places, 1)
    bars = []
    below = [0.0] * places
    for number, (name, values) in enumerate(layers):
        for start, end in _runs(values, below):
            value = values[start]
            if value:
                high, low = _y(below[start] + value, top), _y(below[start], top)
                about = f"{name}: {value:,.0f} from version {labels[start]} to {labels[end - 1]}"
                place = element(
                    "g",
                    element("title", about),
                    element(
                        "rect", x=f"{start * wide:.2f}", y=f"{high:.2f}", width=f"{(end - start) * wide:.2f}",
                        height=f"{low - high:.2f}", class_=f"layer{number % STACKED}",
                    ),
                )  # fmt: skip
                bars.append(place)
        below = [base + value for base, value in zip(below, values, strict=True)]
    names = [
        element("li", element("span", class_=f"swatch layer{n % STACKED}"), name)
        for n, (name, _) in enumerate(layers)
    ]
    return element(
        "figure",
        element("figcaption", element("strong", title)),
        _svg(title, *bars),
        _axis(labels, f"{top:,.0f}"),
        element("ul", *names, class_="legend"),
        class_="plot wide",
    )


def _runs(values: Sequence[float], below: Sequence[float]) -> list[tuple[int, int]]:
    """Places that look the same, as pairs of start and end."""
    found: list[tuple[int, int]] = []
    start = 0
    for place in range(1, len(values) + 1):
        if place == len(values) or (values[place], below[place]) != (values[start], below[start]):
            found.append((start, place))
            start = place
    return found


def ranges(bars: Sequence[tuple[float, float]], about: str) -> Markup:
    """One bar per file, from its minimum to its maximum, both between 0 and 1."""
    tall = HEIGHT / max(len(bars), 1)
    drawn = [
        element(
            "rect",
            x=f"{low * WIDTH:.2f}",
            y=f"{n * tall:.2f}",
            width=f"{max((high - low) * WIDTH, 1.5):.2f}",
            height=f"{max(tall * 0.8, 0.3):.2f}",
            class_="range",
        )
        for n, (low, high) in enumerate(bars)
    ]
    return _svg(about, *drawn)


def depths(counts: Sequence[int], about: str) -> Markup:
    """How many files cover each part of the range, as a filled curve."""
    top = max(counts, default=0) or 1
    wide = WIDTH / max(len(counts), 1)
    points = [
        f"L{place * wide:.1f},{_y(n, top):.1f}L{(place + 1) * wide:.1f},{_y(n, top):.1f}"
        for place, n in enumerate(counts)
    ]
    path = f"M0,{HEIGHT}{''.join(points)}L{WIDTH},{HEIGHT}Z"
    return _svg(about, element("path", d=path, class_="range"))


def _y(value: float, top: float) -> float:
    return HEIGHT - 2 - (HEIGHT - 6) * value / top


def _svg(about: str, *content: object) -> Markup:
    return element(
        "svg",
        element("title", about),
        *content,
        viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
        preserveAspectRatio="none",
        role="img",
        aria_label=about,
    )


def _spots(labels: Sequence[str], texts: Sequence[str]) -> Markup:
    """Invisible areas that tell the value under the pointer."""
    if len(labels) > 400:
        return Markup("")
    wide = WIDTH / max(len(labels), 1)
    return Markup(
        "".join(
            element(
                "g",
                element("title", f"version {label}: {shown}"),
                element("rect", x=f"{n * wide:.2f}", y=0, width=f"{wide:.2f}", height=HEIGHT, class_="spot"),
            )
            for n, (label, shown) in enumerate(zip(labels, texts, strict=True))
        )
    )


def _axis(labels: Sequence[str], top: str) -> Markup:
    ends = (labels[0], labels[-1]) if labels else ("", "")
    return element(
        "div",
        element("span", f"version {ends[0]}"),
        element("span", f"highest {top}"),
        element("span", ends[1]),
        class_="axis",
    )
