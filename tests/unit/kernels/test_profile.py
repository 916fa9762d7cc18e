"""Profiles of Variant columns: counts, bounds on memory, malformed rows."""

from __future__ import annotations

import json
import random
import time
import tracemalloc

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import InvalidSchema, MalformedVariant
from shredlake.kernels import profile
from shredlake.variant import VariantType


def test_null_rows_are_not_variant_nulls(kernels: str) -> None:
    found = profile(sl.from_json(pa.array(["null", None, "1"])))
    assert (found.rows, found.nulls, found.root.nulls, found.root.count) == (3, 1, 1, 2)


def test_numbers(kernels: str) -> None:
    texts = ["1", "-250", "3.75", "0.125", "12345678901234567890.5", "2.5e3"]
    found = profile(sl.from_json(pa.array(texts))).root
    assert found.low == -250.0
    assert found.high == pytest.approx(12345678901234567890.5)
    assert found.scales == {0: 2, 1: 1, 2: 1, 3: 1}
    assert found.digits == {0: 1, 1: 2, 3: 1, 20: 1}
    assert found.types[VariantType.DOUBLE] == 1


def test_memory_is_bounded_and_the_common_paths_stay() -> None:
    random.seed(2)
    rows = [{"id": n, "map": {f"k{random.randrange(10**9)}": 1 for _ in range(50)}} for n in range(2000)]
    found = profile(sl.from_json(pa.array(map(json.dumps, rows))), max_paths=1000)
    assert sum(1 for _ in found.paths()) <= 1000
    assert found.at("id").rows == 2000, "never dropped"
    keys = found.at("map")
    assert keys.distinct_keys == pytest.approx(100_000, rel=0.25)
    kept = sum(child.count for child in keys.children)
    assert kept + keys.other_count == 100_000, "what is dropped is counted"
    assert found.missed >= 1


def test_one_row_with_very_many_paths() -> None:
    row = json.dumps({f"key{number}": number for number in range(50_000)})
    found = profile(sl.from_json(pa.array([row])), max_paths=100)
    assert sum(1 for _ in found.paths()) <= 100
    assert sum(child.count for child in found.root.children) + found.root.other_count == 50_000


def test_many_threads_change_nothing() -> None:
    column = sl.from_json(pa.array([json.dumps({"n": n % 1000, "s": f"{n}"}) for n in range(150_000)]))
    assert profile(column, threads=1) == profile(column, threads=4)


def test_malformed_rows_are_named(kernels: str) -> None:
    column = pa.array(
        [{"metadata": b"\x01\x00\x00", "value": value} for value in (b"\x00", b"\x0d")], sl.variant()
    )
    with pytest.raises(MalformedVariant, match="row 1"):
        profile(column)
    with pytest.raises(InvalidSchema, match="not a Variant column"):
        profile(pa.array([1]))


def test_values_that_share_bytes_do_not_run_forever() -> None:
    # Ten levels of objects, each with 60 fields that all lie at the same place: 60 ** 10 paths to visit.
    names = [f"{number:02d}".encode() for number in range(60)]
    offsets = bytes(2 * number for number in range(61))
    metadata = bytes([0x11, 60]) + offsets + b"".join(names)
    value = b"\x00"
    for _ in range(10):
        size = len(value).to_bytes(2, "little")
        value = bytes([0b000001_10, 60]) + bytes(range(60)) + b"\x00\x00" * 60 + size + value
    start = time.perf_counter()
    with pytest.raises(MalformedVariant, match="row 0"):
        profile(pa.array([{"metadata": metadata, "value": value}], sl.variant()))
    assert time.perf_counter() - start < 1


def test_python_memory_of_a_large_profile() -> None:
    rows = pa.array([json.dumps({f"k{n * 100 + i}": 1 for i in range(100)}) for n in range(3000)])
    column = sl.from_json(rows)
    tracemalloc.start()
    profile(column)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200 << 20
