"""Generated data sets as Arrow arrays or NDJSON files; nothing is downloaded.

python benchmarks/datasets.py bluesky /tmp/bluesky.ndjson --gigabytes 1
python benchmarks/datasets.py logs /tmp/logs.ndjson.gz --rows 100000
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pyarrow as pa

from datagen import SHAPES, generate, rows_of_size, write_ndjson

__all__ = ["SHAPES", "batches", "column", "generate", "rows_of_size", "write_ndjson"]


def column(shape: str, rows: int, seed: int = 0) -> pa.Array:
    """The rows of a shape as one Arrow array of JSON strings (below 2 GB)."""
    return pa.array([line[:-1] for line in generate(shape, rows, seed)], pa.binary()).cast(pa.string())


def batches(shape: str, rows: int, seed: int = 0, batch_rows: int = 65_536) -> Iterator[pa.Array]:
    """The same rows as a stream of arrays, for data sets that do not fit in one."""
    lines: list[bytes] = []
    for line in generate(shape, rows, seed):
        lines.append(line[:-1])
        if len(lines) == batch_rows:
            yield pa.array(lines, pa.binary()).cast(pa.string())
            lines = []
    if lines:
        yield pa.array(lines, pa.binary()).cast(pa.string())


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a generated data set as NDJSON.")
    parser.add_argument("shape", choices=sorted(SHAPES))
    parser.add_argument("path")
    amount = parser.add_mutually_exclusive_group(required=True)
    amount.add_argument("--rows", type=int)
    amount.add_argument("--gigabytes", type=float)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    size = int(options.gigabytes * 1e9) if options.gigabytes else None
    rows = write_ndjson(options.shape, options.path, options.rows, size=size, seed=options.seed)
    print(f"{rows} rows of {options.shape} in {options.path}")


if __name__ == "__main__":
    main()
