"""Inspects, checks and filters a file of 3 GB within 1 GB of memory.

python benchmarks/memory.py --gigabytes 3

Each verb runs in its own process, to get its peak resident memory.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
from rich.console import Console
from rich.table import Table

import shredlake as sl

LIMIT = 1 << 30
PAYLOAD = 900  # random bytes per row, so that the file is as large as its data
ROWS = 16_384
LAYOUT = "struct<id bigint, kind string, at timestamp, payload string, tags array<string>>"

VERBS = {
    "inspect": "from shredlake.parquet.inspect.inspect import inspect; inspect(path)",
    "check": "assert not list(sl.check(path))",
    "filter, whole Variants": "assert sl.scan_parquet(path, where='v:id::bigint % 1000 = 7').count()\n"
    "for batch in sl.scan_parquet(path, columns=['v'], where='v:id::bigint % 10 = 7').to_batches(): pass",
    "filter, one row": "assert sl.read_parquet(path, where='v:id::bigint = 12345').num_rows == 1",
    "read everything": "for batch in sl.scan_parquet(path).to_batches(): pass",
}


def write(path: str | Path, gigabytes: float) -> None:
    """Rows until the file is large enough."""
    schema = pa.schema([("v", sl.variant())])
    number = 0
    with sl.ParquetWriter(path, schema, shredding={"v": LAYOUT}) as writer:
        while number * PAYLOAD < gigabytes * 1e9:
            noise = base64.b64encode(os.urandom(ROWS * PAYLOAD)).decode()
            width = len(noise) // ROWS
            rows = [
                f'{{"id":{n},"kind":"k{n % 17}","at":"2024-01-01T00:00:{n % 60:02}Z","tags":["a","b{n % 5}"],'
                f'"payload":"{noise[i * width : (i + 1) * width]}"}}'
                for i, n in enumerate(range(number, number + ROWS))
            ]
            writer.write(pa.table({"v": sl.from_json(pa.array(rows))}))
            number += ROWS


def run(code: str, path: Path) -> tuple[float, int]:
    """Seconds and peak resident memory in bytes of a verb in its own process."""
    program = (
        "import json, resource, sys, time\n"
        "import shredlake as sl\n"
        "path, start = sys.argv[1], time.perf_counter()\n"
        f"{code}\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(json.dumps([time.perf_counter() - start, peak]))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, str(path)], check=True, capture_output=True, text=True
    )
    seconds, peak = json.loads(result.stdout.splitlines()[-1])
    return seconds, peak * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=3)
    parser.add_argument("--keep", type=Path, help="a folder for the file, used again by the next run")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="shredlake-memory-"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"large-{options.gigabytes:g}.parquet"
    try:
        if not path.exists():
            # In a process of its own: a child's highest memory starts at that of its parent.
            seconds, peak = run(
                f"sys.path.insert(0, {str(Path(__file__).parent)!r}); import memory; "
                f"memory.write(path, {options.gigabytes})",
                path,
            )
            print(f"written in {seconds:.0f} s, {peak / 1e6:.0f} MB of memory")
        table = Table(title=f"{path.stat().st_size / 1e9:.2f} GB")
        for name in ("", "seconds", "highest memory", "wanted", ""):
            table.add_column(name, justify="left" if not name else "right")
        for verb, code in VERBS.items():
            seconds, peak = run(code, path)
            holds = "[green]yes[/]" if peak <= LIMIT else "[red]no[/]"
            table.add_row(verb, f"{seconds:.1f}", f"{peak / 1e6:,.0f} MB", f"≤ {LIMIT / 1e6:,.0f} MB", holds)
        Console(width=110).print(table)
    finally:
        if options.keep is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
