"""Writes rows as a table, JSON, CSV or Parquet, batch by batch."""

from __future__ import annotations

import base64
import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from rich.console import Console
from rich.table import Table as Grid

from shredlake.cli.formats import Format
from shredlake.cli.messages import escaped_json, escaped_lines, say
from shredlake.cli.outputs import checked_output, output_file
from shredlake.cli.terminal import WIDTH, screen, shown
from shredlake.errors import InvalidFile
from shredlake.kernels import from_arrow, to_json
from shredlake.kernels.arrow.types import is_variant
from shredlake.parquet.write.writer import ParquetWriter

if TYPE_CHECKING:
    from shredlake.jobs.report import IngestReport

DRAWN_AT_A_TIME: Final = 1000
"""Number of rows in one drawn table; more rows are drawn as several tables."""

ROWS_AT_A_TIME: Final = 8192
"""Number of rows converted to text at a time."""

NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)

Write = Callable[[bytes], object]


def print_report(report: IngestReport, *, as_json: bool) -> None:
    """Prints the report of a job: as one line of JSON, or as a grid."""
    if as_json:
        say(json.dumps(asdict(report), ensure_ascii=False))
    else:
        screen().print(report.grid())


def write_rows(batches: Iterable[pa.RecordBatch], schema: pa.Schema, form: Format, output: str | None) -> int:
    """Writes rows to a file or to standard output, and returns their number."""
    if form == "parquet" and output == "-":
        with parquet_to_stdout() as path:
            return _write_parquet(batches, schema, path)
    output = None if output == "-" else output
    if form == "parquet":
        if output is None:
            raise InvalidFile("--format parquet needs a file: name it with --output FILE")
        return _write_parquet(batches, schema, str(checked_output(output)))
    with _opened(output) as write:
        if form == "table":
            count = 0
            for table in _pieces(batches, DRAWN_AT_A_TIME, schema):
                write(_grid(_for_people(table), wide=output is not None).encode())
                count += table.num_rows
            return count
        to_text = _csv_text if form == "csv" else _json_text
        clean = escaped_lines if form == "csv" else escaped_json
        watched = output is None and sys.stdout.isatty()
        if form == "csv":
            write(_csv_text(schema.empty_table(), header=True))
        count = 0
        for piece in _pieces(batches, ROWS_AT_A_TIME):
            data = to_text(piece)
            write(clean(data.decode()).encode() if watched else data)
            count += piece.num_rows
        return count


@contextmanager
def _opened(output: str | None) -> Iterator[Write]:
    """Yields a function that writes bytes. A file gets its name when it is complete."""
    if output is None:
        stream = sys.stdout.buffer

        def write(data: bytes) -> None:
            stream.write(data)
            stream.flush()

        yield write
        return
    with output_file(output) as file:
        yield file.write


def _pieces(
    batches: Iterable[pa.RecordBatch], rows: int, schema: pa.Schema | None = None
) -> Iterator[pa.Table]:
    """Tables of at most this many rows; with a schema at least one, and small batches are put together."""
    if schema is None:
        for batch in batches:
            for start in range(0, batch.num_rows, rows):
                yield pa.Table.from_batches([batch.slice(start, rows)])
        return
    waiting = schema.empty_table()
    drawn = False
    for batch in batches:
        waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch], schema)])
        while waiting.num_rows >= rows:
            yield waiting.slice(0, rows)
            drawn, waiting = True, waiting.slice(rows)
    if waiting.num_rows or not drawn:
        yield waiting


@contextmanager
def parquet_to_stdout() -> Iterator[str]:
    """Yields a file to write; it goes to standard output at the end, because its footer comes last."""
    if sys.stdout.isatty():
        raise InvalidFile("standard output is a terminal: pipe the Parquet file, or name one with --output")
    with tempfile.TemporaryDirectory(prefix="shredlake-stdout-") as folder:
        path = os.path.join(folder, "rows.parquet")
        yield path
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _write_parquet(batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: str) -> int:
    count = 0
    with ParquetWriter(path, schema, shredding=None) as writer:
        for batch in batches:
            writer.write(pa.Table.from_batches([batch], schema))
            count += batch.num_rows
    return count


# ── For programs ──────────────────────────────────────────────────────────────────────────────────────


def _json_text(table: pa.Table) -> bytes:
    """Rows as JSON objects, one per line, built column by column."""
    parts: list[Any] = []
    opening = "{"
    for name, column in zip(table.column_names, table.columns, strict=True):
        parts.append(pa.scalar(f"{opening}{json.dumps(name, ensure_ascii=False)}: ", pa.large_string()))
        parts.append(pc.fill_null(_json_column(column.combine_chunks()).cast(pa.large_string()), "null"))
        opening = ", "
    if not parts:
        return b"{}\n" * int(table.num_rows)
    end = pa.scalar("}\n", pa.large_string())
    lines = pc.binary_join_element_wise(*parts, end, pa.scalar("", pa.large_string()))
    return _content(lines)


def _content(lines: pa.LargeStringArray) -> bytes:
    """All strings of an array, concatenated: they are adjacent in its buffer."""
    if not len(lines):
        return b""
    offsets, data = (memoryview(buffer) for buffer in lines.buffers()[1:])
    places = offsets.cast("q")
    return bytes(data[places[lines.offset] : places[lines.offset + len(lines)]])


def _json_column(column: pa.Array) -> pa.Array:
    """The values as JSON. The text of a Variant is used unchanged, so that numbers keep their digits."""
    kind = column.type
    if is_variant(kind):
        return to_json(column)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return to_json(from_arrow(column))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.string())
    return pa.array([None if value is None else _text(value) for value in column.to_pylist()], pa.string())


def _text(value: Any) -> str:
    """A value as JSON: bytes in base64; NaN and infinities, which JSON lacks, as strings."""
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


def _csv_text(table: pa.Table, *, header: bool = False) -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(_readable(table), sink, pyarrow.csv.WriteOptions(include_header=header))
    return bytes(sink.getvalue().to_pybytes())


def _readable(table: pa.Table) -> pa.Table:
    """Replaces Variants and nested values with JSON text, and binary values with base64."""
    columns = [_readable_column(column) for column in table.columns]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _readable_column(column: pa.ChunkedArray) -> Any:
    if is_variant(column.type):
        return to_json(column)
    if _is_binary(column.type):
        values = column.to_pylist()
        return pa.array([None if value is None else base64.b64encode(value).decode() for value in values])
    if pa.types.is_nested(column.type):
        values = column.to_pylist()
        return pa.array([None if value is None else _text(value) for value in values], pa.string())
    return column


def _for_people(table: pa.Table) -> pa.Table:
    """As `_readable`, and binary values as text, booleans as `true` and `false`."""
    columns = []
    for column in table.columns:
        if _is_binary(column.type):
            values = (None if value is None else _as_text(value) for value in column.to_pylist())
            columns.append(pa.chunked_array([pa.array(values, pa.string())]))
        elif pa.types.is_boolean(column.type):
            columns.append(column.cast(pa.string()))
        else:
            columns.append(column)
    return _readable(pa.Table.from_arrays(columns, names=table.column_names))


def _as_text(value: bytes) -> str:
    """Bytes as text; those that are not UTF-8 are escaped."""
    return value.decode("utf-8", "backslashreplace")


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


# ── For people ────────────────────────────────────────────────────────────────────────────────────────


def _grid(table: pa.Table, wide: bool) -> str:
    grid = Grid()
    for field in table.schema:
        justify: Literal["left", "right"] = "right" if any(is_(field.type) for is_ in NUMBERS) else "left"
        grid.add_column(shown(field.name), justify=justify, overflow="fold")
    columns = [column.to_pylist() for column in table.columns]
    for row in zip(*columns, strict=True):
        grid.add_row(*[shown("NULL" if value is None else value) for value in row])
    plain = screen()
    if wide or not plain.is_terminal:
        plain = Console(width=WIDTH if wide else plain.width, color_system=None)
    with plain.capture() as capture:
        plain.print(grid)
    return capture.get()
