"""A shredded time outside the day is refused, whichever way it is read."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import MalformedVariant
from shredlake.shredding.schema import ShreddingSchema

DAY = 86_400_000_000


def shredded_times(*micros: int | None) -> pa.StructArray:
    """Rows {"t": …}, with these numbers in the typed leaf."""
    rows = pa.array([{"t": dt.time(1)}] * len(micros))
    made = sl.shred(sl.from_arrow(rows), ShreddingSchema.parse("struct<t time>"))
    leaf_type = made.type.field("typed_value").type.field("t").type
    numbers = pa.array(micros, pa.int64()).view(pa.time64("us"))
    leaf = pa.StructArray.from_arrays([pa.nulls(len(micros), pa.binary()), numbers], fields=list(leaf_type))
    typed = pa.StructArray.from_arrays([leaf], fields=list(made.type.field("typed_value").type))
    parts = [made.field("metadata"), made.field("value"), typed]
    return pa.StructArray.from_arrays(parts, fields=list(made.type))


@pytest.mark.parametrize("wrong", [-1, DAY, DAY + 1_000_000, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("target", [pa.time64("us"), pa.string(), None])
def test_a_time_outside_the_day_is_refused(wrong: int, target: pa.DataType | None) -> None:
    column = shredded_times(0, None, wrong)
    with pytest.raises(MalformedVariant, match=f"row 2.*a time of day of {wrong} microseconds"):
        sl.get(column, "$.t", target)
    with pytest.raises(MalformedVariant, match=f"row 2.*a time of day of {wrong} microseconds"):
        sl.unshred(column)


def test_all_times_of_the_day_are_read() -> None:
    column = shredded_times(0, None, DAY - 1)
    assert sl.get(column, "$.t", pa.time64("us")).to_pylist() == [
        dt.time(),
        None,
        dt.time(23, 59, 59, 999999),
    ]
