"""`shredlake advise`: recommends what to shred, with reasons, and measures the effect on size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import typer
from rich.text import Text

from shredlake.cli.grids import Column, fitted
from shredlake.cli.inputs import seekable
from shredlake.cli.messages import say
from shredlake.cli.options import JSON, STORAGE, not_empty, storage_options
from shredlake.cli.terminal import screen, shown
from shredlake.formatting import bytes_text, counted, escaped
from shredlake.shredding.inference import MAX_LEAVES

if TYPE_CHECKING:
    from shredlake.jobs.advise import Advice
    from shredlake.shredding.inference.report import Decision

BAR = 12
STYLES = {
    "typed": "green",
    "object": "cyan",
    "array": "cyan",
    "variant": "yellow",
    "left": "bright_black",
}
"""The style of each outcome of a decision."""


def advise(
    source: str = typer.Argument(
        help="A Delta table, a Parquet file, JSON documents (a file, glob or folder), or - for stdin."
    ),
    column: str | None = typer.Option(
        None,
        "--column",
        "-c",
        metavar="NAME",
        callback=not_empty,
        help="The column to profile, if there are several.",
    ),
    queries: list[str] = typer.Option(
        [], "--query", "-q", metavar="PATH", help="A path that queries use. Repeatable."
    ),
    max_leaves: int = typer.Option(
        MAX_LEAVES, "--max-leaves", min=1, help="Maximum number of typed columns."
    ),
    storage: list[str] = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Recommend which paths to shred, with reasons, and measure the effect on size."""
    from shredlake.jobs.advise import advice_on, open_data

    with seekable([source]) as [found]:
        advice = advice_on(open_data(found, column, storage_options(storage)), queries, max_leaves)
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
    console.print(fitted(COLUMNS, advice.schema.decisions, console.width))
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


def _name(decision: Decision) -> str:
    last = decision.steps[-1] if decision.steps else "$"
    return "  " * len(decision.steps) + (last if isinstance(last, str) else "[*]")


def _reason(decision: Decision) -> str:
    return "; ".join(filter(None, (decision.reason, decision.note)))


COLUMNS: Final[Sequence[Column[Decision]]] = (
    Column("path", _name),
    Column("becomes", lambda one: shown(one.type or one.outcome.value, STYLES[one.outcome.value])),
    Column("", lambda one: Text(_bar(one.share), STYLES[one.outcome.value]), 100),
    Column("rows", lambda one: f"{one.share:.1%}", justify="right"),
    Column("typed", lambda one: f"{one.fits:.1%}" if one.outcome.value == "typed" else "", 72, "right"),
    Column("", lambda one: Text(_bar(one.bytes_share), "magenta"), 120),
    Column("bytes", lambda one: f"{one.bytes_share:.1%}", justify="right"),
    Column("because", _reason),
)


def _bar(share: float) -> str:
    full = round(BAR * min(share, 1.0))
    return "█" * full + "·" * (BAR - full)
