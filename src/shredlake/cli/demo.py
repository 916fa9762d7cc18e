"""`shredlake demo`: a Variant built, navigated and printed."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import typer

from shredlake.variant.value import Variant


def demo() -> None:
    """Show a Variant being built, navigated and printed."""
    event = Variant.of(
        {
            "id": 7,
            "at": datetime(2025, 4, 16, 12, 34, 56, 780000, UTC),
            "price": Decimal("1.10"),
            "user": {"name": "Ada", "tags": ["admin", None]},
        }
    )
    _say("From Python objects, two byte strings")
    typer.echo(f"metadata  {event.metadata.hex(' ')}")
    typer.echo(f"value     {event.value.hex(' ')}")

    _say("Read in place: only what a path touches is decoded")
    for path in ("$.user.name", "$.user.tags[0]", "$.user.tags[1]", "$.price", "$.nobody"):
        found = event.get(path)
        typer.echo(
            f"{path:<16} {'missing' if found is None else f'{found.type.value:<10} {found.to_json()}'}"
        )

    _say("As JSON")
    typer.echo(event.to_json(pretty=True))

    _say("Equal by meaning, not by layout")
    other = Variant.from_json('{"b": 1.00, "a": [true, "x"]}')
    same = Variant.of({"a": [True, "x"], "b": 1})
    typer.echo(f"{other!r} == {same!r}: {other == same}")


def _say(heading: str) -> None:
    typer.echo()
    typer.secho(heading, bold=True)
