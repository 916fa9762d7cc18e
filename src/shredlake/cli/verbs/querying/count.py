"""`shredlake count`: how many rows meet a condition."""

from __future__ import annotations

import json

import typer

from shredlake.cli.inputs import open_table
from shredlake.cli.messages import say
from shredlake.cli.options import JSON, STORAGE, TABLE, TIMESTAMP, VERSION, WHERE


def count(
    table: str = TABLE,
    where: str | None = WHERE,
    version: int | None = VERSION,
    timestamp: str | None = TIMESTAMP,
    storage: list[str] = STORAGE,
    strict: bool = typer.Option(False, "--strict", help="Fail on values that can't be cast."),
    as_json: bool = JSON,
) -> None:
    """Count the rows of a table that meet a condition."""
    opened = open_table(table, version, timestamp, storage)
    rows = opened.scan(where=where, strict=strict).count()
    say(json.dumps({"version": opened.version, "rows": rows}) if as_json else str(rows))
