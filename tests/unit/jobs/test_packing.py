"""Bins of bounded size, and shares of about the same size: nothing lost, nothing reordered."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from shredlake.delta.protocol.actions import Add
from shredlake.jobs.packing import pack, pack_files, split_evenly

sizes = st.lists(st.integers(0, 100), max_size=40)


@given(sizes, st.integers(1, 150))
def test_a_bin_is_full_or_holds_one_large_item(items: list[int], limit: int) -> None:
    bins = list(pack(items, float, limit))
    assert [item for one in bins for item in one] == items
    assert all(sum(one) <= limit or len(one) == 1 for one in bins)
    assert all(sum(one) + after[0] > limit for one, after in pairwise(bins))


def test_a_stream_is_packed_as_it_comes() -> None:
    taken: list[int] = []

    def stream() -> object:
        for number in range(10):
            taken.append(number)
            yield 4

    bins = pack(stream(), float, 8)  # type: ignore[arg-type]
    assert next(bins) == (4, 4)
    assert taken == [0, 1, 2]


@given(sizes, st.integers(1, 12))
def test_shares_are_even(items: list[int], count: int) -> None:
    shares = split_evenly(items, int, count)
    assert [item for one in shares for item in one] == items
    assert len(shares) <= count
    assert all(shares)
    assert all(sum(one) <= sum(items) / count + max(items) for one in shares)


def test_files_are_shared_out_by_their_bytes() -> None:
    adds = [Add(str(number), size, 0) for number, size in enumerate([5, 5, 5, 5, 1, 1, 1, 1, 20])]
    shares = split_evenly(adds, lambda add: add.size, 4)
    assert [sum(add.size for add in share) for share in shares] == [10, 12, 2, 20]
    assert len(split_evenly(adds[:2], lambda add: add.size, 4)) == 2


def test_files_of_different_partitions_are_kept_apart() -> None:
    adds = [Add(str(number), 4, 0, partition_values={"day": "ab"[number % 2]}) for number in range(6)]
    assert [[add.path for add in one] for one in pack_files(adds, 8)] == [
        ["0", "2"],
        ["4"],
        ["1", "3"],
        ["5"],
    ]
    assert [len(one) for one in pack_files(adds, 8, growth=0.5)] == [3, 3]
