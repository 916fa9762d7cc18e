"""`shredlake check`: a whole table, or every violation of the specification in a file's Variants."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import typer
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from shredlake.cli.inputs import is_table, parquet_file
from shredlake.cli.messages import say
from shredlake.cli.options import STORAGE, storage_options
from shredlake.cli.terminal import screen, shown
from shredlake.delta.check.findings import RULES, TableCheck
from shredlake.formatting import counted
from shredlake.parquet.inspect.rules import ALL_RULES


def check(
    path: str = typer.Argument(help="A table, or a Parquet file: a path, a URL, or - for standard input."),
    quick: bool = typer.Option(False, "--quick", help="For a table: read no rows, only log and footers."),
    repair: bool = typer.Option(
        False, "--repair", help="For a table: rebuild statistics, layout tags and checkpoints."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="With --repair: only show what would be repaired."),
    as_json: bool = typer.Option(
        False, "--json", help="Print JSON: a report for a table, one object per violation for a file."
    ),
    limit: int = typer.Option(100, min=0, help="Maximum number of violations to show; all are counted."),
    storage: list[str] = STORAGE,
) -> None:
    """Check a whole table, or the Variants of a Parquet file; repair what can be rebuilt.

    The exit code is 1 if a rule is broken and not repaired.
    """
    if dry_run and not repair:
        raise typer.BadParameter("--dry-run needs --repair")
    if is_table(path):
        _check_table(
            path, quick=quick, repair=repair, dry_run=dry_run, as_json=as_json, limit=limit, storage=storage
        )
        return
    if quick or repair:
        raise typer.BadParameter(f"--quick and --repair are for tables; {path} is not a folder")
    _check_file(path, as_json, limit, storage)


def _check_table(
    table: str, *, quick: bool, repair: bool, dry_run: bool, as_json: bool, limit: int, storage: list[str]
) -> None:
    from shredlake.cli.progress import rows_progress
    from shredlake.delta.check.check import check_table

    with rows_progress("checking", unit="file", quiet=as_json) as progress:
        report = check_table(
            table,
            quick=quick,
            repair=repair,
            dry_run=dry_run,
            storage_options=storage_options(storage),
            progress=progress,
        )
    if as_json:
        say(json.dumps(report.to_dict(), ensure_ascii=False))
    else:
        _show(report, dry_run, limit)
    if not report.ok:
        raise typer.Exit(1)


def _show(report: TableCheck, dry_run: bool, limit: int) -> None:
    console = screen()
    console.print(shown(report.heading()), soft_wrap=True)
    for finding in report.repaired[:limit]:
        verb = "would be repaired: " if dry_run else "repaired: "
        console.print(Text(verb, "green").append(shown(finding)), soft_wrap=True)
    left = [finding for finding in report.findings if finding not in report.repaired]
    for finding in left[:limit]:
        console.print(shown(finding), soft_wrap=True)
    if report.ok:
        console.print(Text("nothing is wrong", "green"))
        return
    counts = Counter(finding.rule for finding in report.findings)
    _summary(counts, limit, "finding", RULES, console)


def _check_file(path: str, as_json: bool, limit: int, storage: list[str]) -> None:
    from shredlake.cli.progress import rows_progress
    from shredlake.parquet.inspect.check import violations

    console = screen()
    counts: Counter[str] = Counter()
    with parquet_file(path, storage) as (file, store), rows_progress("checking", quiet=as_json) as progress:
        for violation in violations(file, store=store, progress=progress):
            counts[violation.rule] += 1
            if counts.total() > limit:
                continue
            if as_json:
                say(json.dumps(asdict(violation), ensure_ascii=False))
            else:
                console.print(shown(violation), soft_wrap=True)
    if as_json:
        if counts.total() > limit:
            say(f"{limit:,} of {counted(counts.total(), 'violation')}; --limit shows more", err=True)
    else:
        if counts:
            _summary(counts, limit, "violation", ALL_RULES, console)
        else:
            console.print(Text("no violations", "green"))
    if counts:
        raise typer.Exit(1)


def _summary(counts: Counter[str], limit: int, what: str, rules: Mapping[str, Any], console: Console) -> None:
    """How often each rule is broken."""
    if counts.total() > limit:
        console.print(f"... and {counts.total() - limit:,} more")
    total = Text(counted(counts.total(), what), "red")
    console.print(Text("\n").append(total).append(f" of {counted(len(counts), 'rule')}:"))
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", min_width=10)
    grid.add_column(overflow="fold")
    for rule, count in counts.most_common():
        grid.add_row(Text(f"{count:,}"), Text(f"{rule}: {rules[rule].text}"))
    console.print(grid)
