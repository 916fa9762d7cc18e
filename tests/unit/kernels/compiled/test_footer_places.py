"""The compiled walk over a footer and the one in Python see the same, also in damaged bytes."""

from __future__ import annotations

import io
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shredlake.kernels.fallback import footer_places as reference
from shredlake.parquet.format.footer import read_footer
from shredlake.parquet.format.thrift import List, Reader

compiled = pytest.importorskip("shredlake.kernels.compiled.footer_places", reason="no compiled kernels")


@pytest.fixture(scope="module")
def raw() -> bytes:
    table = pa.table(
        {f"column{n}": pa.array(range(50)) for n in range(20)} | {"s": [{"x": [1], "y": b""}] * 50}
    )
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=20, write_page_index=True)
    return read_footer(sink).raw


def test_places_are_those_of_the_column_chunks(raw: bytes) -> None:
    fields, row_counts, places = compiled.footer_places(raw)
    assert row_counts == [20, 20, 10]
    assert [len(columns) for columns in places] == [22, 22, 22]
    names = [Reader(raw, place).struct().struct(3).sequence(3) for place in places[2]]
    assert names[0] == [b"column0"]
    assert names[-1] == [b"s", b"y"]
    leaves = Reader(raw, fields[2]).value(9)
    assert isinstance(leaves, List)
    assert len(leaves.items) == 26  # root, 20 leaves, s, x, list, element, y


def test_damaged_footers_are_walked_alike(raw: bytes) -> None:
    dice = random.Random(7)
    broken = 0
    for _ in range(500):
        damaged = bytearray(raw)
        for _ in range(3):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        if dice.random() < 0.3:
            del damaged[dice.randrange(len(damaged)) :]
        found = compiled.footer_places(bytes(damaged))
        assert found == reference.footer_places(bytes(damaged))
        broken += found is None
        for place in [place for columns in found[2] for place in columns] if found else []:
            assert compiled.chunk_numbers(bytes(damaged), place) == reference.chunk_numbers(
                bytes(damaged), place
            )
    assert broken > 50


def test_numbers_of_a_chunk(raw: bytes) -> None:
    _, _, places = compiled.footer_places(raw)
    for column in (0, 20, 21):
        numbers = compiled.chunk_numbers(raw, places[1][column])
        tree = Reader(raw, places[1][column]).struct()
        meta = tree.struct(3)
        assert numbers[0] == meta.integer(5) == 20
        assert numbers[1:3] == (meta.integer(6), meta.integer(7))
        assert numbers[4] == meta.integer(9)
        assert numbers[7:11] == tuple(tree.integer(number) for number in (4, 5, 6, 7))
        assert numbers[11] == 0
        assert numbers[12] == 1
    assert compiled.chunk_numbers(raw, len(raw) + 1) is None
