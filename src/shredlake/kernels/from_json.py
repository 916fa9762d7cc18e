"""Converts JSON text to Variant columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, overload

import pyarrow as pa

from shredlake.errors import InvalidJson, WrongType
from shredlake.formatting import kind_of
from shredlake.kernels.arrow.normalize import checked, unencoded, unencoded_type
from shredlake.kernels.arrow.types import variant
from shredlake.kernels.dispatch import dispatch
from shredlake.kernels.threads import Column, assemble, pieces, run, thread_count

MAX_DEPTH = 1000
MAX_SIZE = 128 << 20

Texts: TypeAlias = Column | Sequence[str | bytes | None] | Any
"""A column of JSON texts: an Arrow column, a list, a pandas Series or a NumPy array."""

Rejects: TypeAlias = pa.Table
"""The rows that are not JSON: `row`, `position` (in bytes), `reason` and the `text` itself."""

REJECTS_SCHEMA = pa.schema(
    [("row", pa.int64()), ("position", pa.int64()), ("reason", pa.string()), ("text", pa.binary())]
)

_TAKEN_AS_THEY_ARE = {pa.string(), pa.binary(), pa.large_string(), pa.large_binary()}
_CAST_FIRST = {
    pa.string_view(): pa.large_string(),
    pa.binary_view(): pa.large_binary(),
    pa.null(): pa.string(),
}


@overload
def from_json(
    strings: Texts,
    *,
    on_error: Literal["raise", "null"] = "raise",
    duplicate_keys: Literal["error", "last_wins"] = "error",
    max_depth: int = MAX_DEPTH,
    max_size: int = MAX_SIZE,
    threads: int | None = None,
) -> Column: ...


@overload
def from_json(
    strings: Texts,
    *,
    on_error: Literal["collect"],
    duplicate_keys: Literal["error", "last_wins"] = "error",
    max_depth: int = MAX_DEPTH,
    max_size: int = MAX_SIZE,
    threads: int | None = None,
) -> tuple[Column, Rejects]: ...


def from_json(
    strings: Texts,
    *,
    on_error: Literal["raise", "null", "collect"] = "raise",
    duplicate_keys: Literal["error", "last_wins"] = "error",
    max_depth: int = MAX_DEPTH,
    max_size: int = MAX_SIZE,
    threads: int | None = None,
) -> Column | tuple[Column, Rejects]:
    """Parses a column of JSON texts into a Variant column; a null text gives a null row.

    Takes string and binary columns in all of Arrow's layouts, lists of str, pandas Series and NumPy arrays.
    A text that is not JSON, or that is nested deeper than `max_depth`, or whose Variant is larger than
    `max_size` bytes, raises InvalidJson with row and position; `on_error="null"` makes it a null row instead,
    and "collect" also returns a table of the rejects (row, position, reason, text). A key that occurs twice
    in an object is such an error too, unless `duplicate_keys="last_wins"`. Uses a thread per core by default.

    >>> import pyarrow as pa
    >>> column = from_json(['{"a": [1, 2.50]}', None])
    >>> column.type
    StructType(struct<metadata: binary not null, value: binary>)
    >>> column, rejects = from_json(pa.array(['1', '{"a" 1}']), on_error="collect")
    >>> rejects.to_pylist()
    [{'row': 1, 'position': 5, 'reason': "found '1', expected ':'", 'text': b'{"a" 1}'}]
    """
    if on_error not in ("raise", "null", "collect"):
        raise ValueError(f'on_error must be "raise", "null" or "collect", not {on_error!r}')
    if duplicate_keys not in ("error", "last_wins"):
        raise ValueError(f'duplicate_keys must be "error" or "last_wins", not {duplicate_keys!r}')
    strings = _column(strings)
    _check_type(strings.type)

    def work(first_row: int, piece: pa.Array) -> tuple[pa.Array, Rejects]:
        texts = _contiguous(piece)
        column, found = dispatch("json_encode").encode(
            texts, duplicate_keys == "last_wins", max_depth, max_size, on_error == "raise", variant()
        )
        if on_error == "raise" and found:
            row, error = found[0]
            raise _at_row(error, first_row + row)
        return column, _rejects(first_row, texts, found)

    count = thread_count(threads)
    results = run(work, pieces(strings, count), count)
    column = assemble(strings, [column for column, _ in results])
    return (column, pa.concat_tables([found for _, found in results])) if on_error == "collect" else column


def _column(strings: Any) -> Column:
    """Returns the texts as an Arrow column."""
    if isinstance(strings, pa.Array | pa.ChunkedArray):
        return strings
    if isinstance(strings, str | bytes | Mapping) or not (
        isinstance(strings, Sequence) or hasattr(strings, "__array__") or hasattr(strings, "__arrow_array__")
    ):
        raise WrongType(
            "from_json takes a column of JSON texts: an Arrow array, a list of str, a pandas Series or a "
            f"NumPy array, not {kind_of(strings)}; for a single text use Variant.from_json(text)"
        )
    try:
        return pa.array(strings, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, UnicodeError) as error:
        raise WrongType(f"from_json takes texts, str or bytes, or None: {error}") from None


def _check_type(type_: pa.DataType) -> None:
    type_ = unencoded_type(type_)
    if type_ not in _TAKEN_AS_THEY_ARE and type_ not in _CAST_FIRST:
        raise WrongType(f"from_json takes a column of string or binary, not {type_}")


def _contiguous(array: pa.Array) -> pa.Array:
    """Converts the texts to a layout that the kernel reads."""
    array = unencoded(checked(array))
    target = _CAST_FIRST.get(array.type)
    return array if target is None else array.cast(target)


def _at_row(error: InvalidJson, row: int) -> InvalidJson:
    return InvalidJson(error.problem, position=error.position, line=error.line, column=error.column, row=row)


def _rejects(first_row: int, texts: pa.Array, found: list[tuple[int, InvalidJson]]) -> Rejects:
    rows = [row for row, _ in found]
    return pa.table(
        [
            pa.array([first_row + row for row in rows], pa.int64()),
            pa.array([error.position for _, error in found], pa.int64()),
            pa.array([error.problem for _, error in found], pa.string()),
            texts.take(pa.array(rows, pa.int64())).cast(pa.binary()),
        ],
        schema=REJECTS_SCHEMA,
    )
