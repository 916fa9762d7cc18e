"""`make fuzz`: Parquet files with damaged footers, page indexes and pages: read, counted, inspected, checked.

Only a ShredlakeError may come out. With `--unchecked`, the check of footers is off: the fuzzer must then find
an abort, which shows that it would. Rounds run in child processes with little memory, each a process group of
its own: an abort, a hang or a claim to memory ends a child, and is reported with the file that did it.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))

from footer_mutations import mutated_footer

from shredlake import (
    ShreddingSchema,
    ShredlakeError,
    check,
    from_json,
    inspect,
    read_parquet,
    scan_parquet,
    shred,
)
from shredlake.parquet.read import stream

BATCH = 250
TIMEOUT = 300
MEMORY = 6 << 30

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


def rounds(first: int, count: int, seed: int, report: Path, unchecked: bool = False) -> int:
    """Runs some rounds in this process; the file of each lies at `report` while it is read."""
    if unchecked:
        setattr(stream, "check_footer", lambda footer, name: None)  # noqa: B010 (a name that it imports)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    files = seeds()
    read = 0
    for number in range(first, first + count):
        dice = random.Random(seed * 1_000_003 + number)
        raw = dice.choice(files)
        data = mutated_footer(raw, dice) if dice.random() < 0.6 else damaged(raw, dice)
        report.write_bytes(data)
        for work in dice.sample(WORK, 2):
            try:
                work(data, dice)
                read += 1
            except ShredlakeError:
                pass
    return read


WORK = [
    lambda data, dice: read_parquet(io.BytesIO(data), threads=1, **dice.choice(QUERIES)),
    lambda data, dice: scan_parquet(io.BytesIO(data), threads=1, **dice.choice(QUERIES)).count(),
    lambda data, dice: inspect(io.BytesIO(data)),
    lambda data, dice: check(io.BytesIO(data)),
]


def main(
    count: int, seed: int, child: tuple[int, int, str] | None = None, *, unchecked: bool = False
) -> None:
    if child is not None:
        print(rounds(int(child[0]), int(child[1]), seed, Path(child[2]), unchecked))
        return
    started, read = time.perf_counter(), 0
    folder = Path(tempfile.mkdtemp(prefix="fuzz_parquet"))
    for first in range(0, count, BATCH):
        report = folder / f"{first}.parquet"
        command = [sys.executable, __file__, "--seed", str(seed)]
        command += ["--unchecked"] * unchecked + ["--child", str(first)]
        process = subprocess.Popen(
            [*command, str(min(BATCH, count - first)), str(report)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            output, errors = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            sys.exit(f"parquet: no end after {TIMEOUT} s; see {report}")
        if process.returncode:
            sys.exit(f"parquet: a child ended with {process.returncode}; see {report}\n{errors[-3000:]}")
        read += int(output.split()[-1])
        report.unlink()
    print(
        f"parquet: {count} damaged files, {read} of {2 * count} calls answered, the others ShredlakeErrors, "
        f"nothing else; {time.perf_counter() - started:.0f} s (seed {seed})"
    )


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("count", nargs="?", type=int, default=20_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--unchecked", action="store_true", help="turn the check of footers off")
    arguments.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    main(**vars(arguments.parse_args()))
