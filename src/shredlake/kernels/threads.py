"""Cuts a column into the contiguous pieces that a kernel works on, and assembles the results.

```
column ── pieces() ─▶ Array, Array, Array ── kernel, on threads ─▶ Array, Array, Array ──▶ same container
```

A kernel takes one pa.Array (possibly sliced, possibly with nulls) and returns one pa.Array. `map_pieces` does
the rest: it cuts the column so that every thread has work and no output exceeds Arrow's 32-bit offsets, runs
the pieces on threads (kernels release the GIL), and concatenates the results in order. An error is raised for
the first bad row of the column, whichever thread finds a bad row first.

`run` is not a run of `shredlake.runner`, whose results a reader takes one by one. A kernel needs all results,
so the caller works too, no result waits for a reader, and no pool is made: a call on small pieces costs a
quarter of the time. A kernel also runs inside the jobs of a runner, whose pool may be busy, and goes on alone
where the system has no more threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from threading import Thread
from typing import TypeAlias, TypeVar

import pyarrow as pa

# Below this size a second thread costs more than it saves.
SMALL_BYTES = 1 << 20
# A kernel's output is at most a few times its input, and must stay below 2 GiB.
LARGEST_PIECE_BYTES = 128 << 20
# The results of one Array are concatenated into one Array if possible; otherwise they stay chunks.
LARGEST_ARRAY_BYTES = (1 << 31) - (1 << 20)

Column: TypeAlias = pa.Array | pa.ChunkedArray
Result = TypeVar("Result")


def thread_count(threads: int | None) -> int:
    """Returns the number of threads: the given one, or one per core available to this process."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    return threads


def chunks_of(column: Column) -> list[pa.Array]:
    """The column's contiguous arrays; at least one, so that the result has a type."""
    if isinstance(column, pa.ChunkedArray):
        return column.chunks or [pa.nulls(0, column.type)]
    return [column]


def pieces(column: Column, threads: int) -> list[tuple[int, pa.Array]]:
    """Cuts the column into (number of the first row, array), in order."""
    chunks = [(chunk, chunk.nbytes) for chunk in chunks_of(column)]
    left = sum(size for _, size in chunks)
    cut: list[tuple[int, pa.Array]] = []
    row = 0
    for chunk, whole in chunks:
        for piece, size in _split(chunk, whole, left, threads):
            cut.append((row, piece))
            row += len(piece)
            left -= size
    return cut


def _split(array: pa.Array, size: int, left: int, threads: int) -> Iterator[tuple[pa.Array, int]]:
    """Yields pieces with their bytes, each a share of the `left` bytes that remain.

    Shares shrink towards the end: large pieces have the least overhead, small ones let the threads finish
    together.
    """
    largest = LARGEST_PIECE_BYTES
    if threads > 1:
        largest = min(largest, max(SMALL_BYTES, left // (2 * threads)))
    if size <= largest * 3 // 2 or len(array) < 2:
        yield array, size
        return
    rows = max(1, len(array) * largest // size)
    for part in (array.slice(0, rows), array.slice(rows)):
        # Measuring a wide column is slow, so it is done only if a few huge rows could exceed a piece.
        counted = part.nbytes if size > LARGEST_PIECE_BYTES else size * len(part) // len(array)
        for piece, bytes_ in _split(part, counted, left, threads):
            yield piece, bytes_
            left -= bytes_


def run(
    work: Callable[[int, pa.Array], Result], cut: list[tuple[int, pa.Array]], threads: int
) -> list[Result]:
    """Calls work(first row, piece) for each piece; on threads if there are several of both."""
    if threads == 1 or len(cut) == 1:
        return [work(row, piece) for row, piece in cut]
    left = deque(enumerate(cut))
    results: dict[int, Result] = {}
    failed: dict[int, BaseException] = {}

    def take() -> None:
        while not failed:
            try:
                index, (row, piece) = left.popleft()
            except IndexError:
                return
            try:
                results[index] = work(row, piece)
            except BaseException as error:
                failed[index] = error

    # The caller works too, since it would otherwise only wait, and a thread takes time to start.
    others: list[Thread] = []
    try:
        for number in range(1, min(threads, len(cut))):
            other = Thread(target=take, name=f"shredlake-{number}")
            try:
                other.start()
            except RuntimeError:
                break  # no more threads available, so the running ones do the work
            others.append(other)
        take()
    finally:
        left.clear()
        for other in others:
            other.join()
    if failed:
        # Pieces start in order, so all before the first failure are done. An interrupt takes precedence.
        raise min(failed.items(), key=lambda one: (isinstance(one[1], Exception), one[0]))[1]
    return [results[index] for index in range(len(cut))]


def assemble(column: Column, results: list[pa.Array]) -> Column:
    """Returns the results in the container of `column`; an Array that is too large becomes chunks."""
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array(results)
    if len(results) == 1:
        return results[0]
    if sum(result.nbytes for result in results) > LARGEST_ARRAY_BYTES:
        return pa.chunked_array(results)
    return pa.concat_arrays(results)


def map_pieces(
    work: Callable[[int, pa.Array], pa.Array], column: Column, *, threads: int | None = None
) -> Column:
    """Applies a kernel to a column: work(first row, piece) returns as many rows as the piece has.

    >>> import pyarrow as pa, pyarrow.compute as pc
    >>> map_pieces(lambda row, piece: pc.add(piece, row), pa.chunked_array([[1, 2], [3]])).to_pylist()
    [1, 2, 5]
    """
    count = thread_count(threads)
    return assemble(column, run(work, pieces(column, count), count))
