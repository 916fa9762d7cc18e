"""validate: the verdict of Variant.validate on every row of a column."""

from __future__ import annotations

import pyarrow as pa
import pytest

from mutations import SEEDS, mutated
from shredlake import MalformedVariant, ShreddingConflict, ShreddingSchema, Variant, shred, validate
from shredlake.kernels import variant
from variant_columns import column

pytestmark = pytest.mark.usefixtures("kernels")


def test_good_columns_have_no_violations() -> None:
    good = column([*SEEDS, None])
    assert validate(good).num_rows == 0
    assert validate(shred(good, ShreddingSchema.parse("struct<a string>"))).num_rows == 0
    assert validate(pa.chunked_array([], variant())).num_rows == 0


def test_every_violation_is_that_of_the_reference() -> None:
    buffers = list(mutated(1000, seed=5))
    rows = pa.array([{"metadata": metadata, "value": value} for metadata, value in buffers], variant())
    expected = []
    for row, (metadata, value) in enumerate(buffers):
        try:
            Variant(metadata, value).validate()
        except MalformedVariant as error:
            expected.append(
                {
                    "row": row,
                    "path": error.path,
                    "part": error.part,
                    "offset": error.offset,
                    "problem": error.problem,
                }
            )
    assert len(expected) > 300
    assert validate(rows).to_pylist() == expected
    chunked = pa.chunked_array([rows.slice(0, 300), rows.slice(300)])
    assert validate(chunked, threads=2).to_pylist() == expected


def test_keys_in_utf_16_order_are_named_as_such() -> None:
    names = "\uffff".encode() + "\U00010000".encode()
    metadata = bytes([1, 2, 0, 3, 7]) + names
    value = b"\x02\x02\x01\x00\x00\x01\x02\x00\x00"
    assert Variant(metadata, value)["\uffff"].to_python() is None
    (violation,) = validate(pa.array([{"metadata": metadata, "value": value}], variant())).to_pylist()
    assert "UTF-16" in violation["problem"]


def test_long_names_that_resemble_each_other_cost_no_more_than_their_length() -> None:
    """Ten thousand objects with two long keys: comparing the names each time would take a minute."""
    long = "x" * 200_000
    fields = {f"{long}{letter}": None for letter in "ab"}
    hostile = Variant.of([fields] * 10_000)
    assert validate(column([hostile])).num_rows == 0


def test_contradictions_of_a_shredded_column_raise() -> None:
    type_ = pa.struct(
        [
            pa.field("metadata", pa.binary(), nullable=False),
            ("value", pa.binary()),
            ("typed_value", pa.int64()),
        ]
    )
    conflict = pa.array([{"metadata": b"\x01\x00\x00", "value": b"\x0c\x01", "typed_value": 5}], type_)
    with pytest.raises(ShreddingConflict, match="row 0"):
        validate(conflict)
