"""`shredlake schema`: columns of a table, and how its Variants are shredded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.table import Table as Grid

from shredlake.cli.inputs import open_table
from shredlake.cli.messages import say
from shredlake.cli.options import JSON, STORAGE, TABLE, TIMESTAMP, VERSION
from shredlake.cli.terminal import cells, screen, shown
from shredlake.formatting import counted

if TYPE_CHECKING:
    from shredlake.delta.schema.types import DeltaType
    from shredlake.table import Table


def schema(
    table: str = TABLE,
    version: int | None = VERSION,
    timestamp: str | None = TIMESTAMP,
    storage: list[str] = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Show the columns of a table, and how its Variants are shredded."""
    facts = described(open_table(table, version, timestamp, storage))
    if as_json:
        say(json.dumps(facts, ensure_ascii=False))
        return
    console = screen()
    grid = Grid(box=None, pad_edge=False, padding=(0, 2))
    for name in ("column", "type", "nullable", ""):
        grid.add_column(name, overflow="fold")
    for column in facts["columns"]:
        note = "partition" if column["partition"] else ""
        if column["shredding"] is not None:
            note = counted(column["typed_paths"], "typed path")
        grid.add_row(*cells([column["name"], column["type"], "yes" if column["nullable"] else "no", note]))
    console.print(grid)
    for column in facts["columns"]:
        if column["shredding"] is not None:
            console.print()
            console.print(shown(f"{column['name']}, in the newest file:", "bold"))
            say(column["shredding"])


def ddl_type(kind: DeltaType) -> str:
    """A type as SQL writes it.

    >>> from shredlake.delta.schema.types import Array
    >>> ddl_type(Array("long", True))
    'array<bigint>'
    """
    from shredlake.delta.schema.types import SQL_NAMES, Array, Map, Struct

    match kind:
        case Struct():
            inside = ", ".join(f"{field.name} {ddl_type(field.type)}" for field in kind.fields)
            return f"struct<{inside}>"
        case Array():
            return f"array<{ddl_type(kind.element)}>"
        case Map():
            return f"map<{ddl_type(kind.key)}, {ddl_type(kind.value)}>"
        case _:
            return SQL_NAMES.get(kind, kind)


def described(opened: Table) -> dict[str, Any]:
    """The columns of a table, for JSON."""
    from shredlake.delta.write.layout import newest_layout

    snapshot = opened.snapshot
    layouts = newest_layout(snapshot)
    columns = []
    for field in snapshot.schema.fields:
        layout = layouts.get(field.physical_name)
        columns.append(
            {
                "name": field.name,
                "type": ddl_type(field.type),
                "nullable": field.nullable,
                "partition": field.name in snapshot.metadata.partition_columns,
                "shredding": None if layout is None else str(layout),
                "typed_paths": 0 if layout is None else sum(1 for _ in layout.leaves()),
            }
        )
    return {"table": opened.uri, "version": opened.version, "columns": columns}
