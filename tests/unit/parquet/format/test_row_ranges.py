"""Row ranges and masks: narrowed, touched and merged."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.fs

from shredlake.parquet.format.row_ranges import Rows, merge_ranges


def test_a_second_mask_narrows_the_first() -> None:
    rows = Rows(((10, 14), (20, 22)))
    once = rows.masked(pa.array([True, False, True, True, False, True]))
    twice = once.masked(pa.array([False, True, False, True]))
    assert once.count == 4
    assert twice.count == 2
    numbers = pa.array(range(30))
    assert once.pick(numbers, [(0, 30)]).to_pylist() == [10, 12, 13, 21]
    assert twice.pick(numbers, [(0, 30)]).to_pylist() == [12, 21]


def test_touch_looks_through_the_mask() -> None:
    rows = Rows(((0, 100),)).masked(pa.array([n == 57 for n in range(100)]))
    assert rows.touch(50, 60)
    assert not rows.touch(0, 57)
    assert not rows.touch(58, 100)
    assert not rows.touch(200, 300)


def test_picked_rows_may_lie_in_several_pieces_of_coverage() -> None:
    rows = Rows(((3, 8), (15, 17)))
    covered = [(2, 5), (5, 9), (14, 20)]
    array = pa.array([row for start, stop in covered for row in range(start, stop)])
    assert rows.pick(array, covered).to_pylist() == [3, 4, 5, 6, 7, 15, 16]


def test_merge_ranges_joins_neighbours() -> None:
    assert merge_ranges([(0, 1), (1, 2), (4, 6), (5, 9)]) == ((0, 2), (4, 9))
