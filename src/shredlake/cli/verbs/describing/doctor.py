"""`shredlake doctor`: which engines can read a table or file; without an argument, the environment."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import typer
from rich.table import Table as Grid
from rich.text import Text

from shredlake.cli.failures import FAILED
from shredlake.cli.grids import paragraph
from shredlake.cli.messages import say
from shredlake.cli.options import JSON, STORAGE, storage_options
from shredlake.cli.terminal import cells, screen, shown

if TYPE_CHECKING:
    from shredlake.diagnosis.doctor import Diagnosis
    from shredlake.diagnosis.environment import Check

WIDE: Final = 140
"""Terminals that are narrower get paragraphs instead of a table."""

STYLES = {"yes": "green", "partly": "yellow", "no": "red", "unknown": "bright_black"}


def examine(
    address: str | None = typer.Argument(
        None, help="A Delta table or a Parquet file (default: this environment)."
    ),
    run_engines: bool = typer.Option(
        True, "--run-engines/--rules-only", help="Let installed engines read a row."
    ),
    store: str | None = typer.Option(
        None, "--store", metavar="URL", help="Also check that this folder or bucket can be listed."
    ),
    run_spark: bool = typer.Option(
        False, "--spark", help="Let Spark read a row too; it takes seconds to start."
    ),
    storage: list[str] = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Show which engines can read a table or file, and why not; or check this environment.

    The exit code is 1 if a needed library is missing or too old, or if the store can't be listed.
    """
    from shredlake.diagnosis.doctor import doctor
    from shredlake.diagnosis.environment import examine_environment

    if address is None:
        checks = examine_environment(store, storage_options(storage))
        if as_json:
            say(json.dumps([asdict(check) for check in checks], ensure_ascii=False))
        else:
            _environment(checks)
        if any(check.needed and not check.good for check in checks):
            raise typer.Exit(FAILED)
        return
    diagnosis = doctor(
        address, run_engines=run_engines, run_spark=run_spark, storage_options=storage_options(storage)
    )
    if as_json:
        say(json.dumps(asdict(diagnosis), ensure_ascii=False))
    else:
        _engines(diagnosis)


def _environment(checks: list[Check]) -> None:
    console = screen(width=200)
    grid = Grid(box=None, pad_edge=False, padding=(0, 2))
    for name in ("", "", "found", "what to do"):
        grid.add_column(name, overflow="fold")
    for check in checks:
        mark = _mark(check)
        advice = "" if check.good else check.advice
        if console.width < WIDE:
            paragraph(console, mark.append(shown(f"  {check.name}: {check.found}", "default")), advice)
        else:
            grid.add_row(mark, *cells((check.name, check.found, advice)))
    if grid.rows:
        console.print(grid)


def _mark(check: Check) -> Text:
    if check.good:
        return Text("ok", "green")
    return Text("no", "red") if check.needed else Text("--", "yellow")


def _engines(diagnosis: Diagnosis) -> None:
    console = screen(width=200)
    needs = ", ".join(diagnosis.needs) or "nothing special"
    console.print(shown(diagnosis.address, "bold").append(f"  needs {needs}", "not bold"))
    grid = Grid(box=None, pad_edge=False, padding=(0, 2))
    for name in ("engine", "version", "reads it", "known", "why", "what to do"):
        grid.add_column(name, overflow="fold")
    for one in diagnosis.engines:
        verdict = Text(one.verdict, STYLES[one.verdict])
        known = "tried here" if one.checked else "rule"
        if console.width < WIDE:
            heading = shown(f"{one.engine} {one.version}: ").append(verdict).append(f" ({known})")
            paragraph(console, heading, one.why, one.fix)
        else:
            grid.add_row(*cells((one.engine, one.version, verdict, known, one.why, one.fix)))
    if grid.rows:
        console.print(grid)
