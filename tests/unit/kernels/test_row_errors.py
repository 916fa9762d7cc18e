"""The reference explains why a kernel rejected a row, and the message has the row's number."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from shredlake.errors import (
    CastError,
    InvalidExpression,
    MalformedVariant,
    ShreddingConflict,
    ShredlakeError,
)
from shredlake.kernels import shred, shredded_type, variant
from shredlake.kernels.row_errors import (
    OVERLAP_OR_TOO_LARGE,
    check_row,
    explain_reconstruction,
    explain_shredding,
    in_row,
    parts_of,
    row_error,
)
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant import Variant
from variant_columns import MISSING, column_of

BIGINT = ShreddingSchema.parse("bigint")
EMPTY = b"\x01\x00\x00"


def stored(value: bytes | None, typed: int | None) -> pa.StructArray:
    """One shredded row with these parts."""
    return pa.array([{"metadata": EMPTY, "value": value, "typed_value": typed}], shredded_type(BIGINT))


def test_the_row_is_added_and_the_facts_are_kept() -> None:
    found = in_row(MalformedVariant("too short", part="value", offset=3, path="$['a']"), 7)
    assert isinstance(found, MalformedVariant)
    assert (found.problem, found.part, found.offset, found.path) == ("row 7: too short", "value", 3, "$['a']")
    conflict = in_row(ShreddingConflict("$: both"), 7)
    assert isinstance(conflict, ShreddingConflict)
    assert str(conflict) == "row 7, $: both"


def raising(error: ShredlakeError) -> Callable[[Variant], object]:
    def attempt(_: Variant) -> object:
        raise error

    return attempt


def test_the_error_of_a_row_is_that_of_the_reference() -> None:
    metadata, value, _ = parts_of(column_of([1, "x"]), 100)
    seen: list[Variant] = []
    found = row_error(metadata, value, 1, 100, seen.append)
    assert seen == [Variant.of("x")]
    assert str(found) == str(MalformedVariant(f"row 101: {OVERLAP_OR_TOO_LARGE}"))
    for error in (CastError("no"), InvalidExpression("no")):
        found = row_error(metadata, value, 0, 100, raising(error))
        assert (type(found), str(found)) == (type(error), f"row 100: {error}")
    assert "row 100" in str(row_error(metadata, value, 0, 100, raising(MalformedVariant("cut"))))


def test_null_metadata_counts_as_empty() -> None:
    found = row_error(pa.nulls(1, pa.binary()), pa.array([b"\x00"]), 0, 4, lambda row: row.dictionary)
    assert isinstance(found, MalformedVariant)
    assert "row 4: the metadata is empty" in str(found)


def test_parts_of_a_slice() -> None:
    column = column_of([1, MISSING, 3])[1:]
    metadata, value, valid = parts_of(column, 0)
    assert value.to_pylist()[1] == Variant.of(3).value
    assert len(metadata) == 2
    assert valid is not None
    assert valid.to_pylist() == [False, True]
    assert parts_of(column_of([1]), 0)[2] is None


def test_null_metadata_of_a_row_is_named() -> None:
    column = pa.StructArray.from_arrays(
        [pa.nulls(1, pa.binary()), pa.array([b"\x00"])], fields=list(variant())
    )
    with pytest.raises(MalformedVariant, match="row 12"):
        parts_of(column, 12)


def test_a_variant_that_can_not_be_shredded() -> None:
    with pytest.raises(MalformedVariant, match=r"^row 3: the value ends at byte 4"):
        explain_shredding(EMPTY, b"\x0d", BIGINT.root, 3)
    with pytest.raises(MalformedVariant, match=f"row 3: {OVERLAP_OR_TOO_LARGE}"):
        explain_shredding(EMPTY, b"\x00", BIGINT.root, 3)


def test_a_row_that_can_not_be_reconstructed() -> None:
    with pytest.raises(ShreddingConflict, match=r"^row 9, "):
        explain_reconstruction(stored(Variant.of("x").value, 5), BIGINT.root, True, 9)
    with pytest.raises(MalformedVariant, match=f"row 9: {OVERLAP_OR_TOO_LARGE}"):
        explain_reconstruction(stored(None, 5), BIGINT.root, True, 9)


def test_sound_rows_pass() -> None:
    column = shred(column_of([5, "x", None]), BIGINT)
    for row in range(3):
        check_row(column.slice(row, 1), BIGINT.root, True, row)
    with pytest.raises(MalformedVariant, match="row 1"):
        check_row(stored(b"\x0d", None), BIGINT.root, False, 1)
