"""Arrow types as targets of casts, by their names in Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import CastError, WrongType
from shredlake.kernels.casts.targets import scalar_of, target_name, target_of


@pytest.mark.parametrize(
    ("arrow", "name"),
    [
        (pa.bool_(), "boolean"),
        (pa.int8(), "tinyint"),
        (pa.float32(), "float"),
        (pa.decimal128(38, 38), "decimal(38,38)"),
        (pa.timestamp("us", "Europe/Berlin"), "timestamp"),
        (pa.timestamp("us"), "timestamp_ntz"),
        (pa.uuid(), "uuid"),
        (pa.large_string(), "string"),
        (sl.variant(), "variant"),
        (
            pa.large_list(pa.struct([("a", pa.date32()), ("b", sl.variant())])),
            "array<struct<a:date,b:variant>>",
        ),
        (pa.map_(pa.string(), pa.list_(pa.int64())), "map<string,array<bigint>>"),
    ],
)
def test_names(arrow: pa.DataType, name: str) -> None:
    assert target_name(target_of(arrow)) == name


@pytest.mark.parametrize(
    "arrow",
    [
        pa.uint8(),
        pa.float16(),
        pa.decimal256(39, 0),
        pa.timestamp("ms"),
        pa.date64(),
        pa.null(),
        pa.struct([]),
        pa.struct([("a", pa.int8()), ("a", pa.int8())]),
        pa.map_(pa.int64(), pa.int64()),
        pa.list_(pa.uint8()),
    ],
)
def test_types_that_no_cast_has(arrow: pa.DataType) -> None:
    with pytest.raises(CastError, match="can't be cast to"):
        target_of(arrow)


@pytest.mark.parametrize("given", ["bigint", None, int])
def test_what_is_not_an_arrow_type(given: Any) -> None:
    with pytest.raises(WrongType, match="Arrow type"):
        target_of(given)


def test_nested_types_are_not_scalars() -> None:
    assert scalar_of(pa.list_(pa.int64())) is None
