"""`shredlake query`: paths of a table, filtered, as text for people or data for programs."""

from __future__ import annotations

import base64
import json
import math
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv
import typer
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from shredlake.delta.table import Table
from shredlake.errors import InvalidExpression
from shredlake.expr.select_list import split_columns
from shredlake.kernels import to_json
from shredlake.kernels.layout import is_variant
from shredlake.parquet.write import write_parquet
from shredlake.spark.frames import collected

LARGE_TABLE = 20 << 30
"""Bytes to read from which Spark is worth its start, where there is a choice."""

NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)

Engine = Literal["auto", "local", "spark"]
Format = Literal["table", "json", "csv", "parquet"]


def query(
    table: str = typer.Argument(help="Address of a Delta table."),
    columns: str = typer.Argument("*", help="Columns, as in SELECT: 'v:user.id::bigint AS id, id'."),
    where: str | None = typer.Option(None, "--where", "-w", help="A condition, as in WHERE."),
    limit: int | None = typer.Option(None, "--limit", "-n", help="Rows at the most; 20 for --format table."),
    form: Format = typer.Option("table", "--format", "-f", help="How rows are printed."),
    output: str | None = typer.Option(None, "--output", "-o", help="Write to this file."),
    engine: Engine = typer.Option("auto", "--engine", help="auto: Spark for more than 20 GB."),
    explain: bool = typer.Option(False, "--explain", help="Tell what is read, of how much, and why."),
    strict: bool = typer.Option(False, "--strict", help="A value that does not cast is an error, not null."),
    version: int | None = typer.Option(None, "--version", help="The table as it was at this version."),
) -> None:
    """Read paths of a table: only their columns, only the files, row groups and pages that can match."""
    wanted = None if columns.strip() == "*" else split_columns(columns)
    opened = Table(table, version)
    local = opened.scan(wanted, where, strict=strict)
    left = sum(local.files().column("size").to_pylist())
    on_spark = engine == "spark" or (engine == "auto" and left > LARGE_TABLE)
    if explain:
        typer.echo(str(_spark_scan(opened, wanted, where, strict).explain() if on_spark else local.explain()))
        return
    rows = limit if limit is not None else (20 if form == "table" else None)
    if on_spark:
        frame = _spark_scan(opened, wanted, where, strict).frame()
        found = collected(frame if rows is None else frame.limit(rows + 1))
    else:
        found = _first(local.to_batches(), local.schema, None if rows is None else rows + 1)
    _print(found, form, rows, output, more=limit is None)


def _spark_scan(opened: Table, columns: list[str] | None, where: str | None, strict: bool) -> Any:
    from shredlake.spark.scan import SparkScan
    from shredlake.spark.session import session

    spark = session()
    spark.conf.set("spark.sql.session.timeZone", "UTC")  # as without Spark
    return SparkScan(spark, opened.snapshot, columns, where, strict=strict)


def _first(batches: Iterator[pa.RecordBatch], schema: pa.Schema, rows: int | None) -> pa.Table:
    """As many rows as asked for; the rest is never read."""
    taken: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        taken.append(batch)
        count += batch.num_rows
        if rows is not None and count >= rows:
            break
    found = pa.Table.from_batches(taken, schema)
    return found if rows is None else found.slice(0, rows)


def _print(found: pa.Table, form: Format, rows: int | None, output: str | None, more: bool) -> None:
    cut = rows is not None and found.num_rows > rows
    shown = found if rows is None else found.slice(0, rows)
    match form:
        case "table":
            _write(_grid(_readable(shown), wide=output is not None).encode(), output)
            if cut and more:
                typer.echo(f"first {rows} rows; --limit shows more", err=True)
        case "json":
            _write("".join(_lines(shown)).encode(), output)
        case "csv":
            sink = pa.BufferOutputStream()
            pyarrow.csv.write_csv(_readable(shown), sink)
            _write(sink.getvalue().to_pybytes(), output)
        case "parquet":
            if output is None:
                raise InvalidExpression("--format parquet writes a file: name it with --output FILE")
            write_parquet(shown, output)


def _readable(table: pa.Table) -> pa.Table:
    """Variants, and whatever else has parts, as JSON text."""
    for index, field in enumerate(table.schema):
        if is_variant(field.type):
            table = table.set_column(index, field.name, to_json(table.column(index)))
        elif pa.types.is_nested(field.type) or is_binary(field.type):
            texts = [None if value is None else _text(value) for value in table.column(index).to_pylist()]
            if is_binary(field.type):
                texts = [None if text is None else text.strip('"') for text in texts]
            table = table.set_column(index, field.name, pa.array(texts, pa.string()))
    return table


def is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _lines(table: pa.Table) -> Iterator[str]:
    """Rows as JSON objects; the text of a Variant stands as it is, so that no number changes."""
    variants = {field.name for field in table.schema if is_variant(field.type)}
    for index, field in enumerate(table.schema):
        if field.name in variants:
            table = table.set_column(index, field.name, to_json(table.column(index)))
    for row in table.to_pylist():
        fields = (
            json.dumps(name, ensure_ascii=False)
            + ": "
            + (value if name in variants and value is not None else _text(value))
            for name, value in row.items()
        )
        yield "{" + ", ".join(fields) + "}\n"


def _text(value: Any) -> str:
    """A value as JSON: numbers as they are, bytes in base64, what JSON has no numbers for as text."""
    match value:
        case Decimal():
            return f"{value:f}"
        case bytes():
            return json.dumps(base64.b64encode(value).decode())
        case float() if not math.isfinite(value):
            return json.dumps({"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)])
        case dict():
            parts = (
                f"{json.dumps(str(key), ensure_ascii=False)}: {_text(part)}" for key, part in value.items()
            )
            return "{" + ", ".join(parts) + "}"
        case list():
            return "[" + ", ".join(map(_text, value)) + "]"
        case _:
            return json.dumps(value, default=str, ensure_ascii=False)


def _grid(table: pa.Table, wide: bool) -> str:
    grid = Grid()
    for field in table.schema:
        justify: Literal["left", "right"] = "right" if any(is_(field.type) for is_ in NUMBERS) else "left"
        grid.add_column(Text(field.name), justify=justify, overflow="fold")
    for row in table.to_pylist():
        # As they stand: rich takes `[a]` for a style and `:a:` for an emoji.
        grid.add_row(*[Text("NULL" if value is None else str(value)) for value in row.values()])
    console = Console()
    plain = console if console.is_terminal and not wide else Console(width=160, color_system=None)
    with plain.capture() as capture:
        plain.print(grid)
    return capture.get()


def _write(data: bytes, output: str | None) -> None:
    if output is None:
        sys.stdout.buffer.write(data)
    else:
        with open(output, "wb") as file:
            file.write(data)
