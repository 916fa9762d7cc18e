"""Values at a path as a typed column: what the kernel leaves to the reference, and the rows of errors."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from shredlake.errors import CastError, MalformedVariant
from shredlake.kernels.cast_options import CastOptions
from shredlake.kernels.casts.extract import CastContext, extract
from shredlake.kernels.casts.targets import scalar_of, target_of
from shredlake.variant import Variant
from variant_columns import MISSING, column_of

pytestmark = pytest.mark.usefixtures("kernels")

LENIENT, STRICT = (CastContext(CastOptions.of(strict=strict), "v:a", 100) for strict in (False, True))


def values(
    rows: list[Any],
    type_: pa.DataType | None,
    *steps: str | int,
    valid: pa.Array | None = None,
    context: CastContext = LENIENT,
) -> pa.Array:
    column = column_of(rows)
    target = None if type_ is None else scalar_of(type_)
    return extract(column.field("metadata"), column.field("value"), valid, steps, target, context)


def test_a_path_is_there_missing_or_of_another_type() -> None:
    rows = [{"a": 1}, {"b": 1}, {"a": "12"}, {"a": "x"}, {"a": None}, 5, [1]]
    assert values(rows, pa.int64(), "a").to_pylist() == [1, None, 12, None, None, None, None]
    assert values([[1, 2], [3], {}], pa.int64(), 1).to_pylist() == [2, None, None]


def test_without_a_target_the_bytes_are_returned() -> None:
    found = values([{"a": [1, "x"]}, {"a": None}, {}], None, "a")
    assert found.type == pa.binary()
    assert found.to_pylist() == [Variant.of([1, "x"]).value, b"\x00", None]


def test_what_the_reference_casts_lands_in_its_row() -> None:
    """Containers as strings are not in the kernel, so these rows are patched in."""
    rows = [{"a": "text"}, {"a": {"k": [1]}}, {"a": 5}, {"a": []}]
    assert values(rows, pa.string(), "a").to_pylist() == ["text", '{"k":[1]}', "5", "[]"]


def test_rows_that_are_not_valid_are_null() -> None:
    valid = pa.array([True, False, True])
    assert values([{"a": 1}] * 3, pa.int64(), "a", valid=valid).to_pylist() == [1, None, 1]


def test_null_metadata_matters_only_where_there_is_a_value() -> None:
    good = column_of([{"a": 7}])
    metadata = pa.concat_arrays([good.field("metadata"), pa.nulls(1, pa.binary())])
    value = pa.concat_arrays([good.field("value"), pa.nulls(1, pa.binary())])
    target = scalar_of(pa.int64())
    assert extract(metadata, value, None, ("a",), target, LENIENT).to_pylist() == [7, None]
    value = pa.concat_arrays([good.field("value")] * 2)
    with pytest.raises(MalformedVariant, match="row 101"):
        extract(metadata, value, None, ("a",), target, LENIENT)
    hidden = pa.array([True, False])
    assert extract(metadata, value, hidden, ("a",), target, LENIENT).to_pylist() == [7, None]


@pytest.mark.parametrize("value", [None, pa.nulls(2, pa.binary())])
def test_no_values_at_all(value: pa.Array | None) -> None:
    metadata = column_of([1, 2]).field("metadata")
    found = extract(metadata, value, None, (), scalar_of(pa.date32()), LENIENT)
    assert found.equals(pa.nulls(2, pa.date32()))
    assert extract(metadata, value, None, (), None, LENIENT).type == pa.binary()


def test_slices_and_no_rows() -> None:
    column = column_of([{"a": n} for n in range(5)] + [MISSING])[2:]
    parts = column.field("metadata"), column.field("value")
    assert extract(*parts, column.is_valid(), ("a",), scalar_of(pa.int8()), LENIENT).to_pylist() == [
        2,
        3,
        4,
        None,
    ]
    assert values([], pa.int64(), "a").to_pylist() == []


def test_errors_name_the_row_in_the_whole_column() -> None:
    with pytest.raises(CastError, match=r"^row 101, v:a: "):
        values([{"a": 1}, {"a": "x"}], pa.int64(), "a", context=STRICT)
    bad = Variant.of({"a": {}})
    value = pa.array([bad.value, bad.value[:-1]])
    metadata = pa.array([bad.metadata] * 2)
    with pytest.raises(MalformedVariant, match="row 101"):
        extract(metadata, value, None, ("a",), scalar_of(pa.string()), LENIENT)


def test_the_context_casts_one_value() -> None:
    assert LENIENT.cast(Variant.of("5"), target_of(pa.int64()), 3) == 5
    with pytest.raises(CastError, match=r"^row 103, v:a: "):
        STRICT.cast(Variant.of("x"), target_of(pa.int64()), 3)
    with pytest.raises(MalformedVariant, match=r"row 103: .*UTF-8"):
        LENIENT.cast(Variant(b"\x01\x00\x00", b"\x05\xff"), target_of(pa.string()), 3)
