"""Reports of jobs: progress while they run, a summary at the end.

Workers import this module but never print, so `rich`, which takes 0.1 s to import, is imported on use.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shredlake.delta.report.rejects import RejectedFor
from shredlake.formatting import bytes_text, counted, html_text
from shredlake.jobs import meter
from shredlake.jobs.engine import Watch, unwatched

if TYPE_CHECKING:
    from rich.table import Table as Grid


REDRAWN = 0.2
"""Seconds between updates of a progress bar."""

SHOWN_REASONS = 5
"""Number of reasons for rejects that the summary shows."""


@dataclass(frozen=True, kw_only=True)
class IngestReport:
    """The outcome of an ingest. `documents == rows + rejects` is checked before the commit."""

    table: str
    version: int
    documents: int = 0
    rows: int = 0
    rejects: int = 0
    rejects_table: str | None = None
    reasons: tuple[RejectedFor, ...] = ()
    """The rejects by reason, the most frequent first, with the first document of each."""
    files: int = 0
    input_bytes: int = 0
    table_bytes: int = 0
    layout: str | None = None
    typed_share: float | None = None
    """The share of the new files' Variant bytes that are in typed columns; None if nothing was written."""
    seconds: float = 0.0
    already_done: bool = False
    """Whether the same job had been committed before, so that nothing was added."""
    skipped: int = 0
    """The number of files skipped because the table has them: same name, size and content."""
    resumed: int = 0
    """The number of tasks that an interrupted run of the same job had finished; they were not repeated."""
    warnings: tuple[str, ...] = ()
    """Probable mistakes: a sort key or a Bloom filter on a path that no row has."""

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=100, highlight=False, markup=False, emoji=False)
        with console.capture() as captured:
            console.print(self.grid())
        return captured.get().rstrip()

    def _repr_html_(self) -> str:
        return html_text(str(self))

    def grid(self) -> Grid:
        """The summary as a table."""
        from rich.table import Table as Grid

        grid = Grid(show_header=False, box=None, padding=(0, 2))
        if self.already_done:
            grid.add_row("job", f"already committed as part of version {self.version}: nothing to do")
            if self.skipped:
                grid.add_row("files", f"{self.skipped:,} ingested before: same name, size and content")
                grid.add_row("", "give a job id to ingest them again; optimize changes how they are stored")
            return grid
        size, rate = (
            bytes_text(self.table_bytes),
            f"{self.documents / max(self.seconds, 1e-9):,.0f} documents/s",
        )
        if self.input_bytes:
            share = self.table_bytes / self.input_bytes
            size += f" from {bytes_text(self.input_bytes)} of input ({share:.1%})"
            rate = f"{bytes_text(self.input_bytes / max(self.seconds, 1e-9))}/s"
        grid.add_row("table", f"{self.table}  version {self.version}")
        grid.add_row(
            "documents",
            f"{self.documents:,} = {counted(self.rows, 'row')} + {counted(self.rejects, 'reject')}",
        )
        if self.rejects:
            grid.add_row("rejects", str(self.rejects_table))
            for one in self.reasons[:SHOWN_REASONS]:
                grid.add_row("", f"{one.count:,}: {one.reason}")
                where = "" if one.file is None else f"{one.file.rsplit('/', 1)[-1]}, line {one.line}: "
                grid.add_row("", f"   first {where}{one.raw}")
            if len(self.reasons) > SHOWN_REASONS:
                grid.add_row("", counted(len(self.reasons) - SHOWN_REASONS, "more reason"))
        grid.add_row("files", f"{self.files:,}")
        if self.skipped:
            grid.add_row("skipped", f"{counted(self.skipped, 'source file')}, ingested before")
        if self.resumed:
            grid.add_row("resumed", f"{counted(self.resumed, 'task')} of an interrupted run")
        grid.add_row("size", size)
        if self.typed_share is not None:
            grid.add_row("typed", f"{self.typed_share:.1%} of the bytes")
        grid.add_row("time", f"{self.seconds:.1f} s, {rate}")
        grid.add_row("layout", self.layout or "not shredded")
        for warning in self.warnings:
            grid.add_row("warning", warning)
        return grid


@contextmanager
def progress(title: str, tasks: int, total_bytes: int, shown: bool) -> Iterator[Watch]:
    """A progress bar on stderr that follows the bytes read; silent unless `shown`.

    Tasks of this process count their bytes as they read (see `meter`); those of others count when they end.
    """
    if not shown:
        yield unwatched
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    started = time.monotonic()
    total = total_bytes or tasks
    ended = threading.Event()
    finished = 0.0
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[counts]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        line = bar.add_task(title, total=total or None, counts="")
        said: list[str] = []

        def draw() -> None:
            read = max(finished, float(min(meter.bytes_read(), total_bytes)))
            rate = read / max(time.monotonic() - started, 1e-9)
            amount = (
                [f"{bytes_text(read)} of {bytes_text(total)}, {bytes_text(rate)}/s"] if total_bytes else []
            )
            bar.update(line, completed=read, counts=", ".join([*amount, *said]))

        def watch(done: int, rows: int = 0, rejects: int = 0) -> None:
            nonlocal finished
            finished = total * min(done / max(tasks, 1), 1.0)
            said[:] = [counted(n, noun) for n, noun in ((rows, "row"), (rejects, "reject")) if n]
            draw()

        def follow() -> None:
            while not ended.wait(REDRAWN):
                draw()

        with meter.counting():
            follower = threading.Thread(target=follow, name="shredlake-progress", daemon=True)
            follower.start()
            try:
                yield watch
            finally:
                ended.set()
                follower.join()
