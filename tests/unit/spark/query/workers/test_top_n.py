"""The first rows in an order, as a worker finds them in its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, rows_of
from shredlake.delta.log.files import as_adds
from shredlake.delta.read.data_file import DataFile
from shredlake.expr import Column, Compare, IsNull, Or
from shredlake.expr.types import BIGINT, STRING, TIMESTAMP
from shredlake.spark.query.workers.top_n import Key, Order

ROWS = 100


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    """Four files: `a` falls from file to file, is missing in places, and is a text in places of the third."""
    made = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    for file in range(4):
        ids = range(file * ROWS, (file + 1) * ROWS)
        values: list[dict[str, Any]] = [{"a": 5000 - 4 * number} for number in ids]
        for number in range(0, ROWS, 11):
            del values[number]["a"]
        if file == 2:
            values[5]["a"] = "text"
        made.append(rows_of(ids, values), options=sl.WriteOptions(page_rows=20))
    return made


def opened(table: sl.Table, query: Any) -> list[DataFile]:
    """The files in the order of their ids."""
    files = [DataFile(table.snapshot, add) for add in as_adds(table.files())]
    return sorted(files, key=lambda data: next(data.batches(query)).column(0)[0].as_py())


def test_rows_that_can_not_be_first_are_not_read(table: sl.Table) -> None:
    """The first file has the greatest numbers: of the others no page is read, but where some are texts."""
    scan = table.scan(["id", "v:a::bigint AS a"])
    order = Order((Key(1, BIGINT, descending=True, nulls_first=False),), 3)
    files = opened(table, scan.query)
    found = pa.Table.from_batches(order.rows_of(files, scan.query))
    assert sorted(found.column("a").to_pylist()) == [4988, 4992, 4996]
    assert files[0].file.tally.pages > 0
    assert files[1].file.tally.pages == files[3].file.tally.pages == 0


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls_first", [False, True])
@pytest.mark.parametrize("count", [1, 7, 60])
def test_candidates_hold_the_first_rows(
    table: sl.Table, descending: bool, nulls_first: bool, count: int
) -> None:
    scan = table.scan(["id", "v:a::bigint AS a"], where="id < 350 and id <> 1")
    keys = (Key(1, BIGINT, descending, nulls_first), Key(0, BIGINT, descending=True, nulls_first=False))
    found = pa.Table.from_batches(Order(keys, count).rows_of(opened(table, scan.query), scan.query))

    def rank(row: dict[str, Any]) -> tuple[bool, int, int]:
        number = row["a"] or 0
        return (row["a"] is None) != nulls_first, -number if descending else number, -row["id"]

    expected = sorted(scan.to_arrow().to_pylist(), key=rank)[:count]
    assert sorted(found.to_pylist(), key=rank) == expected


def test_no_file_and_no_row(table: sl.Table) -> None:
    order = Order((Key(0, BIGINT, descending=False, nulls_first=False),), 3)
    scan = table.scan(["id"], where="id < 0")
    assert sum(batch.num_rows for batch in order.rows_of([], scan.query)) == 0
    assert (
        sum(batch.num_rows for batch in order.rows_of(opened(table, table.scan(["id"]).query), scan.query))
        == 0
    )


@given(
    st.lists(st.tuples(st.none() | st.sampled_from("abä"), st.none() | st.integers(-2, 2)), max_size=12),
    st.tuples(*[st.booleans()] * 4),
    st.integers(1, 5),
)
def test_the_first_rows_by_two_keys(
    rows: list[tuple[str | None, int | None]], ways: tuple[bool, bool, bool, bool], count: int
) -> None:
    order = Order((Key(0, STRING, ways[0], ways[1]), Key(1, BIGINT, ways[2], ways[3])), count)
    data = pa.table(
        {"k": pa.array([k for k, _ in rows], pa.string()), "n": pa.array([n for _, n in rows], pa.int64())}
    )

    def by_last_key(row: tuple[str | None, int | None]) -> tuple[bool, int]:
        number = row[1] or 0
        return (row[1] is None) != ways[3], -number if ways[2] else number

    def by_first_key(row: tuple[str | None, int | None]) -> tuple[bool, int]:
        number = ord(row[0] or "a")
        return (row[0] is None) != ways[1], -number if ways[0] else number

    expected = sorted(sorted(rows, key=by_last_key), key=by_first_key)[:count]
    found = order.first(data)
    kept = [(row["k"], row["n"]) for row in found.to_pylist()]
    # Without a choice to make, the rows stay as they are.
    assert (sorted(kept, key=str) if len(rows) <= count else kept) == (
        sorted(expected, key=str) if len(rows) <= count else expected
    )


def test_what_may_still_be_among_the_first() -> None:
    key = Column("k")
    up = Order((Key(0, STRING, descending=False, nulls_first=True),), 2)
    assert up.condition(key, pa.array(["a"]), 0) is None
    found = up.condition(key, pa.array(["a", "c"]), 1)
    assert isinstance(found, Or)
    assert found.operands[0] == IsNull(key)
    assert up.condition(key, pa.array(["a", "c"]), 2) == IsNull(key)
    down = Order((Key(0, BIGINT, descending=True, nulls_first=False),), 2)
    best = down.best(pa.array([1, 7, None, 9, 7], pa.int64()))
    assert sorted(best.to_pylist()) == [7, 9]
    found = down.condition(key, best, 5)
    assert isinstance(found, Compare)
    assert (found.op, found.right.value) == (">=", 7)
    mixed = Order((Key(0, STRING, True, nulls_first=True), Key(1, BIGINT, False, nulls_first=False)), 4)
    rows = pa.table({"k": ["a", None, "b", None, "b"], "n": pa.array([1, None, 3, 4, 2], pa.int64())})
    assert mixed.first(rows).to_pydict() == {"k": [None, None, "b", "b"], "n": [4, None, 2, 3]}
    late = Order((Key(0, TIMESTAMP, descending=False, nulls_first=False),), 1)
    assert late.condition(key, pa.array([1 << 62], pa.timestamp("us", "UTC")), 0) is None
