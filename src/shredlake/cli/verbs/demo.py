"""`shredlake demo`: generates, ingests and queries events, and times the queries against Spark alone."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Literal

import typer

from shredlake.cli.engines import quiet_session
from shredlake.cli.messages import say
from shredlake.cli.terminal import screen
from shredlake.errors import MissingDependency

EVENTS = 200_000

TUTORIAL = "https://github.com/shredlake/shredlake/blob/main/docs/tutorial.md"

SETTINGS = {"spark.ui.enabled": "false"}
"""Starting the server of the web page takes a second, and the session ends after a few."""


def demo(
    events: int = typer.Option(EVENTS, min=1, help="Number of events to generate."),
    engine: Literal["spark", "local"] = typer.Option(
        "spark", help="spark, or local: threads of this process, without Spark."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the rows and times of the queries as JSON."),
) -> None:
    """Generate events, ingest them, show the layout, and query paths."""
    from shredlake.cli.verbs.demo_data import bluesky, write_lines
    from shredlake.cli.verbs.demo_tour import show_heading, tour
    from shredlake.spark.session import check_java, check_spark

    console = screen(width=100)
    console.quiet = as_json
    started = time.perf_counter()
    try:
        if engine == "spark":
            check_spark()
            check_java()
    except MissingDependency as missing:
        console.print(f"{str(missing).partition(':')[0]}: the demo runs in this process, without Spark.")
        engine = "local"
    with tempfile.TemporaryDirectory(prefix="shredlake-demo-") as folder:
        source, table = str(Path(folder) / "events.ndjson"), str(Path(folder) / "events")
        show_heading(console, f"{events:,} events of a social network, as NDJSON. The first one:")
        with console.status("generating"):
            write_lines(bluesky, source, events)
        console.print(_first_line(source))
        spark = None
        if engine == "spark":
            with console.status("starting Spark"):
                spark = quiet_session(settings=SETTINGS)
        try:
            times = tour(console, spark, source, table)
        finally:
            if spark is not None:
                spark.stop()
    if as_json:
        say(json.dumps({"events": events, "queries": times}))
    console.print(
        f"\nFinished in {time.perf_counter() - started:.0f} s. Next: shredlake --help, and the tutorial at"
    )
    console.print(TUTORIAL, soft_wrap=True)


def _first_line(source: str) -> str:
    with open(source, encoding="utf-8") as file:
        return file.readline().strip()
