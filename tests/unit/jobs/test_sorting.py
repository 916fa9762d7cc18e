"""Rows are sorted by ranges of the key in bounded memory, whatever the keys are."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.schema.types import from_arrow
from shredlake.expr.sort_key import key_columns
from shredlake.jobs import sorting
from shredlake.jobs.engine import LocalEngine, SortJob
from shredlake.jobs.optimize import optimize_table

SCHEMA = pa.schema([("k", pa.float64()), ("n", pa.int64())])


def order(key: float | None) -> tuple[bool, bool, float]:
    """Nulls last, NaN before them."""
    return key is None, key is not None and math.isnan(key), 0.0 if key is None or math.isnan(key) else key


def sorted_ranges(keys: Sequence[Sequence[float | None]], parts: int, sort_by: str = "k") -> list[list[Any]]:
    found: dict[int, list[Any]] = {}

    def read(task: int) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(keys[task]), 50):
            some = keys[task][start : start + 50]
            yield pa.record_batch([some, [task] * len(some)], schema=SCHEMA)

    def write(batches: Iterator[pa.RecordBatch]) -> str:
        rows = [row["k"] for batch in batches for row in batch.to_pylist()]
        found[id(rows)] = rows
        return str(id(rows))

    job = SortJob(read, from_arrow(SCHEMA), (), (sort_by,), parts, write)
    return [found[int(result)] for result in LocalEngine(2).sort(range(len(keys)), job)]


@pytest.mark.parametrize("kind", ["distinct", "skewed", "few", "special"])
def test_ranges_are_sorted_and_do_not_overlap(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(sorting, "RUN_BYTES", 2000)
    source = random.Random(7)
    choose = {
        "distinct": lambda: source.random(),
        "skewed": lambda: 0.5 if source.random() < 0.9 else source.random(),
        "few": lambda: float(source.randrange(3)),
        "special": lambda: source.choice([None, math.nan, math.inf, -0.0, 0.0, source.random()]),
    }[kind]
    keys: list[list[float | None]] = [[choose() for _ in range(1000)] for _ in range(4)]
    ranges = sorted_ranges(keys, 5)
    rows = [key for part in ranges for key in part]
    assert [order(key) for key in rows] == sorted(order(key) for part in keys for key in part)
    assert all(order(low[-1]) < order(high[0]) for low, high in pairwise(ranges))
    if kind == "distinct":
        assert len(ranges) == 5
        assert max(map(len, ranges)) < 1.3 * min(map(len, ranges))


def test_descending_keys_and_no_rows() -> None:
    assert sorted_ranges([[1.0, 3.0], [2.0, None]], 1, "k desc nulls first") == [[None, 3.0, 2.0, 1.0]]
    assert sorted_ranges([[], []], 3) == []


def test_memory_is_bounded_even_if_all_keys_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "RUN_BYTES", 2000)
    most = 0
    real = key_columns

    def measured(keys: Any, data: Any) -> Any:
        nonlocal most
        most = max(most, data.nbytes)
        return real(keys, data)

    monkeypatch.setattr(sorting, "key_columns", measured)
    sorted_ranges([[0.5] * 900 + [0.1] * 100 for _ in range(4)], 2)
    assert 0 < most <= 2000


def test_a_partitioned_table_is_sorted_within_its_partitions(tmp_path: Path) -> None:
    schema = pa.schema([("order", pa.string()), ("n", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create(tmp_path, schema, partition_by=["order"])
    for part in range(3):
        numbers = [(n * 7 + part) % 20 for n in range(20)]
        documents = sl.from_json(pa.array([f'{{"n": {n}}}' for n in numbers]))
        table.append(pa.table({"order": ["a", None] * 10, "n": numbers, "v": documents}))
    report = optimize_table(LocalEngine(2), str(tmp_path), sort_by=("v:n::bigint",))
    assert (report.files_before, report.files_after, report.rows) == (6, 2, 60)
    for name in ("order = 'a'", "order IS NULL"):
        found = sl.Table(tmp_path).scan(["n"], where=name).to_arrow().column("n").to_pylist()
        assert len(found) == 30
        assert found == sorted(found)
