"""Checks of options that several verbs share."""

from __future__ import annotations

import typer


def not_empty(value: str | None) -> str | None:
    """Rejects an empty column name."""
    if value is not None and not value.strip():
        raise typer.BadParameter("a column's name can't be empty")
    return value
