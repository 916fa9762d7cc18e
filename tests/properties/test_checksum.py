"""A checksum sees meaning, not encoding, and sees every change of meaning."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shredlake.kernels import from_json
from shredlake.kernels.checksum import checksum
from shredlake.variant import Variant
from strategies import json_documents


def column_of(values: list[object]) -> pa.Array:
    variants = [Variant.of(value) for value in values]
    from shredlake.kernels import variant

    return pa.array([{"metadata": one.metadata, "value": one.value} for one in variants], variant())


@pytest.mark.slow
@given(st.lists(json_documents(), max_size=4), st.randoms())
def test_order_and_slices_do_not_matter(documents: list[str], random: object) -> None:
    column = from_json(pa.array(documents, pa.string()))
    shuffled = list(documents)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert checksum(column) == checksum(from_json(pa.array(shuffled, pa.string())))
    parts = [checksum(column.slice(at, 1)) for at in range(len(column))]
    assert checksum(column) == sum(parts) % 2**64


@pytest.mark.slow
@given(json_documents(), json_documents())
def test_other_values_have_other_sums(left: str, right: str) -> None:
    one, other = Variant.from_json(left), Variant.from_json(right)
    same = checksum(from_json(pa.array([left]))) == checksum(from_json(pa.array([right])))
    assert same == (one == other)


def test_null_and_missing_are_told_apart() -> None:
    assert checksum(column_of([{"a": None}])) != checksum(column_of([{}]))
    assert checksum(column_of([{"a": 1}])) != checksum(column_of([{"a": "1"}]))
    assert checksum(column_of([[1, 2]])) != checksum(column_of([[2, 1]]))
    assert checksum(column_of([{"a": 1, "b": 2}])) != checksum(column_of([{"a": 2, "b": 1}]))
