"""`shredlake check`: every violation of the specification in a file's Variants."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict

import typer
from rich.console import Console
from rich.text import Text

from shredlake.cli.inputs import parquet_file
from shredlake.cli.messages import say
from shredlake.cli.progress import rows_progress
from shredlake.cli.terminal import screen, shown
from shredlake.formatting import counted
from shredlake.parquet.inspect.check import violations
from shredlake.parquet.inspect.rules import ALL_RULES


def check_file(
    path: str = typer.Argument(help="A Parquet file: a path, a URL, or - for standard input."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per violation."),
    limit: int = typer.Option(100, min=0, help="Maximum number of violations to show; all are counted."),
) -> None:
    """Check the Variants of a Parquet file against the specification.

    The exit code is 1 if a rule is broken.
    """
    console = screen()
    counts: Counter[str] = Counter()
    with parquet_file(path) as file, rows_progress("checking", quiet=as_json) as progress:
        for violation in violations(file, progress=progress):
            counts[violation.rule] += 1
            if counts.total() > limit:
                continue
            if as_json:
                say(json.dumps(asdict(violation), ensure_ascii=False))
            else:
                console.print(shown(violation), soft_wrap=True)
    if not as_json:
        _summarise(counts, limit, console)
    if counts:
        raise typer.Exit(1)


def _summarise(counts: Counter[str], limit: int, console: Console) -> None:
    if not counts:
        console.print(Text("no violations", "green"))
        return
    if counts.total() > limit:
        console.print(f"... and {counts.total() - limit:,} more")
    total = Text(counted(counts.total(), "violation"), "red")
    console.print(Text("\n").append(total).append(f" of {counted(len(counts), 'rule')}:"))
    for rule, count in counts.most_common():
        console.print(Text(f"{count:>10,}  {rule}: {ALL_RULES[rule].text}"), soft_wrap=True)
