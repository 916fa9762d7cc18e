"""Measures the cost of checksums: the same data is written and read with and without them, on one thread.

Those of pages are Parquet's own; the seal is ours and covers footer and page indexes, here of a file of 1,000
columns. Run as `python benchmarks/checksums.py [rows]`. Times are CPU seconds of the fastest of 15 runs.
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

import shredlake as sl
from shredlake.parquet.format.chunks import Chunks
from shredlake.parquet.format.seal import blank, check_seal
from shredlake.parquet.io.source import open_input
from shredlake.parquet.read.pages import open_footer
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

        def read(checksums: bool, columns: list[str] | None = columns) -> object:
            return sl.read_parquet(file, columns, threads=1, checksums=checksums)

        show(f"read {name}", read)
    seal()


def seal() -> None:
    """Opening a wide file, with and without the comparison of its footer with its seal."""
    columns = 1000
    wide = pa.table({f"c{number}": pa.array(range(100)) for number in range(columns)})
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/wide.parquet"
        sl.write_parquet(wide, path, shredding=None)
        with open_input(path) as source:
            footer = source.footer()

    def opened(sealed: bool) -> None:
        if sealed:
            check_seal(footer.raw, footer.start, "wide")
        Chunks(footer, "wide")
        open_footer(footer)

    show("open", opened)
    entry = len(blank(columns)) / len(footer.raw)
    print(f"{'seal':<14} {100 * entry:.1f}% of a footer of {len(footer.raw):,} bytes")


def show(name: str, work: Callable[[bool], object]) -> None:
    without, with_ = best_of(15, partial(work, False), partial(work, True), clock=time.process_time)
    print(f"{name:<14} without {1000 * without:7.1f} ms, with {1000 * with_:7.1f} ms: {with_ / without:.2f}")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("rows", nargs="?", type=int, default=500_000)
    main(**vars(arguments.parse_args()))
