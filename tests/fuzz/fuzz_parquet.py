"""`make fuzz`: Parquet files with damaged footers, page indexes and pages, read by path, by page and whole.

Only a ShredlakeError may come out.
"""

from __future__ import annotations

import argparse
import io
import random
import time

import pyarrow as pa
import pyarrow.parquet as pq

from shredlake import ShreddingSchema, ShredlakeError, from_json, read_parquet, shred

QUERIES = [
    {"columns": ["id", "v", "v:t[0]::string AS t"]},
    {"columns": ["v"], "where": "v:a::bigint = 77"},
    {"columns": ["id"], "where": "v:b.c::string = 'x5' or id > 250"},
    {"where": "v:z::double < 3", "variants": "json"},
]


def seeds() -> list[bytes]:
    """Small files of several pages and row groups."""
    rows = [f'{{"a":{n},"b":{{"c":"x{n}"}},"t":[{n},"y"],"z":{n / 3}}}' for n in range(300)]
    schema = ShreddingSchema.parse("struct<a bigint, b struct<c string>, t array<bigint>>")
    plain = from_json(pa.array(rows))
    files = []
    shredded = shred(plain, schema)
    for column, codec, version in (
        (shredded, "zstd", "1.0"),
        (shredded, "none", "2.0"),
        (plain, "snappy", "2.0"),
    ):
        sink = io.BytesIO()
        pq.write_table(
            pa.table({"id": range(300), "v": column}), sink, row_group_size=100, max_rows_per_page=20,
            write_page_index=True, compression=codec, data_page_version=version,
        )  # fmt: skip
        files.append(sink.getvalue())
    return files


def damaged(raw: bytes, dice: random.Random) -> bytes:
    """A few bytes changed: anywhere, in the page index, or in the footer."""
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    first = dice.choice([0, max(footer - 3000, 0), footer, footer])
    data = bytearray(raw)
    for _ in range(dice.randrange(1, 4)):
        data[dice.randrange(first, len(data))] = dice.randrange(256)
    return bytes(data[: dice.randrange(len(data))] if dice.random() < 0.02 else data)


def main(count: int, seed: int) -> None:
    dice = random.Random(seed)
    files = seeds()
    started, read = time.perf_counter(), 0
    for _ in range(count):
        data = damaged(dice.choice(files), dice)
        try:
            read_parquet(io.BytesIO(data), threads=1, **dice.choice(QUERIES))
            read += 1
        except ShredlakeError:
            pass
    print(
        f"parquet: {count} damaged files, {read} read, {count - read} ShredlakeErrors, nothing else; "
        f"{time.perf_counter() - started:.0f} s (seed {seed})"
    )


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("count", nargs="?", type=int, default=20_000)
    arguments.add_argument("--seed", type=int, default=1)
    main(**vars(arguments.parse_args()))
