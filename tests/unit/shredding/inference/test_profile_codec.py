"""Bytes that are not a profile, or no longer, are an InvalidValue."""

from __future__ import annotations

import contextlib
import random

import pyarrow as pa
import pytest

import shredlake as sl

DOCUMENTS = ['{"a":1,"b":"x","c":[1.5,"z"],"d":{"e":null}}', "[1,2]", '"t"']


@pytest.mark.parametrize("seed", range(200))
def test_damaged_profiles(seed: int) -> None:
    raw = sl.profile_bytes(sl.from_json(pa.array(DOCUMENTS)))
    dice = random.Random(seed)
    data = bytearray(raw)
    for _ in range(dice.randrange(1, 4)):
        data[dice.randrange(len(data))] = dice.randrange(256)
    if dice.random() < 0.3:
        del data[dice.randrange(len(data)) :]
    with contextlib.suppress(sl.InvalidValue):
        sl.Profile.from_bytes(bytes(data))
    with contextlib.suppress(sl.InvalidValue):
        sl.merge_profiles([bytes(data), raw])


@pytest.mark.parametrize("data", [b"", b"SLP1", b"something else", b"SLP1\0\0\0\0\0"])
def test_what_never_was_a_profile(data: bytes) -> None:
    with pytest.raises(sl.InvalidValue, match="not a profile"):
        sl.Profile.from_bytes(data)
    with pytest.raises(sl.InvalidValue, match="not a profile"):
        sl.merge_profiles([data])
