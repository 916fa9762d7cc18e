"""Look-alikes of real JSON, for the demo, the tests and the benchmarks: seeded, streamed, any size.

>>> import json
>>> first = next(generate("bluesky", 1))
>>> sorted(json.loads(first))
['commit', 'did', 'kind', 'time_us']

A stream is made of blocks of rows, each with a random generator of its own, seeded by (shape, seed, block):
blocks can be made in any order and in any process, and the first rows do not depend on how many follow.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from random import Random
from typing import IO, cast

from shredlake.cli import generate_events, generate_records

BLOCK = 4096

# (random generator, number of the first row, rows of this block, rows in all) -> one JSON text per row
Shape = Callable[[Random, int, int, int], Iterator[str]]

SHAPES: dict[str, Shape] = {
    "bluesky": generate_events.bluesky,
    "github": generate_events.github,
    "logs": generate_records.logs,
    "telemetry": generate_records.telemetry,
    "map_by_id": generate_records.map_by_id,
    "relational": generate_records.relational,
    "nasty": generate_records.nasty,
}


def generate(shape: str, rows: int, seed: int = 0) -> Iterator[bytes]:
    """The rows of a shape as NDJSON lines, each ending in a newline.

    >>> lines = list(generate("relational", 3, seed=1))
    >>> len(lines), lines == list(generate("relational", 3, seed=1))
    (3, True)
    """
    for first in range(0, rows, BLOCK):
        for text in _rows(shape, first, rows, seed):
            yield text.encode() + b"\n"


def write_ndjson(
    shape: str, path: str | Path, rows: int | None = None, *, size: int | None = None, seed: int = 0
) -> int:
    """Writes `rows` rows, or about `size` bytes of them, and returns how many rows it wrote.

    Blocks are made on all cores and written in order; a path that ends in `.gz` is compressed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_ndjson("logs", Path(folder) / "logs.ndjson", 10)
    10
    """
    if rows is None:
        if size is None:
            raise ValueError("write_ndjson needs rows or size")
        rows = rows_of_size(shape, size)
    opener = cast(Callable[..., IO[bytes]], gzip.open if str(path).endswith(".gz") else open)
    with opener(path, "wb") as out:
        if rows <= 4 * BLOCK:
            out.writelines(generate(shape, rows, seed))
            return rows
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            starts = iter(range(0, rows, BLOCK))
            # A window of blocks, not all of them: a finished block waits in memory for its turn.
            waiting = [pool.submit(_block, shape, first, rows, seed) for first in islice(starts, 8)]
            while waiting:
                out.write(waiting.pop(0).result())
                waiting += [pool.submit(_block, shape, first, rows, seed) for first in islice(starts, 1)]
    return rows


def rows_of_size(shape: str, size: int) -> int:
    """About how many rows of a shape make up `size` bytes.

    >>> rows_of_size("relational", 1_000_000) > 1000
    True
    """
    sample = [len(line) for line in generate(shape, 500)]
    return max(1, round(size / (sum(sample) / len(sample))))


def _rows(shape: str, first: int, rows: int, seed: int) -> Iterator[str]:
    random = Random(f"{shape}/{seed}/{first // BLOCK}")
    return SHAPES[shape](random, first, min(BLOCK, rows - first), rows)


def _block(shape: str, first: int, rows: int, seed: int) -> bytes:
    return ("\n".join(_rows(shape, first, rows, seed)) + "\n").encode()
