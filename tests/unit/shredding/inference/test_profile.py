"""The profile of known values."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable
from decimal import Decimal

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.kernels import merge_profiles, profile, profile_bytes
from shredlake.shredding.inference.profile import Look, Profile
from shredlake.shredding.inference.profile_reference import profile_values
from shredlake.shredding.schema import ARRAY_ELEMENT
from shredlake.variant import Variant, VariantType


def of_json(documents: Iterable[object]) -> Profile:
    return profile(sl.from_json(pa.array([json.dumps(document) for document in documents])))


def test_counts(kernels: str) -> None:
    found = of_json([{"a": 1, "b": [1, "x", None]}, {"a": "one"}, {"b": []}, None, 7])
    assert (found.rows, found.nulls, found.missed) == (5, 0, 0)
    assert found.root.types == {VariantType.OBJECT: 3, VariantType.NULL: 1, VariantType.INT8: 1}
    assert found.at("a").types == {VariantType.INT8: 1, VariantType.STRING: 1}
    array = found.at("b")
    assert (array.rows, array.elements, array.shortest, array.longest) == (2, 3, 0, 3)
    elements = found.at("b", ARRAY_ELEMENT)
    assert (elements.count, elements.rows, elements.nulls) == (3, 1, 1)


@pytest.mark.parametrize(
    ("text", "look"),
    [
        ("", Look.EMPTY),
        ("2024-02-29", Look.DATE),
        ("2024-02-29T12:30:00Z", Look.TIMESTAMP),
        ("2024-02-29 12:30:00.123+01:00", Look.TIMESTAMP),
        ("2024-02-29T12", None),
        ("2024-02-29x", None),
        ("20240229", Look.NUMBER),
        ("-12.50", Look.NUMBER),
        ("1.2.3", None),
        ("-", None),
        (".5", None),
        ("5.", None),
        ("12a", None),
        ("123e4567-e89b-12d3-a456-426614174000", Look.UUID),
        ("123e4567-e89b-12d3-a456-42661417400g", None),
        ("9" * 38, Look.NUMBER),
        ("9" * 39, None),
        ("word", None),
    ],
)
def test_looks(kernels: str, text: str, look: Look | None) -> None:
    found = of_json([{"s": text}]).at("s")
    assert found.looks == ({} if look is None else {look: 1})
    assert (found.text_bytes, found.longest_text) == (len(text), len(text))


@pytest.mark.parametrize("count", [1, 10, 200, 2_000, 60_000])
def test_distinct_is_about_right(count: int) -> None:
    found = of_json(
        {"n": number % count, "s": f"user-{number % count}"} for number in range(max(count, 3000))
    )
    for name in ("n", "s"):
        assert found.at(name).distinct == pytest.approx(count, rel=0.25, abs=1)


def test_order_in_the_file() -> None:
    random.seed(1)
    rows = [
        {
            "up": n,
            "nearly": n * 10 + random.randrange(300),
            "down": -n,
            "none": random.random(),
            "s": f"{n:09d}",
        }
        for n in range(20_000)
    ]
    found = of_json(rows)
    sortedness = {name: found.at(name).sortedness for name in rows[0]}
    assert sortedness["up"] == sortedness["nearly"] == sortedness["s"] == 1.0
    assert sortedness["down"] == -1.0
    assert abs(sortedness["none"] or 0.0) < 0.3
    assert of_json(rows[:100]).at("up").sortedness is None, "too few to say"


def test_names_that_are_data_are_counted_only(kernels: str) -> None:
    found = of_json([{"x" * 1001: 1, "y" * 1000: 1}])
    assert [child.name for child in found.root.children] == ["y" * 1000]
    assert (found.root.other_count, round(found.root.distinct_keys)) == (1, 2)


def test_depth_is_bounded(kernels: str) -> None:
    deep: object = 1
    for _ in range(300):
        deep = {"d": deep}
    found = of_json([deep])
    assert max(len(steps) for steps, _ in found.paths()) == 100
    shallow = profile(sl.from_json(pa.array([json.dumps(deep)])), max_depth=2)
    assert [steps for steps, _ in shallow.paths()] == [(), ("d",), ("d", "d")]


def test_a_thousand_parts_merge_within_a_second() -> None:
    rows = pa.array(
        [json.dumps({"a": n, "b": {"c": str(n), "d": [n]}, f"e{n % 50}": n}) for n in range(5000)]
    )
    column = sl.from_json(rows)
    parts = [profile_bytes(column.slice(start, 5)) for start in range(0, 5000, 5)]
    start = time.perf_counter()
    merged = Profile.from_bytes(merge_profiles(parts))
    assert time.perf_counter() - start < 1
    whole = profile(column)
    assert (merged.rows, merged.at("b", "c").types) == (5000, whole.at("b", "c").types)
    assert merged.at("b", "c").values == whole.at("b", "c").values
    assert merged.at("a").sortedness == 1.0


def test_decimals_of_all_widths(kernels: str) -> None:
    values = [
        Decimal("1.5"),
        Decimal("-123456789.125"),
        Decimal("9" * 30 + ".25"),
        Decimal(0),
        Decimal("1E-20"),
    ]
    found = profile_values([Variant.of(value) for value in values])
    assert found.root.scales == {0: 1, 1: 1, 2: 1, 3: 1, 20: 1}
    assert found.root.digits == {0: 1, 1: 2, 9: 1, 30: 1}
