"""`shredlake advise`: what to shred of some data, why, and what it brings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import typer
from rich.table import Table as Grid
from rich.text import Text

from shredlake.cli.advise_data import Data, Sample, open_data
from shredlake.cli.inputs import seekable
from shredlake.cli.inspect import bytes_text
from shredlake.cli.options import not_empty
from shredlake.cli.terminal import cells, escaped, say, screen, shown
from shredlake.errors import InvalidFile
from shredlake.kernels.profile import merge_profiles, profile_bytes
from shredlake.shredding.inference.fit import classes
from shredlake.shredding.inference.infer import MAX_LEAVES, infer_schema
from shredlake.shredding.inference.profile import Profile
from shredlake.shredding.inference.report import Decision, InferredSchema, Outcome
from shredlake.shredding.rivals import RIVALS, Rules, infer_by, typed_by, with_decimals
from shredlake.shredding.schema import Scalar
from shredlake.variant.types import VariantType

BAR = 12
STYLES = {
    Outcome.TYPED: "green",
    Outcome.OBJECT: "cyan",
    Outcome.ARRAY: "cyan",
    Outcome.VARIANT: "yellow",
    Outcome.LEFT: "bright_black",
}
MOST_COLUMNS = 2000
"""A layout with more columns is not written for comparison: that takes minutes."""


def advise(
    source: str = typer.Argument(
        help="A Delta table, a Parquet file, a file of JSON documents, or - for standard input."
    ),
    column: str | None = typer.Option(
        None, "--column", "-c", callback=not_empty, help="The column, if there are several."
    ),
    queries: list[str] = typer.Option([], "--query", "-q", help="A path that queries use; may be repeated."),
    max_leaves: int = typer.Option(MAX_LEAVES, "--max-leaves", min=1, help="Maximum number of columns."),
    compare: bool = typer.Option(False, "--compare", help="Show what other engines' rules would choose."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON for machines."),
) -> None:
    """Recommend which paths to shred, with reasons, and measure the effect on size."""
    with seekable([source]) as [found]:
        _advise(source, open_data(found, column), queries, max_leaves, compare, as_json)


def _advise(
    source: str, data: Data, queries: list[str], max_leaves: int, compare: bool, as_json: bool
) -> None:
    parts: list[bytes] = []
    seen: dict[Rules, list[bytes]] = {rules: [] for rules in RIVALS}
    sample, rows = Sample(), 0
    for variants in data.batches:
        sample.take(variants)
        parts.append(profile_bytes(variants))
        for rules, looked_at in seen.items() if compare else ():
            if rows < rules.looks_at:
                looked_at.append(profile_bytes(variants.slice(0, rules.looks_at - rows)))
        rows += len(variants)
    if not rows:
        raise InvalidFile(f"{source}: there is no row to look at")
    profile = Profile.from_bytes(merge_profiles(parts))
    schema = infer_schema(profile, queries=queries, max_leaves=max_leaves, previous=data.previous)
    before, after = sample.size(None), sample.size(schema)
    others = [
        comparison(rules, Profile.from_bytes(merge_profiles(looked_at)), profile, sample)
        for rules, looked_at in seen.items()
        if compare
    ]
    if as_json:
        measured = {"rows": sample.rows, "bytes_before": before, "bytes_after": after}
        found = {"source": source, "column": data.column, **schema.to_dict(), "sample": measured}
        say(json.dumps(found | ({"compare": others} if compare else {}), ensure_ascii=False))
        return
    console = screen()
    console.print(_heading(source, data, schema))
    console.print(_tree(schema))
    console.print(
        Text(
            f"\nSample of {sample.rows:,} rows: {bytes_text(before)} unshredded, "
            f"{bytes_text(after)} shredded ("
        )
        .append(f"{after / before - 1:+.0%}", "bold")
        .append(")")
    )
    if compare:
        console.print(_comparison_grid(others, ours(schema, profile, after)))
    console.print("\nto use it elsewhere:")
    say(str(schema))


def comparison(rules: Rules, looked_at: Profile, profile: Profile, sample: Sample) -> dict[str, Any]:
    """What an engine's rules choose from the rows that it looks at, judged on all of the data."""
    schema = infer_by(rules, looked_at)
    leaves = sum(1 for _ in schema.leaves())
    found = dict(profile.paths())
    typed = sum(typed_by(rules, found[steps], node) for steps, node in schema.leaves() if steps in found)
    same_numbers = with_decimals(schema, profile)
    return {
        "engine": rules.engine,
        "rows_looked_at": min(rules.looks_at, profile.rows),
        "leaves": leaves,
        "typed_share": round(typed / max(_scalars(profile), 1), 4),
        "sample_bytes": sample.size(same_numbers) if leaves <= MOST_COLUMNS else None,
        "shredding": str(schema),
    }


def ours(schema: InferredSchema, profile: Profile, size: int) -> dict[str, Any]:
    """The same figures of our own choice."""
    fits = {decision.steps: decision.fits for decision in schema.decisions}
    found = dict(profile.paths())
    typed = sum(
        fits[steps] * found[steps].count
        for steps, node in schema.leaves()
        if isinstance(node, Scalar) and steps in found
    )
    return {
        "engine": "shredlake",
        "rows_looked_at": profile.rows,
        "leaves": sum(1 for _ in schema.leaves()),
        "typed_share": round(typed / max(_scalars(profile), 1), 4),
        "sample_bytes": size,
        "shredding": str(schema),
    }


def _scalars(profile: Profile) -> int:
    containers = (VariantType.OBJECT, VariantType.ARRAY)
    return sum(
        count
        for _, path in profile.paths()
        for kind, count in classes(path).items()
        if kind not in containers
    )


def _heading(source: str, data: Data, schema: InferredSchema) -> Text:
    leaves = sum(1 for _ in schema.leaves())
    where = f", column {escaped(data.column)}" if data.column else ""
    facts = f"{where}: {schema.rows:,} rows, {leaves} of at most {schema.max_leaves} columns"
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


def _comparison_grid(others: list[dict[str, Any]], own: dict[str, Any]) -> Grid:
    grid = Grid(title="\nwhat the rules of others choose", title_justify="left", box=None, padding=(0, 2))
    grid.add_column("rules of")
    for name in ("looks at rows", "columns", "values typed", "sample as a file"):
        grid.add_column(name, justify="right")
    for line in (own, *others):
        size = line["sample_bytes"]
        grid.add_row(
            line["engine"],
            f"{line['rows_looked_at']:,}",
            f"{line['leaves']:,}",
            f"{line['typed_share']:.1%}",
            "-" if size is None else f"{bytes_text(size)} ({size / own['sample_bytes'] - 1:+.0%})",
        )
    return grid
