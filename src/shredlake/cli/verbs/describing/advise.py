"""`shredlake advise`: recommends what to shred, with reasons, and measures the effect on size."""

from __future__ import annotations

import json
from collections.abc import Iterator

import typer
from rich.table import Table as Grid
from rich.text import Text

from shredlake.cli.inputs import seekable
from shredlake.cli.messages import say
from shredlake.cli.options import not_empty
from shredlake.cli.terminal import cells, screen, shown
from shredlake.formatting import bytes_text, counted, escaped
from shredlake.jobs.advise import Advice, advice_on, open_data
from shredlake.shredding.inference.infer import MAX_LEAVES
from shredlake.shredding.inference.report import Decision, InferredSchema, Outcome

BAR = 12
STYLES = {
    Outcome.TYPED: "green",
    Outcome.OBJECT: "cyan",
    Outcome.ARRAY: "cyan",
    Outcome.VARIANT: "yellow",
    Outcome.LEFT: "bright_black",
}


def advise(
    source: str = typer.Argument(
        help="A Delta table, a Parquet file, a file of JSON documents, or - for standard input."
    ),
    column: str | None = typer.Option(
        None, "--column", "-c", callback=not_empty, help="The column to profile, if there are several."
    ),
    queries: list[str] = typer.Option([], "--query", "-q", help="A path that queries use. Repeatable."),
    max_leaves: int = typer.Option(
        MAX_LEAVES, "--max-leaves", min=1, help="Maximum number of typed columns."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Recommend which paths to shred, with reasons, and measure the effect on size."""
    with seekable([source]) as [found]:
        advice = advice_on(open_data(found, column), queries, max_leaves)
    if as_json:
        facts = {
            "source": source,
            "column": advice.column,
            **advice.schema.to_dict(),
            "sample": advice.sample(),
        }
        say(json.dumps(facts, ensure_ascii=False))
        return
    console = screen()
    console.print(_heading(source, advice))
    console.print(_tree(advice.schema))
    console.print(
        Text(
            f"\nSample of {counted(advice.rows, 'row')}: {bytes_text(advice.bytes_before)} unshredded, "
            f"{bytes_text(advice.bytes_after)} shredded ("
        )
        .append(f"{advice.bytes_after / advice.bytes_before - 1:+.0%}", "bold")
        .append(")")
    )
    console.print("\nThe schema, for --shredding or the table property:")
    say(str(advice.schema))


def _heading(source: str, advice: Advice) -> Text:
    schema = advice.schema
    leaves = sum(1 for _ in schema.leaves())
    where = f", column {escaped(advice.column)}" if advice.column else ""
    facts = f"{where}: {counted(schema.rows, 'row')}, {leaves} of at most {schema.max_leaves} columns"
    return shown(source, "bold").append(facts, "not bold")


def _tree(schema: InferredSchema) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 1))
    for name in ("path", "becomes"):
        grid.add_column(name, no_wrap=True)
    grid.add_column("rows", no_wrap=True)
    grid.add_column("", justify="right", no_wrap=True)
    grid.add_column("typed", justify="right", no_wrap=True)
    grid.add_column("bytes", no_wrap=True)
    grid.add_column("", justify="right", no_wrap=True)
    grid.add_column("because")
    for decision in schema.decisions:
        grid.add_row(*cells(_row(decision)))
    return grid


def _row(decision: Decision) -> Iterator[Text]:
    style = STYLES[decision.outcome]
    last = decision.steps[-1] if decision.steps else "$"
    yield shown("  " * len(decision.steps) + (last if isinstance(last, str) else "[*]"))
    yield shown(decision.type or decision.outcome.value, style)
    yield Text(_bar(decision.share), style)
    yield Text(f"{decision.share:.1%}")
    yield Text(f"{decision.fits:.1%}" if decision.outcome is Outcome.TYPED else "")
    yield Text(_bar(decision.bytes), "magenta")
    yield Text(f"{decision.bytes:.1%}")
    yield shown("; ".join(filter(None, (decision.reason, decision.note))))


def _bar(share: float) -> str:
    full = round(BAR * min(share, 1.0))
    return "█" * full + "·" * (BAR - full)
