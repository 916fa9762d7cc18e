"""Draws the plots of docs/benchmarks.md from the tables on that page, so that both always agree.

    python benchmarks/plots.py

Each row of a plot is a query, each dot an engine, on a logarithmic scale of time. A plot follows the reader's
light or dark theme.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"

ROW = 24
LEFT, RIGHT, BOTTOM = 200, 30, 44
WIDTH = 820

STYLE = """
    :root { --page: #fff; --ink: #1d2b3a; --soft: #5b6672; --grid: #e3e7ec; --span: #d3dae2;
            --dot0: #0b62c4; --dot1: #2e8b57; --dot2: #d9822b; --dot3: #9558b2;
            --dot4: #b23a48; --dot5: #5aa7c7; }
    @media (prefers-color-scheme: dark) {
      :root { --page: #0d1117; --ink: #e6edf3; --soft: #9da7b3; --grid: #21282f; --span: #39424b;
              --dot0: #6cb0ff; --dot1: #63c08a; --dot2: #f0a868; --dot3: #c698dd;
              --dot4: #e8808c; --dot5: #9fd3ea; }
    }
    text { fill: var(--ink) } .soft { fill: var(--soft) } .grid { stroke: var(--grid) }
    .span { stroke: var(--span); stroke-width: 3 }
  """


@dataclass(frozen=True)
class Plot:
    """Seconds per query and engine. Our own engine comes first."""

    title: str
    engines: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]

    def svg(self) -> str:
        """The plot as a file.

        >>> Plot("Times", ("a", "b"), (("q1", (0.1, 1.0)),)).svg().count("<circle")
        4
        """
        height = round(self._top() + ROW * len(self.rows) + BOTTOM)
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
                'font-family="system-ui, sans-serif" font-size="13">',
                f"  <title>{escape(self.title)}</title>",
                f"  <style>{STYLE}</style>",
                f'  <rect width="{WIDTH}" height="{height}" rx="8" fill="var(--page)"/>',
                f'  <text x="16" y="26" font-size="15" font-weight="600">{escape(self.title)}</text>',
                *self._legend(),
                *self._scale(height),
                *(line for n, row in enumerate(self.rows) for line in self._row(n, *row)),
                "</svg>\n",
            ]
        )

    def _places(self) -> list[tuple[float, float]]:
        """Where each engine is named, in lines of the plot's width."""
        found, x, y = [], 21.0, 45.0
        for name in self.engines:
            width = 34 + 7.2 * len(name)
            if x + width > WIDTH:
                x, y = 21.0, y + 22
            found.append((x, y))
            x += width
        return found

    def _top(self) -> float:
        return self._places()[-1][1] + 21

    def _legend(self) -> Iterator[str]:
        for n, (name, (x, y)) in enumerate(zip(self.engines, self._places(), strict=True)):
            yield f'  <circle cx="{x:.0f}" cy="{y:.0f}" r="5" fill="var(--dot{n})"/>'
            yield f'  <text x="{x + 10:.0f}" y="{y + 4.5:.1f}">{escape(name)}</text>'

    def _scale(self, height: int) -> Iterator[str]:
        for mark in _marks(*self._ends()):
            x = self._x(mark)
            yield f'  <path class="grid" d="M{x:.1f} {self._top():.0f}V{height - BOTTOM}"/>'
            yield (
                f'  <text class="soft" x="{x:.1f}" y="{height - BOTTOM + 18}" '
                f'text-anchor="middle">{_time(mark)}</text>'
            )
        yield (
            f'  <text class="soft" x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{height - 8}" '
            'text-anchor="middle" font-size="12">'
            "time per query, on a logarithmic scale; left is faster</text>"
        )

    def _row(self, number: int, name: str, times: Sequence[float]) -> Iterator[str]:
        y = self._top() + ROW * (number + 0.5)
        places = [self._x(seconds) for seconds in times]
        yield f'  <text x="{LEFT - 18}" y="{y + 4.5:.1f}" text-anchor="end">{escape(name)}</text>'
        yield f'  <path class="span" d="M{min(places):.1f} {y:.1f}H{max(places):.1f}"/>'
        for engine in reversed(range(len(places))):  # ours is drawn last, above all others
            about = f"{self.engines[engine]}: {_time(times[engine])}"
            size = 6.5 if engine == 0 else 5
            yield (
                f'  <circle cx="{places[engine]:.1f}" cy="{y:.1f}" r="{size}" fill="var(--dot{engine})">'
                f"<title>{escape(about)}</title></circle>"
            )

    def _ends(self) -> tuple[float, float]:
        known = [seconds for _, times in self.rows for seconds in times]
        return min(known) * 0.85, max(known) * 1.15

    def _x(self, seconds: float) -> float:
        low, high = map(math.log, self._ends())
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log(seconds) - low) / (high - low)


def _marks(low: float, high: float) -> list[float]:
    """The powers of ten in a range, and their halves where that leaves less than four."""
    powers = [10.0**n for n in range(-4, 5)]
    found = [mark for mark in powers if low <= mark <= high]
    return found if len(found) > 3 else sorted(m for p in powers for m in (p, 3 * p) if low <= m <= high)


def _time(seconds: float) -> str:
    """A time as it is read: 26 ms, 0.44 s, 70 s.

    >>> [_time(seconds) for seconds in (0.0264, 0.44, 0.1, 1, 70.4)]
    ['26 ms', '0.44 s', '0.1 s', '1 s', '70 s']
    """
    return f"{1000 * seconds:.0f} ms" if seconds < 0.0995 else f"{float(f'{seconds:.2g}'):g} s"


def table_below(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    section = page.partition(f"\n### {heading}")[2]
    table = re.search(r"\n((?:\|.*\n)+)", section)
    if table is None:
        raise ValueError(f"docs/benchmarks.md has no table below {heading!r}")
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()[2:]]


def number(cell: str) -> float:
    """The first number of a cell: `74.8x`, `**1.02** (target: 1.0)`, `70,402`."""
    found = re.search(r"\d[\d,]*\.?\d*", cell)
    if found is None:
        raise ValueError(f"{cell!r} has no number")
    return float(found[0].replace(",", ""))


def queries(page: str) -> Plot:
    """Queries on Spark: the page has our seconds, and ratios to them."""
    rows = []
    for name, ours, relational, native, delta, _ in table_below(page, "Queries: `make bench-query`"):
        seconds = number(ours)
        times = (seconds, seconds / number(relational), seconds * number(native), seconds * number(delta))
        rows.append((name.rstrip(" *"), times))
    peers = ("relational columns", "Spark's variant_get, same files", "delta-spark, same table")
    return Plot(f"{len(rows)} queries of JSON on Spark, two cores", ("shredlake", *peers), tuple(rows))


def jsonbench(page: str) -> Plot:
    """JSONBench without Spark: the page has milliseconds."""
    table = table_below(page, "SQL without Spark: `make bench-jsonbench`")
    times = [[number(cell) / 1000 for cell in line[1:6]] for line in table]
    rows = tuple((f"q{n + 1}", engine_times) for n, engine_times in enumerate(zip(*times, strict=True)))
    return Plot("JSONBench, 10 million documents, two threads", tuple(line[0] for line in table), rows)


PLOTS = {"query-benchmark.svg": queries, "jsonbench.svg": jsonbench}


def main() -> None:
    page = (DOCS / "benchmarks.md").read_text("utf-8")
    for name, draw in PLOTS.items():
        (DOCS / name).write_text(draw(page).svg(), "utf-8")


if __name__ == "__main__":
    main()
