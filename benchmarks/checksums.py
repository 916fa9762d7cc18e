"""What page checksums cost: the same data written and read with and without them, on one thread.

Run as `python benchmarks/checksums.py [rows]`. Times are CPU seconds of the fastest of 15 runs.
"""

from __future__ import annotations

import argparse
import io
import json
import time
from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

import shredlake as sl
from timing import best_of

SHREDDING = "struct<id bigint, s string>"
QUERIES = {"whole": None, "a number": ["v:id::bigint AS id"], "a text": ["v:s::string AS s"]}


def main(rows: int) -> None:
    texts = pa.array(json.dumps({"id": n, "s": f"text number {n * 7919 % 100003}"}) for n in range(rows))
    table = pa.table({"v": sl.shred(sl.from_json(texts), sl.ShreddingSchema.parse(SHREDDING))})

    def write(checksums: bool) -> io.BytesIO:
        sink = io.BytesIO()
        pq.write_table(table, sink, write_page_checksum=checksums, compression="zstd")
        return sink

    file = write(True)
    show("write", write)
    for name, columns in QUERIES.items():
        read = partial(sl.read_parquet, file, columns, threads=1)
        show(f"read {name}", read)


def show(name: str, work: Callable[[bool], object]) -> None:
    without, with_ = best_of(15, partial(work, False), partial(work, True), clock=time.process_time)
    print(f"{name:<14} without {1000 * without:7.1f} ms, with {1000 * with_:7.1f} ms: {with_ / without:.2f}")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("rows", nargs="?", type=int, default=500_000)
    main(**vars(arguments.parse_args()))
