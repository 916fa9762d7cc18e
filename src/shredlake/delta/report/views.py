"""`views`: SQL for a view, or a dbt model, with one typed column per path of a table's Variants."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from shredlake.delta.log.files import as_adds
from shredlake.delta.log.snapshot import Snapshot, load_snapshot
from shredlake.delta.read.layouts import FileLayouts
from shredlake.delta.report.paths import PathFacts, path_facts
from shredlake.delta.storage.storage import Storage, normalized_uri
from shredlake.errors import InvalidSchema, WrongType
from shredlake.expr.sql import column_sql, spark_path, string_sql
from shredlake.expr.types import duckdb_name
from shredlake.formatting import counted
from shredlake.variant.identifiers import double_quote
from shredlake.variant.path import Path

Dialect = Literal["spark", "duckdb", "dbt"]

ELEMENTS: Final = "[*]"

SPARK_TYPES: Final[Mapping[str, str]] = {
    "time": "string",
    "uuid": "string",
    "timestamp_nanos": "timestamp",
    "timestamp_ntz_nanos": "timestamp_ntz",
}
"""Types of shredded paths that Spark does not have, and what the view has for them."""


@dataclass(frozen=True)
class ViewColumn:
    """One column of a view."""

    name: str
    column: str
    """The column of the table."""
    steps: tuple[str, ...] | None
    """The path in a Variant; None for a plain column."""
    type: str | None
    is_array: bool
    comment: str


def views(
    table: str | os.PathLike[str],
    dialect: Dialect,
    *,
    name: str | None = None,
    source: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """SQL for a view of a table with one typed column per shredded path; returns texts by file name.

    `name` is the name of the view, by default that of the table's folder with `_typed`. `source` is what the
    view selects from: by default the table by its path on Spark, and a relation named like the folder in
    DuckDB. For dbt there is a model and a file that documents its columns.

    >>> from shredlake.example import example_table
    >>> print(views(example_table("views").uri, "duckdb", name="typed", source="events")["typed.sql"])
    CREATE OR REPLACE VIEW "typed" AS
    SELECT
      "id" AS "id",
      TRY_CAST("v"."a" AS BIGINT) AS "a"  -- v:a, bigint in 1 of 1 file
    FROM events;
    """
    if dialect not in get_args(Dialect):
        raise WrongType(f"dialect={dialect!r}: expected one of {', '.join(get_args(Dialect))}")
    snapshot = load_snapshot(Storage(normalized_uri(table), dict(storage_options or {})))
    folder = re.sub(r"\W", "_", snapshot.storage.uri.rstrip("/").rpartition("/")[2]) or "table"
    view = name or f"{folder}_typed"
    columns = list(view_columns(snapshot))
    if not any(column.steps is not None for column in columns):
        raise InvalidSchema(
            f"{snapshot.storage.uri} has no shredded paths to make columns of; "
            "run shredlake optimize, or shredlake advise to see what could be shredded"
        )
    return _RENDER[dialect](view, folder, source, columns, snapshot)


def view_columns(snapshot: Snapshot) -> Iterator[ViewColumn]:
    """The plain columns of a table, and its shredded paths; array elements that are objects are left out."""
    adds = as_adds(snapshot.files.table())
    layouts = FileLayouts(snapshot, lambda items, work: map(work, items)).of(adds)
    places = {place.steps[0]: place for place in snapshot.variants if len(place.steps) == 1}
    taken: set[str] = set()
    for item in snapshot.schema.fields:
        if item.name not in places:
            yield ViewColumn(_free(item.name, taken), item.name, None, None, False, "")
    for name, place in places.items():
        for facts in path_facts([layout.get(place.physical) for layout in layouts], name, {}):
            is_array = facts.path.endswith(ELEMENTS)
            path = facts.path.removesuffix(ELEMENTS)
            if ELEMENTS in path or not path:
                continue
            steps = tuple(str(step) for step in Path.parse("$" + _dotted(path)).steps)
            label = _free("_".join(re.sub(r"\W", "_", step) for step in steps), taken)
            yield ViewColumn(
                label, name, steps, _widest(list(facts.types)), is_array, _comment(name, facts, len(adds))
            )


def _dotted(path: str) -> str:
    return path if path.startswith("[") else f".{path}"


def _free(name: str, taken: set[str]) -> str:
    """A name that no other column has, whatever its case."""
    found, number = name or "_", 2
    while found.casefold() in taken:
        found, number = f"{name}_{number}", number + 1
    taken.add(found.casefold())
    return found


def _widest(types: Sequence[str]) -> str:
    """The most frequent type; of decimals, one that holds the digits of all.

    >>> _widest(["decimal(9,2)", "string", "decimal(18,4)"])
    'decimal(18,4)'
    """
    first = types[0]
    if not first.startswith("decimal"):
        return first
    digits = [tuple(map(int, re.findall(r"\d+", kind))) for kind in types if kind.startswith("decimal")]
    scale = max(one[1] for one in digits)
    return f"decimal({min(38, max(one[0] - one[1] for one in digits) + scale)},{scale})"


def _comment(column: str, facts: PathFacts, files: int) -> str:
    kinds = ", ".join(f"{kind} in {count:,}" for kind, count in facts.types.items())
    mixed = f", with other values in {facts.mixed:,}" if facts.mixed else ""
    return f"{column}:{facts.path}, {kinds} of {counted(files, 'file')}{mixed}"


# ── Dialects ────────────────────────────────────────────────────────────────────────────────────────────


def _spark_item(column: ViewColumn) -> str:
    if column.steps is None:
        return f"{column_sql(column.column)} AS {column_sql(column.name)}"
    assert column.type is not None
    kind = SPARK_TYPES.get(column.type, column.type)
    kind = f"array<{kind}>" if column.is_array else kind
    path = string_sql(spark_path(Path(column.steps)))
    value = f"try_variant_get({column_sql(column.column)}, {path}, {string_sql(kind)})"
    return f"{value} AS {column_sql(column.name)}"


def _duckdb_item(column: ViewColumn) -> str:
    if column.steps is None:
        return f"{double_quote(column.column)} AS {double_quote(column.name)}"
    assert column.type is not None
    kind = duckdb_name(column.type) + ("[]" if column.is_array else "")
    value = ".".join(double_quote(step) for step in (column.column, *column.steps))
    return f"TRY_CAST({value} AS {kind}) AS {double_quote(column.name)}"


def _lines(items: Sequence[str], columns: Sequence[ViewColumn]) -> str:
    """Select items, one a line, each with a comment."""
    last = len(items) - 1
    return "\n".join(
        f"  {item}{'' if place == last else ','}"
        + (f"  -- {_one_line(column.comment)}" if column.comment else "")
        for place, (item, column) in enumerate(zip(items, columns, strict=True))
    )


def _one_line(text: str) -> str:
    """Text that a comment can hold: no line breaks, and nothing that a template engine reads."""
    return re.sub(r"\s+", " ", text).replace("{{", "{ {").replace("{%", "{ %").replace("{#", "{ #")


def _as_template(text: str) -> str:
    """A template of Jinja that renders as the text, whatever names from data it has.

    >>> _as_template("'$.{{ x }}'")
    "'$.{{ '{{' }} x }}'"
    """
    return re.sub(r"\{[{%#]", lambda found: f"{{{{ '{found[0]}' }}}}", text)


def _spark(
    view: str, folder: str, source: str | None, columns: Sequence[ViewColumn], snapshot: Snapshot
) -> dict[str, str]:
    heads = [
        column_sql(column.name) + (f" COMMENT {string_sql(column.comment)}" if column.comment else "")
        for column in columns
    ]
    relation = source or f"delta.{column_sql(snapshot.storage.uri)}"
    body = _lines([_spark_item(column) for column in columns], columns)
    names = ",\n".join(f"  {head}" for head in heads)
    head = f"CREATE OR REPLACE VIEW {column_sql(view)} (\n{names}\n) AS"
    return {f"{view}.sql": f"{head}\nSELECT\n{body}\nFROM {relation};"}


def _duckdb(
    view: str, folder: str, source: str | None, columns: Sequence[ViewColumn], snapshot: Snapshot
) -> dict[str, str]:
    body = _lines([_duckdb_item(column) for column in columns], columns)
    relation = source or double_quote(folder)
    return {
        f"{view}.sql": f"CREATE OR REPLACE VIEW {double_quote(view)} AS\nSELECT\n{body}\nFROM {relation};"
    }


def _dbt(
    view: str, folder: str, source: str | None, columns: Sequence[ViewColumn], snapshot: Snapshot
) -> dict[str, str]:
    on_duckdb = _lines([_as_template(_duckdb_item(column)) for column in columns], columns)
    on_spark = _lines([_as_template(_spark_item(column)) for column in columns], columns)
    body = f"{{% if target.type == 'duckdb' %}}\n{on_duckdb}\n{{% else %}}\n{on_spark}\n{{% endif %}}"
    relation = source or f"{{{{ source('lake', {json.dumps(folder)}) }}}}"
    model = f"{{{{ config(materialized='view') }}}}\n\nSELECT\n{body}\nFROM {relation}\n"
    lines = ["version: 2", "models:", f"  - name: {json.dumps(view)}"]
    lines.append(f"    description: {json.dumps(f'Typed columns of {snapshot.storage.uri}')}")
    lines.append("    columns:")
    for column in columns:
        lines.append(f"      - name: {json.dumps(column.name)}")
        if column.comment:
            lines.append(f"        description: {json.dumps(_one_line(column.comment))}")
        if column.type is not None:
            kind = f"array<{column.type}>" if column.is_array else column.type
            lines.append(f"        data_type: {json.dumps(kind)}")
    return {f"{view}.sql": model, f"{view}.yml": "\n".join(lines) + "\n"}


_RENDER: Final = {"spark": _spark, "duckdb": _duckdb, "dbt": _dbt}
