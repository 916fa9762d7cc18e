"""A name that is missing in wide objects: found to be missing quickly, and never where it is there.

Some writers list the fields of an object in any order, and rows may share their dictionary or not.
"""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import MalformedVariant
from shredlake.variant import Variant


def metadata_of(names: list[str]) -> bytes:
    offsets = [0]
    for name in names:
        offsets.append(offsets[-1] + len(name.encode()))
    header = bytes([0x41]) + len(names).to_bytes(2, "little")
    return header + b"".join(o.to_bytes(2, "little") for o in offsets) + "".join(names).encode()


def object_of(ids: list[int], numbers: list[int]) -> bytes:
    """An object with its fields in this order; ids of two bytes, one byte for each offset."""
    offsets = bytes(2 * place for place in range(len(ids) + 1))
    head = bytes([0b0_0_01_00_10, len(ids)]) + b"".join(i.to_bytes(2, "little") for i in ids)
    return head + offsets + b"".join(bytes([0x0C, number]) for number in numbers)


def row(random_: random.Random, names: list[str], shuffled: bool) -> tuple[bytes, bytes]:
    ids = random_.sample(range(len(names)), random_.randint(0, len(names)))
    ids.sort(key=lambda id: names[id])
    if shuffled:
        random_.shuffle(ids)
    return metadata_of(names), object_of(ids, [id % 100 for id in ids])


def column_of(rows: list[tuple[bytes, bytes]]) -> pa.StructArray:
    metadata, value = pa.array([m for m, _ in rows], pa.binary()), pa.array([v for _, v in rows], pa.binary())
    return pa.StructArray.from_arrays([metadata, value], fields=list(sl.variant()))


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_rows_agree_with_the_reference(seed: int, shuffled: bool) -> None:
    random_ = random.Random(seed)
    dictionaries = [
        random_.sample([f"k{number}" for number in range(60)], random_.randint(0, 50)) for _ in range(3)
    ]
    rows: list[tuple[bytes, bytes]] = []
    for _ in range(200):
        repeats = rows and random_.random() < 0.4
        rows.append(rows[-1] if repeats else row(random_, random_.choice(dictionaries), shuffled))
    column = column_of(rows)
    for name in ("k0", "k1", "k59", "nowhere", ""):
        path = f"$['{name}']"
        found = [Variant(m, v).get(path) for m, v in rows]
        expected = [None if variant is None else variant.to_python() for variant in found]
        assert sl.get(column, path, pa.int64(), threads=1).to_pylist() == expected


def test_a_name_of_a_nested_object_is_missing_beside_it() -> None:
    texts = ['{"a":1,"b":1,"c":1,"d":1,"e":1,"x":{"y":7}}'] * 3 + ['{"a":1,"b":1,"c":1,"d":1,"x":{},"y":8}']
    column = sl.from_json(pa.array(texts))
    assert sl.get(column, "$.y", pa.int64()).to_pylist() == [None, None, None, 8]
    assert sl.get(column, "$.x.y", pa.int64()).to_pylist() == [7, 7, 7, None]


def test_a_damaged_dictionary_is_named() -> None:
    names = [f"k{number}" for number in range(10, 20)]
    metadata = bytearray(metadata_of(names))
    metadata[3 + 2 * 5 : 3 + 2 * 6] = b"\xff\xff"
    rows = [(bytes(metadata), object_of(list(range(10)), list(range(10))))]
    with pytest.raises(MalformedVariant, match="row 0"):
        sl.get(column_of(rows), "$.nowhere", pa.int64())
