"""Costs of columns: what repeats or is narrow is cheap, and a column for few values does not pay."""

from __future__ import annotations

from shredlake.shredding.inference.cost import column_bytes, left_bytes, residual_bytes, typed_width, worth
from shredlake.shredding.inference.profile import Profile
from shredlake.shredding.inference.profile_reference import profile_values
from shredlake.shredding.schema import Scalar
from shredlake.variant.types import VariantType
from shredlake.variant.value import Variant

NUMBER, TEXT = Scalar(VariantType.INT64), Scalar(VariantType.STRING)

ROWS = [
    {
        "flag": n % 2,
        "id": n * 7919,
        "kind": "like" if n % 3 else "post",
        "text": f"text number {n}",
        **({"rare": n} if n < 5 else {}),
    }
    for n in range(2_000)
]
PROFILE: Profile = profile_values(Variant.of(row) for row in ROWS)
PATHS = dict(PROFILE.paths())


def test_narrow_numbers_take_fewer_bytes() -> None:
    assert typed_width(PATHS["flag",], NUMBER) < typed_width(PATHS["id",], NUMBER) <= 8


def test_texts_that_repeat_take_fewer_bytes() -> None:
    assert typed_width(PATHS["kind",], TEXT) < 1 < typed_width(PATHS["text",], TEXT)


def test_a_column_of_its_own_is_smaller_than_what_it_leaves_behind() -> None:
    for name, node in (("flag", NUMBER), ("id", NUMBER), ("kind", TEXT)):
        path = PATHS[name,]
        assert 0 < column_bytes(PROFILE, path, node) < left_bytes(PROFILE, path) < residual_bytes(PROFILE)


def test_a_column_of_the_wrong_type_is_not_worth_more() -> None:
    kind = PATHS["kind",]
    assert worth(PROFILE, kind, NUMBER, False) < worth(PROFILE, kind, TEXT, False)
    assert column_bytes(PROFILE, kind, NUMBER) > column_bytes(PROFILE, kind, TEXT)


def test_a_query_makes_a_path_worth_more() -> None:
    rare = PATHS["rare",]
    assert worth(PROFILE, rare, NUMBER, False) < worth(PROFILE, rare, NUMBER, True)
