"""Merged parts of aggregates equal the aggregates of all rows."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shredlake.expr.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP
from shredlake.spark.query.workers import partials
from shredlake.spark.query.workers.partials import Grouping, Part, Value

KEY, FLAG = Value("k", STRING), Value("b", BOOLEAN)
NUMBER, SMALL = Value("n", BIGINT), Value("i", INT)
SCHEMA = pa.schema([("k", pa.string()), ("b", pa.bool_()), ("n", pa.int64()), ("i", pa.int32())])

rows = st.lists(
    st.fixed_dictionaries(
        {
            "k": st.none() | st.sampled_from(["", "a", "ä", "𝄞b"]),
            "b": st.none() | st.booleans(),
            "n": st.none() | st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-5, 5),
            "i": st.none() | st.integers(-(1 << 31), (1 << 31) - 1),
        }
    ),
    max_size=12,
)


def merged(parts: list[pa.RecordBatch], grouping: Grouping) -> dict[tuple[Any, ...], list[Any]]:
    """The result of merging parts as Spark does."""
    together = {
        "sum": lambda values: sum(values) if values else None,
        "min": lambda values: min(values, default=None),
        "max": lambda values: max(values, default=None),
    }
    found: dict[tuple[Any, ...], list[list[Any]]] = defaultdict(lambda: [[] for _ in grouping.parts])
    for batch in parts:
        assert batch.schema.names == grouping.names
        for row in batch.to_pylist():
            key = tuple(row[name] for name in grouping.key_names)
            for place, name in enumerate(grouping.part_names):
                if row[name] is not None:
                    found[key][place].append(row[name])
                else:
                    found[key]
    merges = [partials.AGGREGATES[part.aggregate].merged for part in grouping.parts]
    return {
        key: [together[merge](list(values)) for merge, values in zip(merges, lists, strict=True)]
        for key, lists in found.items()
    }


def expected(data: list[dict[str, Any]], keys: list[str]) -> dict[tuple[Any, ...], list[Any]]:
    """Count of rows; count, sum, least and greatest of `n`; sum of lengths and greatest of `k`: in Python."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in data:
        groups[tuple(row[key] for key in keys)].append(row)
    found = {}
    for key, members in groups.items():
        numbers = [row["n"] for row in members if row["n"] is not None]
        texts = [row["k"] for row in members if row["k"] is not None]
        total = sum(numbers) if numbers else None
        lengths = sum(map(len, texts)) if texts else None
        found[key] = [
            len(members),
            len(numbers),
            total,
            min(numbers, default=None),
            max(numbers, default=None),
            lengths,
            max(texts, default=None),
        ]
    return found


def made_of(rows: list[dict[str, Any]], indexes: bool) -> pa.RecordBatch:
    """A batch; its texts may be indexes, as a file's dictionary has them: in another order, some not used."""
    batch = pa.RecordBatch.from_pylist(rows, SCHEMA)
    if not indexes:
        return batch
    texts = ["b", "𝄞b", "ä", "a", ""]
    places = [None if row["k"] is None else texts.index(row["k"]) for row in rows]
    column = pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(texts))
    return pa.RecordBatch.from_arrays([column, *batch.columns[1:]], names=batch.schema.names)


@given(
    st.lists(st.tuples(rows, st.booleans()), max_size=4),
    st.sampled_from([(), ("k",), ("b",), ("k", "b")]),
)
def test_parts_of_random_batches(
    batches: list[tuple[list[dict[str, Any]], bool]], keys: tuple[str, ...]
) -> None:
    parts = (
        Part("Count"),
        Part("Count", NUMBER),
        Part("Sum", NUMBER),
        Part("Min", NUMBER),
        Part("Max", NUMBER),
        Part("Sum", Value("k", STRING, ("Length",))),
        Part("Max", KEY),
    )
    grouping = Grouping(tuple({"k": KEY, "b": FLAG}[key] for key in keys), parts)
    made = [made_of(batch, indexes) for batch, indexes in batches if batch]
    data = [row for batch, _ in batches for row in batch]
    assert merged(list(grouping.parts_of(made)), grouping) == expected(data, list(keys))


@given(
    st.lists(st.tuples(rows, st.booleans()), max_size=4),
    st.sampled_from([((), "k"), ((), "n"), (("b",), "k"), (("k",), "k"), (("k",), "n")]),
)
def test_what_is_counted_once_is_one_more_key(
    batches: list[tuple[list[dict[str, Any]], bool]], asked: tuple[tuple[str, ...], str]
) -> None:
    keys, counted = asked
    values = {"k": KEY, "b": FLAG, "n": NUMBER}
    grouping = Grouping(tuple(values[key] for key in keys), (Part("Count"),), values[counted])
    found: dict[tuple[Any, ...], tuple[set[Any], int]] = defaultdict(lambda: (set(), 0))
    for batch in grouping.parts_of([made_of(batch, indexes) for batch, indexes in batches if batch]):
        for row in batch.to_pylist():
            key = tuple(row[name] for name in grouping.key_names)
            seen, count = found[key]
            found[key] = seen | {row["d"]}, count + row["p0"]
    wanted: dict[tuple[Any, ...], tuple[set[Any], int]] = defaultdict(lambda: (set(), 0))
    for batch, _ in batches:
        for row in batch:
            seen, count = wanted[tuple(row[key] for key in keys)]
            wanted[tuple(row[key] for key in keys)] = seen | {row[counted]}, count + 1
    assert found == wanted


def test_sums_that_may_overflow_are_left_to_spark() -> None:
    """Arrow's sum would overflow silently."""
    grouping = Grouping((), (Part("Sum", NUMBER),))
    batch = pa.record_batch({"n": pa.array([(1 << 62), (1 << 62), 1], pa.int64())})
    [parts] = grouping.parts_of([batch])
    assert parts.column("p0").to_pylist() == [1 << 62, 1 << 62, 1]
    small = pa.record_batch({"n": pa.array([1, 2, 3], pa.int64())})
    apart = [part.column("p0").to_pylist() for part in grouping.parts_of([small, batch, small, small])]
    assert apart == [[6], [1 << 62, 1 << 62, 1], [12]]


def test_many_groups_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partials, "MOST_GROUPS", 3)
    monkeypatch.setattr(partials, "ENOUGH_TO_MERGE", 1)
    monkeypatch.setattr(partials, "BYTES_AT_ONCE", 1)
    grouping = Grouping((NUMBER,), (Part("Count"),))
    batches = [pa.record_batch({"n": pa.array([n, n + 1, n], pa.int64())}) for n in range(6)]
    parts = list(grouping.parts_of(batches))
    assert len(parts) > 1
    counts: dict[int, int] = defaultdict(int)
    for part in parts:
        for row in part.to_pylist():
            counts[row["k0"]] += row["p0"]
    assert counts == {0: 2, 1: 3, 2: 3, 3: 3, 4: 3, 5: 3, 6: 1}


def test_rows_without_columns_are_counted() -> None:
    grouping = Grouping((), (Part("Count"),))
    [parts] = grouping.parts_of([pa.record_batch({"": pa.nulls(5)}), pa.record_batch({"": pa.nulls(7)})])
    assert parts.to_pylist() == [{"p0": 12}]
    assert list(grouping.parts_of([])) == []


@pytest.mark.parametrize("micros", [0, 1, -1, 3_600_000_000, -3_600_000_001, 1_700_000_000_123_456])
def test_hours_are_those_of_utc(micros: int) -> None:
    """Before 1970 as well, where division must not round towards zero."""
    batch = pa.record_batch({"n": pa.array([micros, None], pa.int64())})
    moment = datetime.fromtimestamp(0, UTC).timestamp() + micros / 1e6
    at = datetime.fromtimestamp(moment, UTC)
    hours = Value("n", BIGINT, ("MicrosToTimestamp", "Hour")).of(batch)
    minutes = Value("n", BIGINT, ("MicrosToTimestamp", "Minute")).of(batch)
    assert hours.to_pylist() == [at.hour, None]
    assert minutes.to_pylist() == [at.minute, None]
    assert hours.type == INT.arrow


def test_what_is_not_exact_is_not_computed() -> None:
    assert Part("Sum", Value("x", DOUBLE)).type is None
    assert Part("Max", Value("x", DOUBLE)).type is None
    assert Part("Sum").type is None
    assert Part("Count", Value("x", DOUBLE)).type == BIGINT
    assert Part("Min", SMALL).type == INT
    assert Value("x", STRING, ("Hour",)).result is None
    assert Part("Sum", Value("t", TIMESTAMP)).type is None
