"""The table of nulls covers every case, as the specification states it."""

from __future__ import annotations

from itertools import product

import pytest

from shredlake.errors import ShreddingConflict
from shredlake.shredding.null_table import (
    CONFLICT_IS_AN_ERROR,
    MISSING_READS_AS_NULL,
    NULL_TABLE,
    Group,
    Meaning,
)
from shredlake.shredding.reference import Shredded, reconstruct
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant.metadata import encode_metadata
from shredlake.variant.value import Variant


def test_every_combination_has_a_meaning_of_its_own() -> None:
    assert set(NULL_TABLE) == set(product((False, True), repeat=2))
    assert set(NULL_TABLE.values()) == set(Meaning)
    assert set(MISSING_READS_AS_NULL) == set(CONFLICT_IS_AN_ERROR) == set(Group)


NUMBER = Variant.of(5).value


def read(shredded: Shredded, ddl: str, *, reject_conflicts: bool = False) -> object:
    """The value as Python objects, in a column whose dictionary has the name a."""
    node = ShreddingSchema.parse(ddl).root
    found = reconstruct(encode_metadata([b"a"]), shredded, node, reject_conflicts=reject_conflicts)
    assert found is not None
    return found.to_python()


@pytest.mark.parametrize(
    ("value", "typed", "wanted"), [(NUMBER, None, 5), (None, 7, 7), (b"\x00", None, None)]
)
def test_a_column_is_read_by_the_table(value: bytes | None, typed: int | None, wanted: object) -> None:
    assert read(Shredded(value, typed), "bigint") == wanted


def test_a_missing_value_is_null_only_where_one_is_required() -> None:
    missing = Shredded(None, None)
    assert read(Shredded(None, [missing, Shredded(None, 1)]), "array<bigint>") == [None, 1]
    assert read(Shredded(None, {"a": missing}), "struct<a bigint>") == {}


def test_a_conflict_is_an_error_except_in_a_field() -> None:
    both = Shredded(NUMBER, 7)
    for shredded, ddl in ((both, "bigint"), (Shredded(None, [both]), "array<bigint>")):
        with pytest.raises(ShreddingConflict):
            read(shredded, ddl)
    field = Shredded(None, {"a": both})
    assert read(field, "struct<a bigint>") == {"a": 7}
    with pytest.raises(ShreddingConflict):
        read(field, "struct<a bigint>", reject_conflicts=True)
