"""Look-alikes of real JSON for tests and benchmarks: seeded, streamed, any size.

>>> lines = list(generate("relational", 3, seed=1))
>>> len(lines), lines == list(generate("relational", 3, seed=1))
(3, True)

The streams are made by `shredlake.cli.verbs.demo_data`, which has the shape that the demo needs (`bluesky`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from datagen.forge import github
from datagen.records import logs, map_by_id, nasty, relational, telemetry
from shredlake.cli.verbs.demo_data import Shape, bluesky, lines, write_lines

SHAPES: dict[str, Shape] = {
    "bluesky": bluesky,
    "github": github,
    "logs": logs,
    "telemetry": telemetry,
    "map_by_id": map_by_id,
    "relational": relational,
    "nasty": nasty,
}


def generate(shape: str, rows: int, seed: int = 0) -> Iterator[bytes]:
    """The rows of a shape as NDJSON lines, each ending in a newline."""
    return lines(SHAPES[shape], rows, seed)


def write_ndjson(
    shape: str, path: str | Path, rows: int | None = None, *, size: int | None = None, seed: int = 0
) -> int:
    """Writes `rows` rows, or about `size` bytes of them, and returns how many rows it wrote."""
    if rows is None:
        if size is None:
            raise ValueError("write_ndjson needs rows or size")
        rows = rows_of_size(shape, size)
    write_lines(SHAPES[shape], path, rows, seed)
    return rows


def rows_of_size(shape: str, size: int) -> int:
    """About how many rows of a shape make up `size` bytes.

    >>> rows_of_size("relational", 1_000_000) > 1000
    True
    """
    sample = [len(line) for line in generate(shape, 500)]
    return max(1, round(size / (sum(sample) / len(sample))))
