"""Formats in which verbs write rows. Importing this module is cheap, unlike `rows`, which needs pyarrow."""

from __future__ import annotations

import os
from typing import Final, Literal

import typer

from shredlake.errors import InvalidFile

Format = Literal["table", "json", "csv", "parquet"]

BY_SUFFIX: Final[dict[str, Format]] = {
    "": "table",
    ".txt": "table",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".csv": "csv",
    ".parquet": "parquet",
}


def format_of(asked: Format | None, output: str | None, *, as_json: bool = False) -> Format:
    """The format asked for (`as_json`: by --json), else the one of the output's suffix, else a table.

    >>> format_of(None, "out.parquet"), format_of("csv", "out.txt"), format_of(None, None)
    ('parquet', 'csv', 'table')
    """
    if as_json and asked not in (None, "json"):
        raise typer.BadParameter(f"--json and --format {asked} can't be used together")
    if as_json:
        return "json"
    if asked == "parquet" and output is None:
        raise InvalidFile(
            "--format parquet needs a file: name it with --output FILE, or - for standard output"
        )
    if asked is not None or output is None or output == "-":
        return asked or "table"
    suffix = os.path.splitext(output)[1].lower()
    if suffix not in BY_SUFFIX:
        raise InvalidFile(f"{output}: unknown format {suffix!r}; name it with --format")
    return BY_SUFFIX[suffix]
