"""The dictionary of names: what is written is read, and damage is found."""

from __future__ import annotations

import pytest

from shredlake.errors import MalformedVariant
from shredlake.variant.metadata import Dictionary, encode_metadata, metadata_size


@pytest.mark.parametrize(
    "names", [[], ["a"], ["b", "a"], ["", "é", "😀"], ["x" * 300, "y"], [f"n{n}" for n in range(300)]]
)
def test_names_are_read_as_they_were_written(names: list[str]) -> None:
    metadata = encode_metadata([name.encode() for name in names])
    dictionary = Dictionary(metadata)
    dictionary.validate()
    assert dictionary.names() == names
    assert len(dictionary) == len(names)
    assert metadata_size(b"xx" + metadata + b"rest", 2) == len(metadata)
    assert sorted(names, key=lambda name: dictionary.ranks()[names.index(name)]) == sorted(
        names, key=str.encode
    )


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        (b"", "is empty"),
        (b"\x02\x00\x00", "version 2, expected 1"),
        (b"\x01", "within its header"),
        (b"\x01\x05\x00", "offsets of 5 names"),
        (b"\x01\x01\x00\x02a", "end at byte 6"),
        (b"\x01\x01\x00\x01ab", "end at byte 5"),
    ],
)
def test_a_damaged_header_is_found_at_once(metadata: bytes, problem: str) -> None:
    with pytest.raises(MalformedVariant, match=problem):
        Dictionary(metadata)


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        (b"\x01\x01\x01\x02ab", "does not start at offset 0"),
        (b"\x01\x02\x00\x03\x02ab", "offsets"),
        (b"\x01\x01\x00\x01\xff", "not UTF-8"),
        (b"\x11\x02\x00\x01\x02aa", "not in order"),
    ],
)
def test_other_damage_is_found_by_validation(metadata: bytes, problem: str) -> None:
    with pytest.raises(MalformedVariant, match=problem):
        Dictionary(metadata).validate()


@pytest.mark.parametrize("id_", [-1, 1])
def test_ids_beyond_the_dictionary(id_: int) -> None:
    with pytest.raises(MalformedVariant, match="dictionary of 1 names"):
        Dictionary(encode_metadata([b"a"])).name(id_)
