"""Objects with unsorted fields, as DuckDB stores them: every lookup finds them, and text is sorted."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from shredlake import ShreddingSchema, Variant, from_arrow, get, shred, to_json, to_python, validate
from shredlake.kernels import variant
from shredlake.variant.metadata import encode_metadata

pytestmark = pytest.mark.usefixtures("kernels")


def unsorted(names: list[str], values: list[bytes]) -> tuple[bytes, bytes]:
    """An object of short values that lists its fields as they are given."""
    offsets, at = [0], 0
    for value in values:
        at += len(value)
        offsets.append(at)
    wide = len(names) > 255
    head = bytes([0b10 | (0b01 << 2) | (0b01 << 4) | (wide << 6)])
    count = len(names).to_bytes(4 if wide else 1, "little")
    ids = b"".join(number.to_bytes(2, "little") for number in range(len(names)))
    ends = b"".join(number.to_bytes(2, "little") for number in offsets)
    metadata = encode_metadata([name.encode() for name in names])
    return metadata, head + count + ids + ends + b"".join(values)


def column_of(*rows: tuple[bytes, bytes]) -> pa.StructArray:
    return pa.array([{"metadata": metadata, "value": value} for metadata, value in rows], variant())


@pytest.mark.parametrize("count", [2, 4, 5, 7, 32, 33, 200, 400])
def test_every_field_is_found(count: int) -> None:
    names = [f"k{number}" for number in range(count)]
    random.Random(count).shuffle(names)
    row = unsorted(names, [bytes([0x0C, number % 100]) for number in range(count)])
    column, one = column_of(row), Variant(*row)
    for number, name in enumerate(names):
        assert get(column, f"$.{name}", pa.int64()).to_pylist() == [number % 100]
        assert one[name].to_python() == number % 100
    assert get(column, "$.absent", pa.int64()).to_pylist() == [None]
    assert one.get("$.absent") is None
    schema = ShreddingSchema.parse(f"struct<{names[0]} bigint, {names[-1]} bigint, absent bigint>")
    shredded = shred(column, schema)
    assert to_python(shredded) == to_python(column)
    for name in names:
        assert get(shredded, f"$.{name}", pa.int64()).to_pylist() == [names.index(name) % 100]


def test_text_is_in_order() -> None:
    inner = unsorted(["z", "a", "m"], [b"\x0c\x01", b"\x0c\x02", b"\x0c\x03"])
    ordered = Variant.of({"a": 1, "b": 2})
    text = '{"a":2,"m":3,"z":1}'
    assert Variant(*inner).to_json() == text
    rows = [(ordered.metadata, ordered.value), inner, (ordered.metadata, ordered.value), inner]
    column = column_of(*rows)
    assert to_json(column).to_pylist() == ['{"a":1,"b":2}', text] * 2
    assert to_json(column.slice(1, 2)).to_pylist() == [text, '{"a":1,"b":2}']
    assert get(column, "$", pa.string()).to_pylist() == ['{"a":1,"b":2}', text] * 2
    assert [found["row"] for found in validate(column).to_pylist()] == [1, 3]
    assert validate(from_arrow(column)).num_rows == 0


def test_text_of_a_key_that_is_there_twice() -> None:
    """Damaged bytes that the reference prints are printed by the kernel, too."""
    metadata, value = unsorted(["b", "a", "b"], [b"\x0c\x01", b"\x0c\x02", b"\x0c\x03"])
    assert to_json(column_of((metadata, value))).to_pylist() == [Variant(metadata, value).to_json()]
