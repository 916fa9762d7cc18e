"""Arrow columns through the kernels: damaged rows, in every layout that Arrow has, one after the other.

The first part of an input chooses the operation, the layout of the column, schemas, paths and types; the
others are rows, metadata and value in turn. A process enters many times, so caches of the kernels are warm.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import pyarrow as pa

from fuzz.contract import Door
from fuzz.damage import change_bytes, pack, unpack
from mutations import SEEDS, large_texts
from shredlake import (
    ShreddingSchema,
    from_arrow,
    from_json,
    get,
    profile,
    reshred,
    shred,
    shredded_type,
    to_json,
    to_python,
    unshred,
    validate,
    variant,
)
from shredlake.kernels.checksum import checksum

SCHEMAS = [
    ShreddingSchema.parse(ddl)
    for ddl in (
        "bigint",
        "string",
        "array<variant>",
        "array<decimal(9,2)>",
        "array<struct<id bigint, name string, tags array<string>>>",
        "struct<a struct<b struct<c array<array<bigint>>>>, `\uffff` int>",
        "struct<`key 7` int, `key 100` string, `key 299` variant>",
        "struct<price decimal(9,2), `` struct<`` variant>>",
        f"struct<{', '.join(f'`field {number}` string' for number in range(27))}>",
        "struct<`field 3` bigint, `field 7` double, `field 9` decimal(5,2), `field 20` uuid>",
        "struct<a struct<a struct<a struct<a struct<a variant>>>>>",
    )
]
PATHS = [
    "$", "$.a", "$.a.b.c", "$[3]", "$[2].tags[1]", "$['key 7']", "$['field 12']", "$[0]", "$.price",
    "$['key 77']",
    "$.a.a.a.a", "$[1].name", "$[2000]",
]  # fmt: skip
TYPES = [
    None, pa.bool_(), pa.int8(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(9, 2),
    pa.decimal128(38, 10),
    pa.string(), pa.binary(), pa.date32(), pa.time64("us"), pa.timestamp("us", "UTC"), pa.timestamp("us"),
    pa.uuid(),
    pa.list_(pa.int64()), pa.struct([("id", pa.int64()), ("name", pa.string())]), pa.map_(pa.string(),
    pa.string()),
    pa.list_(pa.struct([("tags", pa.list_(pa.string()))])), pa.large_string(), pa.string_view(),
]  # fmt: skip


# ── Layouts of Arrow ────────────────────────────────────────────────────────────────────────────────────


def exact(array: pa.Array) -> pa.Array:
    """The same array in buffers of the exact size, so that AddressSanitizer detects reads beyond them."""
    rows = len(array)
    if array.offset:
        return array
    validity = _exact_buffer(array.buffers()[0], (rows + 7) // 8)
    if pa.types.is_struct(array.type):
        children = [exact(array.field(index)) for index in range(array.type.num_fields)]
        return pa.Array.from_buffers(array.type, rows, [validity], children=children)
    if array.type not in (pa.binary(), pa.string()):
        return array
    _, offsets, data = array.buffers()
    used = pa.Array.from_buffers(pa.int32(), rows + 1, [None, offsets])[rows].as_py() if rows else 0
    return pa.Array.from_buffers(
        array.type, rows, [validity, _exact_buffer(offsets, 4 * (rows + 1)), _exact_buffer(data, used)]
    )


def _exact_buffer(buffer: pa.Buffer | None, size: int) -> pa.Buffer | None:
    return None if buffer is None else pa.py_buffer(buffer.to_pybytes()[:size])


def _with_children(column: pa.StructArray, metadata: pa.Array, value: pa.Array) -> pa.StructArray:
    fields = [pa.field("metadata", metadata.type), pa.field("value", value.type)]
    return pa.StructArray.from_arrays([metadata, value], fields=fields, mask=column.is_null())


def _as(kind: pa.DataType) -> Callable[[pa.StructArray], pa.StructArray]:
    return lambda column: _with_children(column, *(child.cast(kind) for child in column.flatten()))


def _wild_offsets(column: pa.StructArray) -> pa.StructArray:
    """A child whose offsets point outside its buffer; pyarrow accepts such arrays unchecked."""
    rows = len(column)
    offsets = [0, *(5000 * number for number in range(1, rows)), 2][: rows + 1]
    packed = pa.py_buffer(struct.pack(f"<{rows + 1}i", *offsets))
    value = pa.Array.from_buffers(pa.binary(), rows, [None, packed, pa.py_buffer(b"ab")])
    return pa.Array.from_buffers(variant(), len(column), [None], children=[column.field(0), value])


def _null_metadata(column: pa.StructArray) -> pa.StructArray:
    metadata = column.field(0).to_pylist()
    metadata[len(metadata) // 2 :] = [None] * (len(metadata) - len(metadata) // 2)
    return pa.StructArray.from_arrays(
        [pa.array(metadata, pa.binary()), column.field(1)], ["metadata", "value"]
    )


def _null_value(column: pa.StructArray) -> pa.StructArray:
    value = column.field(1).to_pylist()
    value[:1] = [None]
    return pa.StructArray.from_arrays([column.field(0), pa.array(value, pa.binary())], ["metadata", "value"])


LAYOUTS: list[Callable[[pa.StructArray], pa.StructArray | pa.ChunkedArray]] = [
    exact,
    exact,
    lambda column: column,
    lambda column: pa.concat_arrays([column, column]).slice(1, max(len(column) - 1, 0)),
    lambda column: pa.chunked_array([column, column.slice(0, 0), column.slice(len(column) // 2)]),
    _as(pa.large_binary()),
    _as(pa.binary_view()),
    lambda column: _with_children(column, column.field(0).dictionary_encode(), column.field(1)),
    lambda column: pa.StructArray.from_arrays([column.field(1), column.field(0)], ["value", "metadata"]),
    lambda column: pa.StructArray.from_arrays(
        [column.field(0), column.field(1)], ["metadata", "value"], mask=pa.array([True] * len(column))
    ),
    _null_metadata,
    _null_value,
    _wild_offsets,
]


# ── Operations ──────────────────────────────────────────────────────────────────────────────────────────


class Choices:
    """Small numbers taken from the first part of an input, one after the other."""

    def __init__(self, data: bytes) -> None:
        self.numbers = iter(data)

    def below(self, limit: int) -> int:
        return next(self.numbers, 0) % limit


def _column(data: bytes) -> tuple[Choices, pa.StructArray | pa.ChunkedArray]:
    first, *rest = unpack(data) or [b""]
    choices = Choices(first)
    layout = LAYOUTS[choices.below(len(LAYOUTS))]
    pairs = list(zip(rest[::2], rest[1::2], strict=False))
    children = [pa.array([pair[part] for pair in pairs], pa.binary()) for part in (0, 1)]
    nulls = pa.array([not (metadata or value) for metadata, value in pairs], pa.bool_())
    mask = nulls if nulls.true_count else None
    return choices, layout(pa.StructArray.from_arrays(children, fields=list(variant()), mask=mask))


def enter_read(data: bytes) -> None:
    choices, column = _column(data)
    found = _READS[choices.below(len(_READS))](column)
    if isinstance(found, pa.Array | pa.ChunkedArray):
        found.validate(full=True)


# One thread: starting others for a few rows took more time than the work.
_READS: list[Callable[[Any], Any]] = [
    to_python,
    *(partial(work, threads=1) for work in (to_json, validate, profile, checksum, from_arrow)),
]


def enter_get(data: bytes) -> None:
    choices, column = _column(data)
    path, type_ = PATHS[choices.below(len(PATHS))], TYPES[choices.below(len(TYPES))]
    shredding = choices.below(2 * len(SCHEMAS))
    if shredding < len(SCHEMAS):
        column = shred(column, SCHEMAS[shredding], threads=1)
    strict = choices.below(2) == 1
    get(column, path, type_, strict=strict, threads=1).validate(full=True)


def enter_shred(data: bytes) -> None:
    """Shreds and unshreds: the values stay the same, also in another layout."""
    choices, column = _column(data)
    schema, other = (SCHEMAS[choices.below(len(SCHEMAS))] for _ in range(2))
    shredded = shred(column, schema, threads=1)
    shredded.validate(full=True)
    assert shredded.type == shredded_type(schema)
    back = unshred(shredded, threads=1)
    back.validate(full=True)
    reshred(shredded, other, threads=1).validate(full=True)
    if not len(validate(back, threads=1)):
        assert checksum(back, threads=1) == checksum(column, threads=1)


def enter_unshred(data: bytes) -> None:
    """Shredded columns whose binary parts are replaced by the bytes of other rows, or moved, or null."""
    choices, column = _column(data)
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    schema, other = (SCHEMAS[choices.below(len(SCHEMAS))] for _ in range(2))
    strict = choices.below(2) == 1
    good = _good_rows().take(pa.array([choices.below(len(_TEXTS)) for _ in range(len(column))], pa.int32()))
    parts = unpack(data)[1:]
    damaged = exact(_damaged(shred(good, schema, threads=1), random.Random(choices.below(256)), parts))
    work = [
        lambda: unshred(damaged, strict=strict, threads=1),
        lambda: reshred(damaged, other, threads=1),
        lambda: get(damaged, PATHS[choices.below(len(PATHS))], TYPES[choices.below(len(TYPES))], threads=1),
        lambda: to_json(damaged, threads=1),
    ]
    work[choices.below(len(work))]().validate(full=True)


def _damaged(array: pa.Array, dice: random.Random, parts: list[bytes]) -> pa.Array:
    if pa.types.is_struct(array.type):
        children = [
            _damaged(child, dice, parts) for child in (array.field(n) for n in range(array.type.num_fields))
        ]
        fields = [
            pa.field(field.name, child.type, field.nullable or child.null_count > 0)
            for field, child in zip(array.type, children, strict=True)
        ]
        return pa.Array.from_buffers(
            pa.struct(fields), len(array), array.buffers()[:1], -1, array.offset, children=children
        )
    if pa.types.is_list(array.type):
        values = _damaged(array.values, dice, parts)
        type_ = pa.list_(pa.field("element", values.type, array.type.value_field.nullable))
        return pa.Array.from_buffers(
            type_, len(array), array.buffers()[:2], -1, array.offset, children=[values]
        )
    if pa.types.is_binary(array.type) and parts:
        cells = [dice.choice(parts) if dice.random() < 0.3 else cell for cell in array.to_pylist()]
        return pa.array(
            [None if cell is not None and dice.random() < 0.1 else cell for cell in cells], pa.binary()
        )
    return array


_TEXTS = [
    '{"a":{"b":{"c":[[1],[2]]}},"\\uffff":1}', "[1,2,3]", '{"price":1.25,"":{"":[]}}',
    '[{"id":1,"name":"x","tags":["y"]}]',
    "17", '"text"', "null", '{"key 7":7,"key 100":"x","key 299":[1]}',
    '{"field 3":3,"field 7":0.5,"field 9":9.5}',
]  # fmt: skip


@cache
def _good_rows() -> pa.StructArray:
    return from_json(pa.array(_TEXTS))


def enter_from_arrow(data: bytes) -> None:
    """Columns of any Arrow type, built from the bytes, become Variants and Python objects again."""
    choices = Choices(data)
    array = any_array(choices, 3 + choices.below(5), 0)
    if choices.below(3) == 0:
        array = array.slice(1)
    column = from_arrow(array, threads=1)
    column.validate(full=True)
    to_python(column)
    to_json(column, threads=1)


def any_array(choices: Choices, rows: int, depth: int) -> pa.Array:
    makers = _LEAVES + (_NESTED if depth < 4 else [])
    return makers[choices.below(len(makers))](choices, rows, depth)


def _leaf(type_: pa.DataType) -> Callable[[Choices, int, int], pa.Array]:
    """Buffers of any bytes, as an array of a type of fixed width."""

    def make(choices: Choices, rows: int, depth: int) -> pa.Array:
        width = max(type_.bit_width // 8, 1)
        data = bytes(choices.below(256) for _ in range(min(rows * width, 64))).ljust(rows * width, b"\x81")
        validity = pa.py_buffer(bytes([choices.below(256)] * ((rows + 7) // 8)))
        return pa.Array.from_buffers(type_, rows, [validity, pa.py_buffer(data)])

    return make


def _bytes(type_: pa.DataType) -> Callable[[Choices, int, int], pa.Array]:
    def make(choices: Choices, rows: int, depth: int) -> pa.Array:
        cells = [
            bytes(choices.below(256) for _ in range(choices.below(4) * choices.below(4))) for _ in range(rows)
        ]
        array = pa.array([cell or None for cell in cells], pa.binary())
        if pa.types.is_string(type_) and choices.below(4):
            return pa.array([cell.decode("utf-8", "replace") for cell in cells], pa.string())
        if type_ == pa.string():
            return pa.Array.from_buffers(pa.string(), rows, array.buffers())
        return array.cast(type_)

    return make


def _lists(choices: Choices, rows: int, depth: int) -> pa.Array:
    sizes = [choices.below(4) for _ in range(rows)]
    ends = [sum(sizes[:n]) for n in range(rows + 1)]
    values = any_array(choices, ends[-1], depth + 1)
    kind = choices.below(3)
    if kind == 0:
        return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), values)
    if kind == 1:
        return pa.ListViewArray.from_arrays(
            pa.array(ends[:-1], pa.int32()), pa.array(sizes, pa.int32()), values
        )
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)


def _structs(choices: Choices, rows: int, depth: int) -> pa.Array:
    count = choices.below(4)
    names = [["a", "b", "a", "é", "", "metadata"][choices.below(6)] for _ in range(count)]
    children = [any_array(choices, rows, depth + 1) for _ in names]
    if not children:
        return pa.array([{}] * rows, pa.struct([]))
    return pa.StructArray.from_arrays(children, names)


def _maps(choices: Choices, rows: int, depth: int) -> pa.Array:
    sizes = [choices.below(3) for _ in range(rows)]
    ends = pa.array([sum(sizes[:n]) for n in range(rows + 1)], pa.int32())
    keys = pa.array([f"k{choices.below(4)}" for _ in range(sum(sizes))], pa.string())
    return pa.MapArray.from_arrays(ends, keys, any_array(choices, sum(sizes), depth + 1))


def _dictionaries(choices: Choices, rows: int, depth: int) -> pa.Array:
    values = any_array(choices, 3, 4)
    indices = pa.array([choices.below(4 if choices.below(8) == 0 else 3) for _ in range(rows)], pa.int8())
    return pa.DictionaryArray.from_arrays(indices, values, safe=False)


_LEAVES = [
    *(
        _leaf(type_)
        for type_ in (
            pa.bool_(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(),
            pa.uint64(),
            pa.float16(), pa.float32(), pa.float64(), pa.date32(), pa.date64(), pa.time32("s"),
            pa.time32("ms"),
            pa.time64("us"), pa.time64("ns"), pa.timestamp("s"), pa.timestamp("ms", "UTC"),
            pa.timestamp("us"),
            pa.timestamp("ns", "Europe/Berlin"), pa.duration("us"), pa.decimal32(5, 2), pa.decimal64(18, 3),
            pa.decimal128(38, 10), pa.decimal256(76, 10), pa.binary(16), pa.month_day_nano_interval(),
        )
    ),
    *(
        _bytes(type_)
        for type_ in (pa.string(), pa.binary(), pa.large_binary(), pa.binary_view(), pa.string())
    ),
    lambda choices, rows, depth: pa.nulls(rows),
]  # fmt: skip
_NESTED = [_lists, _structs, _maps, _dictionaries]


# ── Inputs ──────────────────────────────────────────────────────────────────────────────────────────────


@cache
def column_seeds() -> list[bytes]:
    """Single rows, several rows, and rows of more than 1,000 entries and levels."""
    pairs = [(seed.metadata, seed.value) for seed in SEEDS]
    dice = random.Random(7)
    seeds = [pack(dice.randbytes(8), *pair) for pair in pairs]
    seeds += [pack(dice.randbytes(8), *_flat(dice.sample(pairs, 4))) for _ in range(20)]
    large = from_json(pa.array(large_texts(dice) + large_texts(dice))).to_pylist()
    seeds += [pack(dice.randbytes(8), row["metadata"], row["value"]) for row in large]
    return seeds


def _flat(pairs: list[tuple[bytes, bytes]]) -> Iterator[bytes]:
    for pair in pairs:
        yield from pair


def change_rows(data: bytes, dice: random.Random) -> bytes:
    """Another operation or layout, a row more, less or from elsewhere, or a damaged row."""
    parts = unpack(data) or [b""]
    kind = dice.randrange(10)
    if kind < 3:
        parts[0] = dice.randbytes(8)
    elif kind == 3 and len(parts) > 3:
        at = dice.randrange(1, len(parts), 2)
        del parts[at : at + 2]
    elif kind == 4 and len(parts) < 40:
        at = dice.randrange(1, len(parts) + 1, 2)
        parts[at:at] = unpack(dice.choice(column_seeds()))[1:3]
    elif kind == 5 and len(parts) > 4:
        one, other = (dice.randrange(1, len(parts)) for _ in range(2))
        parts[one], parts[other] = parts[other], parts[one]
    if kind > 2 and len(parts) > 1:
        for _ in range(dice.choice([1, 1, 2])):
            at = dice.randrange(1, len(parts))
            parts[at] = change_bytes(parts[at], dice)
    return pack(*parts)


def from_arrow_seeds() -> list[bytes]:
    dice = random.Random(3)
    return [dice.randbytes(dice.choice([10, 40, 100, 300])) for _ in range(200)]


DOORS = [
    Door("arrow-read", "kernels", column_seeds, enter_read, change_rows),
    Door("arrow-get", "kernels", column_seeds, enter_get, change_rows),
    Door("arrow-shred", "kernels", column_seeds, enter_shred, change_rows),
    Door("arrow-unshred", "kernels", column_seeds, enter_unshred, change_rows),
    Door("arrow-from-arrow", "kernels", from_arrow_seeds, enter_from_arrow, change_bytes),
]
