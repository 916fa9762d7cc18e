"""Columns whose values are in the names of folders, as Hive writes them.

```
raw/day=2026-01-01/hour=07/a.ndjson     {"day": "date", "hour": "int"}     day 2026-01-01, hour 7
```
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import unquote

import pyarrow as pa

from shredlake.delta.schema.partitions import NULL_DIRECTORY, parse_values
from shredlake.delta.schema.types import from_arrow
from shredlake.errors import CorruptLog, InvalidSchema, PipelineError
from shredlake.expr.types import parse_type
from shredlake.jobs.ingest.sources import SourceFile

MISSING: Final = object()


def folder_fields(columns: Mapping[str, str]) -> list[pa.Field]:
    """The columns as fields of a table.

    >>> folder_fields({"day": "date", "hour": "int"})
    [pyarrow.Field<day: date32[day]>, pyarrow.Field<hour: int32>]
    """
    fields = [pa.field(name, parse_type(kind).arrow) for name, kind in columns.items()]
    for field in fields:
        if pa.types.is_nested(field.type) or isinstance(field.type, pa.ExtensionType):
            raise InvalidSchema(
                f"the folder column {field.name!r} can't have the type {columns[field.name]}; "
                "use a plain type such as date, int or string"
            )
    return fields


def folder_values(uri: str, columns: Mapping[str, str]) -> dict[str, pa.Scalar]:
    """The values of a file's folders, typed. If a name repeats, the innermost folder counts.

    >>> folder_values("raw/day=2026-01-01/a=b%2Fc/x.ndjson", {"day": "date", "a": "string"})
    {'day': <pyarrow.Date32Scalar: datetime.date(2026, 1, 1)>, 'a': <pyarrow.StringScalar: 'b/c'>}
    """
    if not columns:
        return {}
    found = {name.casefold(): value for name, value in folder_texts(uri).items()}
    values: dict[str, pa.Scalar] = {}
    for field, item in zip(folder_fields(columns), _delta_types(columns), strict=True):
        text = found.get(field.name.casefold(), MISSING)
        if text is MISSING:
            raise PipelineError(
                f"{uri}: no folder above the file is named {field.name}=..., which folder_columns asks for. "
                "Nothing was committed"
            )
        known = pa.array([text], pa.string())
        try:
            values[field.name] = parse_values(known, item)[0]
        except CorruptLog:
            raise PipelineError(
                f"{uri}: the folder {field.name}={text} does not read as {columns[field.name]}. Nothing was "
                f"committed. Read it as a string, or rename the folder"
            ) from None
    return values


def folder_texts(uri: str) -> dict[str, str | None]:
    """The names and texts of a file's folders.

    >>> folder_texts("raw/day=2026-01-01/a=__HIVE_DEFAULT_PARTITION__/x.parquet")
    {'day': '2026-01-01', 'a': None}
    """
    pairs = (folder.partition("=") for folder in uri.split("/")[:-1])
    found = {unquote(name): unquote(value) for name, equals, value in pairs if equals}
    return {name: None if value == NULL_DIRECTORY else value for name, value in found.items()}


def inferred_type(texts: Iterable[str | None]) -> str:
    """The narrowest type of `int`, `bigint`, `date` and `string` that all texts read as.

    >>> inferred_type(["07", None]), inferred_type(["2026-01-31"]), inferred_type(["7", "x"])
    ('int', 'date', 'string')
    """
    known = pa.array([text for text in texts if text is not None], pa.string())
    for kind, name in (("integer", "int"), ("long", "bigint"), ("date", "date")):
        try:
            if len(known) and not parse_values(known, kind).null_count:
                return name
        except CorruptLog:
            continue
    return "string"


def _delta_types(columns: Mapping[str, str]) -> list[str]:
    return [str(item.type) for item in from_arrow(pa.schema(folder_fields(columns))).fields]


def with_folders(table: pa.Table, uri: str, columns: Mapping[str, str]) -> pa.Table:
    """The rows of a file with the values of its folders as further columns."""
    for name, value in folder_values(uri, columns).items():
        table = table.append_column(name, pa.repeat(value, table.num_rows))
    return table


def check_folders(files: Iterable[SourceFile], columns: Mapping[str, str]) -> None:
    """Raises if a file lacks one of the folders, or a value does not fit the type of its column."""
    if columns:
        for file in files:
            folder_values(file.uri, columns)


def refuse_for_columns(folder_columns: Mapping[str, str], multi_line: bool | None) -> None:
    """Raises if options for text files are given for a source whose documents are in a column."""
    given = {"folder_columns": folder_columns or None, "multi_line": multi_line}
    for name, value in given.items():
        if value is not None:
            raise PipelineError(f"{name} is for text files; the documents of this source are in a column")
