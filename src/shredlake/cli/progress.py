"""A progress bar over rows or files, on stderr; it disappears at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from shredlake.cli.terminal import screen
from shredlake.formatting import escaped


@contextmanager
def rows_progress(
    what: str, *, unit: str = "rows", quiet: bool = False
) -> Iterator[Callable[[int, int], None]]:
    """Yields a function to call with the number done and the total; silent unless stderr is a terminal."""
    console = screen(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn(f"{{task.completed:,}} of {{task.total:,}} {unit}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task(escaped(what), total=1)
        yield lambda done, total: bar.update(task, completed=done, total=total)
