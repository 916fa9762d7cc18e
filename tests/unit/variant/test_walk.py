"""The events of a value, and where the walk is."""

from __future__ import annotations

import pytest

from shredlake.errors import MalformedVariant
from shredlake.variant.metadata import Dictionary, encode_metadata
from shredlake.variant.value import Variant
from shredlake.variant.walk import Event, Walk

NESTED = Variant.of({"b": [1, {"c": None}], "a": "x"})


def test_the_path_follows_the_walk() -> None:
    walk = NESTED.walk(by_name=True)
    scalars = {str(walk.path()): detail[1] for event, detail in walk if event is Event.SCALAR}
    assert scalars == {"$.a": "x", "$.b[0]": 1, "$.b[1].c": None}


def test_the_parent_is_the_container() -> None:
    walk = NESTED.walk()
    parents = {str(walk.parent_path()) for event, _ in walk if event is Event.SCALAR}
    assert parents == {"$", "$.b", "$.b[1]"}


def test_every_container_ends() -> None:
    events = [event for event, _ in NESTED.walk()]
    assert events.count(Event.END) == events.count(Event.OBJECT) + events.count(Event.ARRAY) == 3


def test_by_name_means_sorted_whatever_the_order_in_the_bytes() -> None:
    metadata = encode_metadata([b"b", b"a"])
    raw = bytes([0x02, 2, 0, 1, 0, 1, 2, 0x00, 0x04])  # fields b (null) and a (true), in this order
    walk = Walk(Dictionary(metadata), raw, 0, len(raw), by_name=True)
    assert [walk.dictionary.name(detail) for event, detail in walk if event is Event.KEY] == ["a", "b"]


def test_damage_names_its_path() -> None:
    inner = bytes([21 << 2])
    raw = bytes([0x02, 1, 0, 0, len(inner)]) + inner
    with pytest.raises(MalformedVariant, match="reserved") as caught:
        list(Walk(Dictionary(encode_metadata([b"key"])), raw, 0, len(raw)))
    assert caught.value.path == "$['key']"


def test_a_deep_value_needs_no_stack() -> None:
    raw = b"\x00"
    for _ in range(20_000):
        width = (len(raw).bit_length() + 7) // 8
        raw = bytes([(width - 1) << 2 | 3, 1]) + bytes(width) + len(raw).to_bytes(width, "little") + raw
    walk = Walk(Dictionary(encode_metadata([])), raw, 0, len(raw))
    assert sum(event is Event.ARRAY for event, _ in walk) == 20_000
