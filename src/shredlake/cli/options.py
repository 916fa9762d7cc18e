"""Options that several verbs share, and their checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from shredlake.delta.storage.boundary import ALLOW_PATHS
from shredlake.errors import PipelineError

MOST_ROWS = 2**53
"""The greatest `--limit`: Arrow counts rows in 64 bits."""

TABLE = typer.Argument(help="The table: a path or a URL.")
JSON = typer.Option(False, "--json", help="Print JSON.")
STORAGE = typer.Option(
    [], "--storage-option", metavar="KEY=VALUE", help="A setting of the object store. Repeatable."
)
VERSION = typer.Option(None, "--version", min=0, help="Use this version of the table.")
TIMESTAMP = typer.Option(
    None,
    "--timestamp",
    metavar="TIME",
    help="Use the table as it was at this time, e.g. 2026-01-31T12:00:00Z.",
)
WHERE = typer.Option(None, "--where", "-w", metavar="CONDITION", help="A condition, as after WHERE.")

LIMIT = typer.Option(
    None,
    "--limit",
    "-n",
    min=0,
    max=MOST_ROWS,
    help="Maximum number of rows (20 for --format table).",
)
FORMAT = typer.Option(
    None, "--format", "-f", help="Output format (default: by the suffix of --output, else table)."
)
OUTPUT = typer.Option(
    None, "--output", "-o", metavar="FILE", help="Write to this file; - is standard output, the default."
)
STRICT = typer.Option(False, "--strict", help="Fail on values that can't be cast, instead of returning null.")
FORMAT_JSON = typer.Option(False, "--json", help="The same as --format json.")
SHREDDING = typer.Option(
    "infer", metavar="SCHEMA", help='"infer", "none", or a schema such as "struct<id bigint>".'
)
BLOOM_FILTER = typer.Option(
    [],
    metavar="PATH",
    help='Add a Bloom filter for equality lookups on an unsorted path, e.g. "v:id". Repeatable.',
)
DUPLICATE_KEYS = typer.Option("error", help="How to treat objects with a repeated key.")
FILE_SIZE = typer.Option(128, min=1, metavar="MB", help="Target size of the files, in MB.")


def rejects_share(text: str | None) -> int | float | None:
    """Parses --max-rejects.

    >>> rejects_share("2%")
    0.02
    """
    from shredlake.jobs.ingest.outcome import rejects_limit  # most verbs do not need the jobs

    try:
        return None if text is None else rejects_limit(text)
    except PipelineError as error:
        raise typer.BadParameter(str(error).replace("max_rejects", "--max-rejects")) from None


def not_empty(value: str | None) -> str | None:
    """Rejects an empty column name."""
    if value is not None and not value.strip():
        raise typer.BadParameter("a column's name can't be empty")
    return value


def storage_options(pairs: Sequence[str]) -> dict[str, Any]:
    """Parses settings of an object store. A value may be a secret, so no message repeats it.

    >>> storage_options(["aws_region=eu-central-1", "token=a=b"])
    {'aws_region': 'eu-central-1', 'token': 'a=b'}
    >>> storage_options(["allow_paths=/mnt/old", "allow_paths=s3://archive/"])
    {'allow_paths': ['/mnt/old', 's3://archive/']}
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise typer.BadParameter("--storage-option expects KEY=VALUE, e.g. aws_region=eu-central-1")
        if key.strip() == ALLOW_PATHS:
            found.setdefault(ALLOW_PATHS, []).append(value)
        else:
            found[key.strip()] = value
    return found
