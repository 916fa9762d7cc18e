"""A progress bar over rows or files, on stderr; it disappears at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from shredlake.cli.terminal import screen
from shredlake.formatting import counted, escaped


@contextmanager
def rows_progress(
    what: str, *, unit: str = "row", quiet: bool = False
) -> Iterator[Callable[[int, int], None]]:
    """Yields a function to call with the number done and the total; silent unless stderr is a terminal."""
    console = screen(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task(escaped(what), total=None, count="")  # the total is not known yet

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, count=f"{done:,} of {counted(total, unit)}")

        yield show
