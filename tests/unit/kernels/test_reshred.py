"""Reshredding is unshredding and shredding again, but columns that stay the same are not copied."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from shredlake.errors import InvalidSchema, MalformedVariant
from shredlake.kernels import reshred, shred, shredded_type, unshred
from shredlake.kernels.dispatch import uses_compiled
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant import Variant
from variant_columns import MISSING, column_of, rows

pytestmark = pytest.mark.usefixtures("kernels")

VALUES: list[Any] = [
    {"a": 1, "b": "x", "c": {"d": 1.5, "e": [1, "two"]}},
    {"a": "not an int", "z": 5},
    MISSING,
    None,
    [],
    {},
    {"c": 7, "b": None},
    "text",
]

LAYOUTS = [
    "variant",
    "bigint",
    "struct<a bigint>",
    "struct<a bigint, b string, c struct<d double, e array<bigint>>>",
    "struct<b bigint, c struct<e array<string>, f string>, z int>",
    "struct<c variant, a string>",
    "array<string>",
]


def schema(ddl: str) -> ShreddingSchema:
    return ShreddingSchema.parse(ddl)


def decoded(column: pa.StructArray) -> list[Any]:
    """The rows with each `value` as a Variant, because the order of an object's bytes is free."""

    def decode(part: Any, metadata: bytes) -> Any:
        if isinstance(part, list):
            return [decode(item, metadata) for item in part]
        if isinstance(part, dict):
            return {name: decode(item, metadata) for name, item in part.items() if name != "metadata"}
        return Variant(metadata, part) if isinstance(part, bytes) else part

    return [row and decode(row, row["metadata"]) for row in column.to_pylist()]


@pytest.mark.parametrize("after", LAYOUTS)
@pytest.mark.parametrize("before", LAYOUTS)
def test_the_result_is_that_of_unshredding_and_shredding(before: str, after: str) -> None:
    shredded = shred(column_of(VALUES), schema(before))
    moved = reshred(shredded, schema(after))
    expected = shred(unshred(shredded), schema(after))
    assert moved.type == shredded_type(schema(after))
    moved.validate(full=True)
    assert decoded(moved) == decoded(expected)
    assert rows(moved) == rows(column_of(VALUES))


def test_an_unshredded_column_is_shredded() -> None:
    moved = reshred(column_of([1, "x", MISSING]), schema("bigint"))
    assert moved.field("typed_value").to_pylist() == [1, None, None]
    assert rows(moved) == rows(column_of([1, "x", MISSING]))


def test_columns_that_stay_are_not_copied() -> None:
    if not uses_compiled():
        pytest.skip("without compiled kernels every column is rebuilt")
    before = shred(
        column_of([{"a": n, "b": str(n)} for n in range(100)]), schema("struct<a bigint, b string>")
    )
    after = reshred(before, schema("struct<b bigint, a bigint>"))

    def data(column: pa.StructArray) -> int:
        address: int = column.field("typed_value").field("a").field("typed_value").buffers()[1].address
        return address

    assert data(after) == data(before)
    assert after.field("metadata").buffers()[2].address == before.field("metadata").buffers()[2].address


@pytest.mark.parametrize(("start", "count"), [(0, 0), (1, 1), (1, 3), (3, 5)])
def test_slices(start: int, count: int) -> None:
    shredded = shred(column_of(VALUES), schema(LAYOUTS[3])).slice(start, count)
    moved = reshred(shredded, schema(LAYOUTS[4]))
    assert rows(moved) == rows(column_of(VALUES[start : start + count]))


def test_chunks_stay_chunks_and_threads_change_nothing() -> None:
    shredded = shred(column_of(VALUES), schema(LAYOUTS[3]))
    chunked = pa.chunked_array([shredded[:3], shredded[3:3], shredded[3:]])
    for threads in (1, 3):
        moved = reshred(chunked, schema(LAYOUTS[4]), threads=threads)
        assert isinstance(moved, pa.ChunkedArray)
        assert rows(moved) == rows(column_of(VALUES))


def test_a_part_too_large_for_one_array_becomes_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shredlake.kernels.arrow.shredded.LARGEST_ARRAY", 1000)
    values = [{"a": "x" * 90, "n": n} for n in range(50)]
    moved = reshred(
        shred(column_of(values), schema("struct<a string, n bigint>")), schema("struct<n bigint>")
    )
    assert rows(moved) == rows(column_of(values))


def test_an_optional_group_that_is_null_is_a_missing_field() -> None:
    level = pa.struct([("value", pa.binary()), ("typed_value", pa.int64())])
    type_ = pa.struct(
        [
            pa.field("metadata", pa.binary(), nullable=False),
            ("value", pa.binary()),
            ("typed_value", pa.struct([("a", level), ("b", level)])),
        ]
    )
    names = column_of([{"a": 1, "b": 1}])[0].as_py()["metadata"]
    stored = [{"metadata": names, "typed_value": {"a": None, "b": {"typed_value": 5}}}]
    moved = reshred(pa.array(stored, type_), schema("struct<a bigint, b int>"))
    assert rows(moved) == rows(column_of([{"b": 5}]))
    assert moved.type == shredded_type(schema("struct<a bigint, b int>"))


def test_a_malformed_row_is_named_by_its_number_in_the_column() -> None:
    shredded = shred(column_of([{"a": 1}] * 3), schema("struct<a bigint>"))
    stored = shredded.to_pylist()
    stored[2]["typed_value"]["a"] = {"value": b"\x0d", "typed_value": None}
    column = pa.array(stored, shredded.type)
    with pytest.raises(MalformedVariant, match="row 2"):
        reshred(pa.chunked_array([column[:1], column[1:]]), schema("struct<a string>"))


def test_what_is_not_a_schema_or_a_column_is_refused() -> None:
    with pytest.raises(InvalidSchema, match="found a str"):
        reshred(column_of([1]), "bigint")  # type: ignore[arg-type]
    with pytest.raises(InvalidSchema, match="not a Variant column"):
        reshred(pa.array([1]), schema("bigint"))
