"""Converts any Arrow column to Variants."""

from __future__ import annotations

import pyarrow as pa

from shredlake.errors import InvalidValue, MalformedVariant, ShredlakeError
from shredlake.kernels.arrow.nodes import ArrowNode, node_of
from shredlake.kernels.arrow.normalize import checked
from shredlake.kernels.arrow.types import variant
from shredlake.kernels.dispatch import dispatch
from shredlake.kernels.fallback.from_arrow import row_variant
from shredlake.kernels.row_errors import in_row
from shredlake.kernels.threads import Column, assemble, pieces, run, thread_count


def from_arrow(column: Column, *, threads: int | None = None) -> Column:
    """Encodes any Arrow column as a Variant column.

    | Arrow | Variant |
    |---|---|
    | bool | boolean |
    | int8 to int64 | the same width |
    | uint8, uint16, uint32 | int16, int32, int64 |
    | uint64 | int64 if it fits, else decimal |
    | float16, float32 | float |
    | float64 | double |
    | decimal, any width, up to 38 digits | the narrowest decimal that holds the digits, with the same scale |
    | string, large_string, string_view | string |
    | binary, large_binary, binary_view, fixed_size_binary | binary |
    | date32, date64 | date |
    | time32, time64 | time in microseconds; an error if nanoseconds would be lost |
    | timestamp in s, ms, us | timestamp, or timestamp_ntz without zone |
    | timestamp in ns | timestamp_nanos, or timestamp_ntz_nanos without zone |
    | uuid | uuid |
    | struct | object with all fields: a null field is a Variant null |
    | list in every layout | array: a null element is a Variant null |
    | map with string keys | object; a key that occurs twice is an error |
    | a Variant column, shredded or not | unchanged, also nested |
    | dictionary, run-end encoded, extension | as their values |
    | null | Variant null |

    A null row stays a null row; nested nulls become Variant nulls, as in Spark's to_variant_object. Other
    types (durations, intervals, unions, maps with other keys) raise an InvalidSchema that names the path.

    >>> import pyarrow as pa
    >>> from shredlake.kernels import to_json
    >>> people = pa.array([{"name": "Ada", "born": None, "tags": ["x"]}, None])
    >>> to_json(from_arrow(people)).to_pylist()
    ['{"born":null,"name":"Ada","tags":["x"]}', None]
    """
    count = thread_count(threads)
    results = run(_encode_piece, pieces(column, count), count)
    return assemble(column, [array for arrays in results for array in arrays])


def _encode_piece(first_row: int, piece: pa.Array) -> list[pa.StructArray]:
    node = node_of(checked(piece))
    encode = dispatch("from_arrow").encode
    arrays: list[pa.StructArray] = []
    row = 0
    while row < len(piece) or not arrays:
        encoded, stopped, full = encode(node, row, variant())
        if stopped < len(piece) and not (full and len(encoded)):
            raise _reason(node, stopped, first_row)
        arrays.append(encoded)
        row = stopped
    return arrays


def _reason(node: ArrowNode, row: int, first_row: int) -> ShredlakeError:
    """Returns the error of a row that the kernel found; the reference explains it."""
    try:
        row_variant(node, row)
    except MalformedVariant as error:
        return in_row(error, first_row + row)
    except ShredlakeError as error:
        return InvalidValue(f"row {first_row + row}: {error}")
    return InvalidValue(f"row {first_row + row}: the Variant would exceed 2 GiB")
