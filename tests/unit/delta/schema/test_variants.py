"""A place in a table's schema is found in schemas with other kinds of lists and other spellings."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shredlake.delta.schema.types import from_arrow
from shredlake.delta.schema.variants import type_at, variant_places
from shredlake.kernels.arrow.types import variant

LISTS = {"list": pa.list_, "large list": pa.large_list, "fixed list": lambda field: pa.list_(field, 2)}


@pytest.mark.parametrize("name", LISTS)
def test_a_place_in_lists_is_found_in_every_kind_of_list(name: str) -> None:
    schema = pa.schema([("l", pa.list_(pa.struct([("v", variant())])))])
    [place] = variant_places(from_arrow(schema))
    other = pa.schema([("L", LISTS[name](pa.field("item", pa.struct([("V", pa.int8())]))))])
    assert type_at(other, place) == pa.int8()


def test_a_place_in_maps_and_structs_is_found_by_its_exact_name_first() -> None:
    schema = pa.schema([("m", pa.map_(pa.string(), pa.struct([("v", variant())])))])
    [place] = variant_places(from_arrow(schema))
    twice = pa.struct([("V", pa.int8()), ("v", pa.string())])
    assert type_at(pa.schema([("m", pa.map_(pa.string(), twice))]), place) == pa.string()
    for kind in (pa.int8(), pa.struct([("key", pa.int8())]), pa.map_(pa.string(), pa.int8())):
        assert type_at(pa.schema([("m", kind)]), place) is None
    assert type_at(pa.schema([("other", pa.int8())]), place) is None
