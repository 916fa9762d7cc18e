"""A table far larger than a memory limit is joined and grouped within it, by `sl.sql`.

    python benchmarks/sql_memory.py --rows 20000000

The table is written batch by batch. The query then runs in a process whose peak of memory is measured.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path

import pyarrow as pa

import shredlake as sl

LIMIT = 2 << 30
BATCH = 500_000
QUERY = """
select e.v:user::bigint % 1000 as bucket, count(*) as n, count(distinct e.v:user::bigint) as users,
       max(length(e.v:text::string)) as longest
from events e join users u on e.v:user::bigint = u.v:user::bigint
where u.v:active::boolean group by bucket order by n desc
"""


def documents(first: int, rows: int) -> list[str]:
    return [
        json.dumps({"id": n, "user": n * 7919 % 3_000_000, "text": f"{n:x}" * 24, "active": n % 3 > 0})
        for n in range(first, first + rows)
    ]


def build(folder: Path, rows: int) -> int:
    """Writes the tables. Returns the bytes of the columns that the query reads, decoded."""
    decoded = 0
    for name, count in (("events", rows), ("users", min(rows, 3_000_000))):
        properties = {"delta.enableVariantShredding": "true"}
        table = sl.Table.create(str(folder / name), pa.schema([("v", sl.variant())]), properties=properties)
        for first in range(0, count, BATCH):
            table.append(pa.table({"v": sl.from_json(pa.array(documents(first, min(BATCH, count - first))))}))
        for batch in table.scan(["v:user::bigint", "v:text::string", "v:active::boolean"]).to_batches():
            decoded += batch.nbytes
    return decoded


def answer(folder: str, memory_limit: str) -> tuple[int, float, int]:
    """Runs the query. Returns its rows, seconds, and the peak of resident memory of this process."""
    started = time.perf_counter()
    tables = {name: f"{folder}/{name}" for name in ("events", "users")}
    found = sl.sql(
        QUERY, memory_limit=memory_limit, events=tables["events"], users=tables["users"]
    ).to_arrow()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return len(found), time.perf_counter() - started, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        decoded = build(Path(folder), options.rows)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            rows, seconds, peak = pool.apply(answer, (folder, "1GB"))
    print(f"{options.rows:,} rows, {decoded / 1e9:.1f} GB decoded: {rows:,} groups in {seconds:.1f} s")
    print(f"peak of memory {peak / 1e9:.2f} GB, limit {LIMIT / 1e9:.2f} GB")
    raise SystemExit(peak > LIMIT)


if __name__ == "__main__":
    main()
