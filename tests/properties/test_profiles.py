"""Profiles, for any values: the kernel equals the reference, and parts merge to the whole."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shredlake.errors import MalformedVariant
from shredlake.kernels import merge_profiles, profile, profile_bytes, shred, variant
from shredlake.shredding.inference.profile import PathProfile, Profile
from shredlake.shredding.inference.profile_reference import profile_values
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant import Variant
from strategies import hostile_buffers, shreddable_columns, wide_variants


def arrow(rows: Sequence[Variant | None]) -> pa.StructArray:
    return pa.array([row and {"metadata": row.metadata, "value": row.value} for row in rows], variant())


def columns() -> st.SearchStrategy[list[Variant | None]]:
    wide = st.lists(wide_variants().map(lambda case: case[0]) | st.none(), max_size=8)
    return shreddable_columns().map(lambda case: case[0]) | wide


def without_order(path: PathProfile) -> PathProfile:
    """Order in the file is an estimate: each cut of a column adds a comparison."""
    return replace(path, order=None, children=tuple(map(without_order, path.children)))


@pytest.mark.slow
@given(columns())
def test_the_kernel_equals_the_reference(rows: list[Variant | None]) -> None:
    assert profile(arrow(rows)) == profile_values(rows)


@settings(max_examples=50)
@given(columns())
def test_bytes_hold_everything(rows: list[Variant | None]) -> None:
    found = profile_values(rows)
    assert Profile.from_bytes(found.to_bytes()) == found
    assert Profile.from_bytes(profile_bytes(arrow(rows))) == found


@pytest.mark.slow
@settings(max_examples=30)
@given(columns(), columns(), columns())
def test_parts_merge_to_the_whole(
    first: list[Variant | None], second: list[Variant | None], third: list[Variant | None]
) -> None:
    parts = [profile_values(rows) for rows in (first, second, third)]
    whole, merged = profile_values(first + second + third), parts[0].merge(*parts[1:])
    assert replace(merged, root=without_order(merged.root)) == replace(whole, root=without_order(whole.root))
    assert merged == parts[0].merge(parts[1].merge(parts[2])), "however they are bracketed"
    assert Profile.from_bytes(merge_profiles([part.to_bytes() for part in parts])) == merged, "compiled too"


@pytest.mark.slow
@settings(max_examples=40)
@given(shreddable_columns())
def test_shredded_or_not_is_the_same(case: tuple[list[Variant | None], ShreddingSchema]) -> None:
    rows, schema = case
    column = arrow(rows)
    plain, shredded = profile(column), profile(shred(column, schema))
    assert shredded.rows == plain.rows
    assert {steps: path.rows for steps, path in shredded.paths()} == {
        steps: path.rows for steps, path in plain.paths()
    }


@settings(max_examples=40)
@given(columns(), st.integers(0, 3))
def test_slices(rows: list[Variant | None], cut: int) -> None:
    assert profile(arrow([*[None] * cut, *rows]).slice(cut)) == profile_values(rows)


@given(hostile_buffers())
def test_hostile_bytes_raise_or_pass(buffers: tuple[bytes, bytes]) -> None:
    metadata, value = buffers
    column = pa.array([{"metadata": metadata, "value": value}], variant())
    with suppress(MalformedVariant):
        profile(column)


@settings(max_examples=40)
@given(columns(), st.data())
def test_damaged_profiles_are_refused(rows: list[Variant | None], data: st.DataObject) -> None:
    good = profile_values(rows).to_bytes()
    cut = good[: data.draw(st.integers(0, len(good) - 1))]
    with pytest.raises(ValueError, match="not a profile"):
        merge_profiles([cut])
    position, byte = data.draw(st.integers(4, len(good) - 1)), data.draw(st.integers(0, 255))
    with suppress(ValueError):
        merge_profiles([good[:position] + bytes([byte]) + good[position + 1 :], good])
