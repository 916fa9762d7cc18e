"""`shredlake stats`: draws the ranges of values of a table's files, to show where they overlap.

```
v:event_ts  bigint   4 of 4 files   10 .. 99   1.0 files per value
████████████████████▏                        one bar per file, from its minimum to its maximum
                     ████████████████████
```
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from shredlake.cli.inputs import open_table
from shredlake.cli.messages import say
from shredlake.cli.options import STORAGE, TABLE, TIMESTAMP, VERSION
from shredlake.cli.terminal import screen, shown
from shredlake.errors import InvalidExpression
from shredlake.formatting import counted, escaped

if TYPE_CHECKING:
    from shredlake.delta.stats.ranges import Ranges

WIDTH = 64
MAX_BARS = 12
HEIGHTS = " ▁▂▃▄▅▆▇█"


def stats(
    table: str = TABLE,
    path: str = typer.Option(
        "", "--path", metavar="PATH", help="Show only this column or path, e.g. v:user.id."
    ),
    bars: int = typer.Option(
        MAX_BARS,
        "--bars",
        min=1,
        help="Maximum number of bars per path; more files are combined into one histogram line.",
    ),
    version: int | None = VERSION,
    timestamp: str | None = TIMESTAMP,
    storage: list[str] = STORAGE,
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per column and path."),
) -> None:
    """Show which ranges of values the files of a Delta table cover, per column and path."""
    from shredlake.delta.stats.ranges import ranges

    found = list(ranges(open_table(table, version, timestamp, storage).snapshot))
    if path:
        known = sorted({item.name for item in found})
        found = [item for item in found if item.name == path]
        if not found:
            raise InvalidExpression(
                f"{path!r} has no statistics; statistics exist for: {', '.join(known) or 'none'}"
            )
    if as_json:
        for item in found:
            say(json.dumps(described(item), ensure_ascii=False, default=str))
        return
    console = screen()
    if not found:
        console.print("The files of this table have no statistics.")
    for item in found:
        console.print(heading(item))
        for line in picture(item, bars, min(WIDTH, console.width)):
            console.print(Text(line, style="green"))


def described(item: Ranges) -> dict[str, Any]:
    """The facts of one column or path, for JSON."""
    from shredlake.expr import from_arrow

    low, high = item.overall()
    return {
        "name": item.name,
        "type": from_arrow(item.type).name,
        "files": item.files,
        "with_bounds": item.bounded,
        "minimum": low,
        "maximum": high,
        "files_per_value": round(item.mean_depth(), 3),
        "depths": item.depths(WIDTH).tolist(),
    }


def heading(item: Ranges) -> Text:
    """The line above the picture: name, type, files, bounds."""
    from shredlake.expr import from_arrow

    low, high = item.overall()
    text = shown(item.name, "bold cyan")
    text.append(f"  {from_arrow(item.type).name}", style="cyan")
    text.append(
        f"  {item.bounded:,} of {counted(item.files, 'file')}  {_short(low)} .. {_short(high)}",
        style="default",
    )
    text.append(f"  {item.mean_depth():.1f} files per value", style="yellow")
    return text


def _short(value: Any) -> str:
    text = escaped(str(value))
    return text if len(text) <= 32 else text[:31] + "…"


def picture(item: Ranges, bars: int, width: int = WIDTH) -> list[str]:
    """One bar per file, or for many files a histogram of how many cover each part of the range."""
    if item.bounded > bars:
        return [histogram(item, width), f"up to {item.depths(width).max():,} files cover the same value"]
    lines = []
    for low, high in zip(*item.positions(), strict=True):
        start = min(int(low * width), width - 1)
        end = max(start + 1, round(high * width))
        lines.append(" " * start + "█" * (end - start))
    return lines


def histogram(item: Ranges, width: int) -> str:
    """A histogram line: the higher the block, the more files overlap."""
    depths = item.depths(width)
    top = max(int(depths.max()), 1)
    return "".join(HEIGHTS[-(-int(depth) * (len(HEIGHTS) - 1) // top)] for depth in depths)
