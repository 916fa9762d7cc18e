"""Partition values: text in the log, typed in queries, directories on disk."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.schema.types import DeltaType, Field, Struct, arrow_type
from shredlake.errors import CorruptLog, InvalidSchema

# Characters that some file systems forbid in names, besides control characters; percent-escaped in folders.
_UNSAFE = set("\"#%'*/:=?\\\x7f{}[]^ ")
NULL_DIRECTORY = "__HIVE_DEFAULT_PARTITION__"
"""The name of a null in folders."""


def serialize(value: Any) -> str | None:
    """A partition value as the log spells it.

    >>> serialize(date(2026, 1, 31)), serialize(True), serialize(None)
    ('2026-01-31', 'true', None)
    """
    match value:
        case None | "" | b"":
            return None  # an empty string reads back as null, in every engine
        case bool():
            return "true" if value else "false"
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
        case datetime():
            return value.isoformat(sep=" ", timespec="microseconds" if value.microsecond else "seconds")
        case date():
            return value.isoformat()
        case bytes():
            return value.decode("latin-1")
        case Decimal():
            return format(value, "f")
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"  # as Java reads it
        case float():
            return "NaN" if math.isnan(value) else repr(value)
        case _:
            return str(value)


def parse_values(texts: pa.Array | pa.ChunkedArray, kind: str) -> pa.Array | pa.ChunkedArray:
    """A column of partition values from their texts.

    >>> parse_values(pa.array(["2026-01-31", "", None]), "date").to_pylist()
    [datetime.date(2026, 1, 31), None, None]
    """
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    target = arrow_type(kind)
    try:
        if kind == "string":
            return texts
        if kind == "binary":
            return pa.array([None if v is None else v.encode("latin-1") for v in texts.to_pylist()], target)
        if kind == "boolean":
            return pc.cast(pc.utf8_lower(texts), target)
        if kind.startswith("timestamp"):
            return _parse_timestamps(texts, target)
        return pc.cast(texts, target)
    except (pa.ArrowException, ValueError) as error:
        raise CorruptLog(f"a partition value does not read as {kind}: {error}") from None


def _parse_timestamps(texts: Any, target: pa.DataType) -> Any:
    """ISO text with T or a blank, with or without Z; a time without a zone is taken as UTC."""
    bare = pc.replace_substring_regex(texts, r"(Z|\+00:?00)$", "")
    parsed = pc.cast(pc.replace_substring(bare, "T", " "), pa.timestamp("us"))
    return parsed if target.tz is None else pc.assume_timezone(parsed, "UTC")


def looked_up(maps: pa.Array | pa.ChunkedArray, field: Field) -> pa.Array | pa.ChunkedArray:
    """The typed values of one partition column, out of the log's maps."""
    assert isinstance(field.type, str)
    return parse_values(pc.map_lookup(maps, pa.scalar(field.physical_name), "first"), field.type)


def identities(maps: pa.Array | pa.ChunkedArray, fields: Sequence[Field]) -> Any:
    """One text per file that is equal for files of one partition, however their writers spell its values.

    >>> maps = pa.array([[("n", "1")], [("n", "01")], [("n", "")]], pa.map_(pa.string(), pa.string()))
    >>> one, same, null = identities(maps, [Field("n", "long")]).to_pylist()
    >>> one == same, one == null
    (True, False)
    """
    texts = []
    for field in fields:
        values = looked_up(maps, field)
        if field.type == "binary":
            texts_of = pc.map_lookup(maps, pa.scalar(field.physical_name), "first")
            values = parse_values(texts_of, "string")
        texts.append(_delimited(pc.cast(values, pa.string())))
    return pc.binary_join_element_wise(*texts, "")


def _delimited(texts: Any) -> Any:
    """Texts prefixed with their length, so that joined rows differ whenever the parts differ; nulls too."""
    lengths = pc.cast(pc.binary_length(texts), pa.string())
    return pc.fill_null(pc.binary_join_element_wise(lengths, texts, ":"), "null,")


def stored(column: pa.ChunkedArray, kind: DeltaType) -> pa.ChunkedArray:
    """The values of a partition column as they will read back: an empty text or binary is null.

    >>> stored(pa.chunked_array([["a", ""]]), "string").to_pylist()
    ['a', None]
    """
    if kind not in ("string", "binary"):
        return column
    return pc.if_else(pc.equal(pc.binary_length(column), 0), pa.scalar(None, column.type), column)


def directory(values: Mapping[str, str | None]) -> str:
    """The directory that files of a partition go to, by convention.

    >>> directory({"day": "2026-01-31", "city": "a/b", "x": None})
    'day=2026-01-31/city=a%2Fb/x=__HIVE_DEFAULT_PARTITION__/'
    """
    return "".join(
        f"{_escape(name)}={NULL_DIRECTORY if text is None else _escape(text)}/"
        for name, text in values.items()
    )


def _escape(text: str) -> str:
    return "".join(quote(c, safe="") if c in _UNSAFE or ord(c) < 32 else c for c in text)


def split(
    table: pa.Table, schema: Struct, columns: tuple[str, ...]
) -> Iterator[tuple[dict[str, Any], pa.Table]]:
    """The rows of each partition without partition columns, and the partition values by logical name."""
    if not columns:
        yield {}, table
        return
    numbered = table.select(list(columns)).append_column("\0row", pa.array(np.arange(table.num_rows)))
    groups = numbered.group_by(list(columns), use_threads=False).aggregate([("\0row", "list")])
    rest = table.drop_columns(list(columns))
    places = groups.column("\0row_list").combine_chunks()
    by_column = {name: _python_values(groups.column(name), name) for name in columns}
    for number, values in enumerate(zip(*by_column.values(), strict=True)):
        yield dict(zip(columns, values, strict=True)), rest.take(places[number].values)


def _python_values(column: pa.ChunkedArray, name: str) -> list[Any]:
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        raise InvalidSchema(
            f"partition column {name} has a {column.type} outside the years 1 to 9999, which can't be a "
            "partition value; partition by another column, or leave such rows out"
        ) from None


def python_value(text: str | None, field: Field) -> Any:
    """One partition value of the log.

    >>> python_value("2026-01-31", Field("d", "date"))
    datetime.date(2026, 1, 31)
    """
    assert isinstance(field.type, str)
    try:
        return parse_values(pa.array([text], pa.string()), field.type)[0].as_py()
    except (ValueError, OverflowError):
        raise CorruptLog(
            f"the value {text!r} of partition column {field.name} is outside the years 1 to 9999, which "
            "shredlake can't read"
        ) from None
