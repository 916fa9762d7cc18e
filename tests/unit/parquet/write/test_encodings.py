"""Encodings and levels of zstd, chosen from the data."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from shredlake.parquet.write.encodings import choose_encodings

ROWS = 20_000


def chosen(values: Sequence[object], type_: pa.DataType | None = None) -> str:
    encodings = choose_encodings(pa.table({"c": pa.array(values, type_)}), {})
    return "dictionary" if "c" in encodings.dictionary else encodings.others["c"]


def spread(values: Sequence[object]) -> list[object]:
    """One value in ten places."""
    return [value for item in values for value in (item, *([None] * 9))]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([f"name {i % 7}" for i in range(ROWS)], "dictionary"),
        ([f"name {i // 10}" for i in range(ROWS)], "dictionary"),
        ([i % 7 for i in range(ROWS)], "dictionary"),
        ([i * i for i in range(ROWS)], "DELTA_BINARY_PACKED"),
        ([i // 10 for i in range(ROWS)], "DELTA_BINARY_PACKED"),
        ([float(i) for i in range(ROWS)], "PLAIN"),
        ([float(i % 100) for i in range(ROWS)], "dictionary"),
    ],
)
def test_a_dictionary_where_values_repeat_also_among_nulls(values: list[Any], expected: str) -> None:
    assert chosen(values) == expected
    assert chosen(spread(values[: ROWS // 2])) == expected


def test_the_beginning_of_a_sorted_column_does_not_speak_for_all() -> None:
    assert chosen([0] * 2000 + list(range(ROWS))) == "DELTA_BINARY_PACKED"
    assert chosen([""] * 2000 + [f"{i:032x}" for i in range(ROWS)]) != "dictionary"


def test_values_that_come_back_late_are_counted_out() -> None:
    """A sample has almost no repeated value; in the whole column, each value occurs five times."""
    numbers = random.Random(1)
    assert chosen([f"key {numbers.randrange(ROWS // 5)}" for _ in range(ROWS)]) == "dictionary"


def test_columns_without_values_get_a_dictionary() -> None:
    assert chosen([], pa.string()) == "dictionary"
    assert chosen([None] * ROWS, pa.int64()) == "dictionary"
    table = pa.schema([("c", pa.int64())]).empty_table()
    assert choose_encodings(table, {}).dictionary == ["c"]


def test_what_an_encoding_has_packed_is_compressed_at_the_fastest_level() -> None:
    words = random.Random(1)
    known = ["and", "the", "of", "sun", "moon", "sea", "wind"]
    table = pa.table(
        {
            "mode": ["air", "rail"] * (ROWS // 2),
            "number": range(ROWS),
            "hash": [words.randbytes(16).hex() for _ in range(ROWS)],
            "prose": [" ".join(words.choices(known, k=12)) for _ in range(ROWS)],
        }
    )
    levels = choose_encodings(table, {}).levels
    assert levels["mode"] == levels["number"] == levels["hash"] == 1
    assert levels["prose"] > 1
    assert set(choose_encodings(table, {}, (1, 12)).levels.values()) == {1, 12}


def test_a_chosen_encoding_is_kept() -> None:
    encodings = choose_encodings(pa.table({"c": ["a", "b"] * 500}), {"c": "PLAIN"})
    assert encodings.dictionary == []
    assert encodings.others == {"c": "PLAIN"}
