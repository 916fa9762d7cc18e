"""Converts the rows that users pass to `append`, `overwrite` and `write_parquet` into Arrow tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, TypeAlias

import pyarrow as pa

from shredlake.errors import InvalidJson, InvalidSchema, InvalidValue, WrongType
from shredlake.formatting import kind_of
from shredlake.kernels.arrow.normalize import checked_table, unencoded_type
from shredlake.kernels.arrow.types import variant
from shredlake.kernels.from_json import from_json
from shredlake.parquet.arrow_stream import ArrowData, ArrowStream
from shredlake.variant import Variant

# Python objects that are turned into one table.
_ROWS_AT_ONCE = 65_536

_TEXTS = {pa.string(), pa.large_string(), pa.string_view()}

Rows: TypeAlias = (
    "ArrowData | Iterable[Mapping[str, object]] | Iterable[pa.RecordBatch | pa.Table] "
    "| Mapping[str, Iterable[object]]"
)
"""Rows as users pass them: Arrow data, a pandas or Polars frame, rows as dicts, or columns by name."""

WHAT_TO_PASS = (
    "pass an Arrow table, batch or reader, a pandas or Polars frame, anything with an Arrow stream, "
    "a list of dicts (rows), or a dict of lists (columns)"
)


def given_tables(data: Rows, variants: Collection[str] = (), limit: int = 1 << 29) -> Iterator[pa.Table]:
    """Converts the user's data to tables of bounded size.

    `variants` names the Variant columns. A string in them is JSON, whether it is a Python str or in an Arrow,
    pandas or Polars column of strings. Any other Python object becomes the Variant of that object, and None
    is null.

    >>> [table] = given_tables([{"id": 1, "v": {"a": [1]}}, {"id": 2, "v": '{"a": 2}'}, {"id": 3}], ["v"])
    >>> table.schema.names, table.column("v").null_count
    (['id', 'v'], 1)
    >>> next(given_tables("x"))
    Traceback (most recent call last):
    ...
    shredlake.errors.WrongType: rows can't be read from a str; pass an Arrow table, batch or reader, ...
    """
    folded = frozenset(name.casefold() for name in variants)
    first_row = 0
    for table in _tables(data, folded, limit):
        yield _with_parsed_texts(checked_table(table), folded, first_row)
        first_row += table.num_rows


def _tables(data: Any, variants: frozenset[str], limit: int) -> Iterator[pa.Table]:
    if isinstance(data, pa.Table):
        yield data
    elif isinstance(data, pa.RecordBatch):
        yield pa.Table.from_batches([data])
    elif _is_frame(data, "pandas"):
        yield _from_pandas(data, variants)
    elif _is_frame(data, "polars"):
        yield data.to_arrow()  # its stream uses string views, which fewer readers support
    elif isinstance(data, ArrowStream):  # through a C stream, its errors would become those of Arrow
        yield from _bounded(data.to_batches(), limit, data.schema)
    elif hasattr(data, "__arrow_c_stream__"):
        yield from _bounded(_stream(data), limit)
    elif isinstance(data, Mapping):
        yield _from_columns(data, variants)
    elif isinstance(data, Iterable) and not isinstance(data, str | bytes | bytearray | pa.Array):
        yield from _from_items(iter(data), getattr(data, "schema", None), variants, limit)
    else:
        hint = " (call collect() first)" if hasattr(data, "collect") else ""
        raise WrongType(f"rows can't be read from {kind_of(data)}{hint}; {WHAT_TO_PASS}")


def _is_frame(data: Any, library: str) -> bool:
    """Whether the data is a DataFrame of the library, which may not be installed."""
    return type(data).__module__.split(".")[0] == library and type(data).__name__ == "DataFrame"


def _stream(data: Any) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(data)
    except (pa.ArrowException, ValueError) as error:
        raise WrongType(
            f"the Arrow stream of {kind_of(data)} has no columns ({error}); {WHAT_TO_PASS}"
        ) from None


def _from_pandas(frame: Any, variants: frozenset[str]) -> pa.Table:
    """Converts a frame without its index; Arrow recognises pandas' various nulls.

    Objects in a Variant column become Variants one by one: Arrow would give all of them the same fields.
    """
    names = frame.columns if frame.columns.is_unique else ()
    objects = {
        name: frame[name].astype(object).where(frame[name].notna(), None).tolist()
        for name in names
        if isinstance(name, str) and name.casefold() in variants and frame[name].dtype == object
    }
    made = {name: _column(name, values, True, 0) for name, values in objects.items()}
    try:
        rest = frame.assign(**dict.fromkeys(made))
        table = pa.Table.from_pandas(rest, preserve_index=False).replace_schema_metadata(None)
        for name, column in made.items():
            table = table.set_column(table.column_names.index(name), name, column)
        return table
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidSchema(f"the pandas frame can't be read as Arrow: {error}") from None


def _with_parsed_texts(table: pa.Table, variants: frozenset[str], first_row: int) -> pa.Table:
    """The table with JSON texts in Variant columns parsed."""
    for place, field in enumerate(table.schema):
        if field.name.casefold() in variants and unencoded_type(field.type) in _TEXTS:
            try:
                parsed = from_json(table.column(place))
            except InvalidJson as error:
                raise _not_json(error, field.name, first_row + (error.row or 0)) from None
            table = table.set_column(place, field.name, parsed)
    return table


def _not_json(error: InvalidJson, name: str, row: int) -> InvalidJson:
    return InvalidJson(
        f"column {name}: a text for a Variant column must be JSON (sl.Variant.of(text) stores the text "
        f"itself): {error.problem}",
        position=error.position,
        line=error.line,
        column=error.column,
        row=row,
    )


def _from_items(
    items: Iterator[Any], schema: pa.Schema | None, variants: frozenset[str], limit: int
) -> Iterator[pa.Table]:
    """Rows from an iterable of Arrow batches or tables, or of dicts."""
    first = next(items, None)
    if first is None:
        if isinstance(schema, pa.Schema):
            yield schema.empty_table()
        return
    everything = chain([first], items)
    if not isinstance(first, Mapping):
        yield from _bounded(everything, limit, schema)
        return
    start = 0
    while rows := list(islice(everything, _ROWS_AT_ONCE)):
        yield _from_rows(rows, start, variants)
        start += len(rows)


def _bounded(batches: Iterable[Any], limit: int, schema: pa.Schema | None = None) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    size = 0
    schema = getattr(batches, "schema", schema)
    for number, batch in enumerate(batches):
        if not isinstance(batch, pa.Table | pa.RecordBatch):
            raise WrongType(f"item {number} is {kind_of(batch)}; {WHAT_TO_PASS}")
        waiting.extend(batch.to_batches() if isinstance(batch, pa.Table) else [batch])
        size += batch.nbytes
        if size >= limit:
            yield pa.Table.from_batches(waiting)
            waiting, size = [], 0
    if waiting or schema is not None:
        yield pa.Table.from_batches(waiting, schema)


def _from_rows(rows: list[Any], start: int, variants: frozenset[str]) -> pa.Table:
    names: dict[str, None] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise WrongType(f"row {start + number} is {kind_of(row)}, but the first row is a dict")
        names.update(dict.fromkeys(row))
    return _from_columns({name: [row.get(name) for row in rows] for name in names}, variants, start)


def _from_columns(columns: Mapping[Any, Any], variants: frozenset[str], start: int = 0) -> pa.Table:
    made = {}
    for name, values in columns.items():
        if not isinstance(name, str):
            raise WrongType(f"column names must be strings, found {name!r}")
        made[name] = _column(name, values, name.casefold() in variants, start)
    lengths = {name: len(column) for name, column in made.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InvalidSchema(f"the columns differ in length: {shown}")
    return pa.Table.from_arrays(list(made.values()), names=list(made))


def _column(name: str, values: Any, is_variant: bool, start: int) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise WrongType(f"column {name} is {kind_of(values)}, expected a list of its values")
    try:
        if isinstance(values, list) and (is_variant or any(isinstance(value, Variant) for value in values)):
            return pa.array(
                [_variant(name, start + row, value) for row, value in enumerate(values)], variant()
            )
        return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, InvalidJson | InvalidValue | WrongType):
            raise
        if isinstance(error, OverflowError):
            raise InvalidSchema(
                f"column {name} holds an integer that does not fit into 64 bits; use Decimal, or a Variant"
            ) from None
        raise InvalidSchema(f"column {name} holds values of different types: {error}") from None


def _variant(name: str, row: int, value: Any) -> dict[str, bytes] | None:
    if value is None:
        return None
    try:
        if isinstance(value, str):
            made = Variant.from_json(value)
        else:
            made = value if isinstance(value, Variant) else Variant.of(value)
    except InvalidJson as error:
        raise _not_json(error, name, row) from None
    except InvalidValue as error:
        raise InvalidValue(f"column {name}, row {row}: {error}") from None
    return {"metadata": bytes(made.metadata), "value": bytes(made.value)}
