"""All doors, as a table."""

from __future__ import annotations

from fuzz.contract import Door
from fuzz.doors import columns, files, logs, tables, texts, values

DOORS: dict[str, Door] = {
    door.name: door
    for module in (values, texts, columns, tables, files, logs)
    for door in module.DOORS
}  # fmt: skip
