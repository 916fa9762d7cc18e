"""`to_json`: every type and container, sliced, chunked, shredded, damaged."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from mutations import ODD_NUMBERS, SCALARS, SEEDS, mutated
from shredlake import (
    Float32,
    InvalidSchema,
    MalformedVariant,
    ShreddingSchema,
    Variant,
    shred,
    to_json,
    to_python,
)
from shredlake.kernels import variant
from variant_columns import column

pytestmark = pytest.mark.usefixtures("kernels")


def test_every_scalar_and_container_has_the_text_of_the_reference() -> None:
    rows = [*SEEDS, *map(Variant.of, SCALARS), *map(Variant.of, ODD_NUMBERS)]
    assert to_json(column(rows)).to_pylist() == [row.to_json() for row in rows]


def test_numbers_by_the_thousand() -> None:
    source = random.Random(3)
    numbers: list[Any] = [struct.unpack("<d", source.randbytes(8))[0] for _ in range(1000)]
    numbers += [Float32(struct.unpack("<f", source.randbytes(4))[0]) for _ in range(1000)]
    numbers += [round(source.uniform(-1e6, 1e6), source.randrange(7)) for _ in range(1000)]
    rows = [Variant.of(number) for number in numbers]
    assert to_json(column(rows)).to_pylist() == [row.to_json() for row in rows]


def test_slices_chunks_and_nulls() -> None:
    rows = [Variant.of({"a": index}) if index % 3 else None for index in range(12)]
    texts = [None if row is None else row.to_json() for row in rows]
    whole = column(rows)
    for start, length in [(0, 12), (1, 5), (3, 1), (7, 5), (12, 0)]:
        assert to_json(whole.slice(start, length)).to_pylist() == texts[start : start + length]
        assert len(to_python(whole.slice(start, length))) == length
    chunked = pa.chunked_array([whole.slice(0, 5), whole.slice(5, 0), whole.slice(5)])
    assert isinstance(to_json(chunked), pa.ChunkedArray)
    assert to_json(chunked).to_pylist() == texts
    assert to_python(chunked) == [None if row is None else row.to_python() for row in rows]


def test_shredded_columns() -> None:
    rows = [Variant.of({"a": 1, "b": "x"}), Variant.of({"a": "no number"}), Variant.of([1]), None]
    shredded = shred(column(rows), ShreddingSchema.parse("struct<a bigint>"))
    assert to_json(shredded).to_pylist() == ['{"a":1,"b":"x"}', '{"a":"no number"}', "[1]", None]
    assert to_python(shredded) == [{"a": 1, "b": "x"}, {"a": "no number"}, [1], None]


def test_other_layouts_of_binary() -> None:
    for layout in (pa.large_binary(), pa.binary_view()):
        whole = column([Variant.of({"a": 1}), None])
        other = pa.StructArray.from_arrays(
            [whole.field("metadata").cast(layout), whole.field("value").cast(layout)],
            ["metadata", "value"],
            mask=whole.is_null(),
        )
        assert to_json(other).to_pylist() == ['{"a":1}', None]
        assert to_python(other) == [{"a": 1}, None]


def test_a_missing_value_reads_as_variant_null() -> None:
    missing = pa.StructArray.from_arrays(
        [pa.array([b"\x01\x00\x00"]), pa.array([None], pa.binary())], ["metadata", "value"]
    )
    assert to_json(missing).to_pylist() == ["null"]
    assert to_python(missing) == [None]


def test_damage_is_the_error_of_the_reference_with_its_row() -> None:
    good = Variant.of(1)
    for metadata, value in mutated(300, seed=11):
        rows = [(good.metadata, good.value), (metadata, value)]
        damaged = pa.array([{"metadata": m, "value": v} for m, v in rows], variant())
        for convert, method in ((texts_of, Variant.to_json), (to_python, Variant.to_python)):
            expected, error = attempt(lambda: method(Variant(metadata, value)))  # noqa: B023
            found, found_error = attempt(lambda: convert(damaged)[1])  # noqa: B023
            assert repr(found) == repr(expected)
            if error is not None:
                assert found_error is not None
                assert found_error.problem == f"row 1: {error.problem}"
                assert (found_error.offset, found_error.path) == (error.offset, error.path)


def attempt(read: Callable[[], object]) -> tuple[object, MalformedVariant | None]:
    """The result, or the error that is raised instead."""
    try:
        return read(), None
    except MalformedVariant as error:
        return None, error


def texts_of(rows: pa.StructArray) -> list[str]:
    texts: list[str] = to_json(rows).to_pylist()
    return texts


def test_values_that_share_bytes_are_damage_however_they_are_arranged() -> None:
    """Two fields with one value: legal for each alone, but a small value could then stand for a huge one."""
    names = b"\x01\x02\x00\x01\x02ab"
    shared = b"\x02\x02\x00\x01\x00\x00\x02\x0c\x07"
    with pytest.raises(MalformedVariant, match="overlaps"):
        to_json(pa.array([{"metadata": names, "value": shared}], variant()))
    gap = b"\x02\x02\x00\x01\x00\x03\x05\x0c\x07\xff\x0c\x08"
    assert to_json(pa.array([{"metadata": names, "value": gap}], variant())).to_pylist() == ['{"a":7,"b":8}']


@pytest.mark.slow
def test_depth_is_bounded_by_bytes_only() -> None:
    nested: object = []
    for _ in range(20_000):
        nested = [nested]
    text = "[" * 20_001 + "]" * 20_001
    assert to_json(column([Variant.of(nested)])).to_pylist() == [text]


def test_not_a_variant_column() -> None:
    with pytest.raises(InvalidSchema, match="not a Variant column: int64"):
        to_json(pa.array([1]))
    with pytest.raises(InvalidSchema, match="not a Variant column"):
        to_python(pa.array([{"value": b""}]))
