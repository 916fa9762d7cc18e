"""Writes HTML pages."""

from __future__ import annotations

import sys

import typer

from shredlake.cli.messages import say
from shredlake.cli.outputs import output_file

HTML = typer.Option(
    None, "--html", metavar="FILE", help="Write an HTML page to this file; - for standard output."
)


def check_page(html: str | None, *, as_json: bool) -> None:
    """Refuses a page and JSON together."""
    if html is not None and as_json:
        raise typer.BadParameter("--json and --html can't be used together")


def write_page(page: str, target: str) -> None:
    """Writes a page to a file, which gets its name when it is complete, or to standard output (`-`)."""
    content = page.encode("utf-8")
    if target == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    with output_file(target) as file:
        file.write(content)
    say(f"{target}: open it in a browser", err=True)
