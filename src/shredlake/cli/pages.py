"""Writes HTML pages."""

from __future__ import annotations

import os
import sys
import uuid

import typer

from shredlake.cli.inputs import checked_output
from shredlake.cli.messages import say

HTML = typer.Option(
    None, "--html", metavar="FILE", help="Write an HTML page to this file; - for standard output."
)


def write_page(page: str, target: str) -> None:
    """Writes a page to a file, which gets its name when it is complete, or to standard output (`-`)."""
    content = page.encode("utf-8")
    if target == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    path = checked_output(target)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        draft.write_bytes(content)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    say(f"{target}: open it in a browser", err=True)
