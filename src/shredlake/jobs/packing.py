"""Packs items in the order given: into bins of bounded size, or into a number of shares of about one size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, TypeVar

from shredlake.delta.protocol.actions import Add

OPENING_COST: Final = 1 << 20
"""The bytes that could be read in the time in which a file is opened."""


class HasSize(Protocol):
    """A file whose size is known."""

    @property
    def size(self) -> int: ...


Item = TypeVar("Item")
Sized = TypeVar("Sized", bound=HasSize)


def pack(items: Iterable[Item], size: Callable[[Item], float], limit: float) -> Iterator[tuple[Item, ...]]:
    """Groups neighbouring items whose sizes add up to at most `limit`; a larger item gets its own bin.

    Items are taken one at a time, so a stream can be packed.

    >>> list(pack([4, 4, 4, 20, 1], float, 10))
    [(4, 4), (4,), (20,), (1,)]
    """
    held: list[Item] = []
    total = 0.0
    for item in items:
        length = size(item)
        if held and total + length > limit:
            yield tuple(held)
            held, total = [], 0.0
        held.append(item)
        total += length
    if held:
        yield tuple(held)


def pack_to_read(files: Iterable[Sized], limit: int) -> Iterator[tuple[Sized, ...]]:
    """Groups files for tasks that read about `limit` bytes each. What it takes to open a file counts, too.

    >>> adds = [Add(str(number), 1000, 0) for number in range(100)]
    >>> [len(group) for group in pack_to_read(adds, 64 << 20)]
    [63, 37]
    """
    return pack(files, lambda file: file.size + OPENING_COST, limit)


def split_evenly(items: Sequence[Item], size: Callable[[Item], int], count: int) -> list[tuple[Item, ...]]:
    """Splits items into at most `count` shares of about the same size; none is empty.

    >>> split_evenly([5, 5, 5, 5, 20], int, 2)
    [(5, 5, 5, 5), (20,)]
    """
    sizes = [size(item) for item in items]
    total = sum(sizes)
    found: list[list[Item]] = [[] for _ in range(count)]
    before = 0
    for item, length in zip(items, sizes, strict=True):
        found[(2 * before + length) * count // (2 * total + 1)].append(item)  # the share of the item's middle
        before += length
    return [tuple(share) for share in found if share]


def pack_files(adds: Sequence[Add], file_bytes: float, growth: float = 1.0) -> Iterator[tuple[Add, ...]]:
    """Groups files of one partition that become one file of at most `file_bytes`, in log order.

    `growth` is the size of the new files relative to the old ones.
    """
    by_partition: dict[tuple[Any, ...], list[Add]] = {}
    for add in adds:
        by_partition.setdefault(tuple(sorted(add.partition_values.items(), key=str)), []).append(add)
    for members in by_partition.values():
        yield from pack(members, lambda add: add.size * growth, file_bytes)
