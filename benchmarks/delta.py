"""Opens the log of a table of a million files, and prunes it by one path of its Variants.

python benchmarks/delta.py --files 1000000
python benchmarks/delta.py --files 50000 --keep /tmp/logs

The same statistics exist three times: in a checkpoint as typed columns with shredded Variants, in a
checkpoint as JSON with z85, and without Variants for deltalake. Each measurement runs in its own process, to
get its peak resident memory; times exclude starting Python and imports.
"""

from __future__ import annotations

import argparse
import json
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import shredlake as sl
from shredlake.delta.log.files import FILE_SCHEMA, Files
from shredlake.delta.stats.z85 import ALPHABET, encode_variants
from shredlake.delta.write.checkpoint import write_checkpoint

LIMIT = 1_500_000_000
SPEEDUP = 20
STEP = 1 << 16  # files generated at a time
ROWS = 100_000  # rows of each file, so event_ts grows by this from file to file

LAYOUT = "struct<event_ts bigint, kind string, price decimal(9,2), user struct<id bigint>, version int>"
WITH_VARIANT = pa.schema([("id", pa.int64()), ("v", sl.variant())])
WITHOUT = pa.schema([("id", pa.int64())])
TABLES: dict[str, tuple[pa.Schema, dict[str, str]]] = {
    "typed": (WITH_VARIANT, {"delta.enableVariantShredding": "true"}),
    "json": (
        WITH_VARIANT,
        {"delta.enableVariantShredding": "true", "delta.checkpoint.writeStatsAsStruct": "false"},
    ),
    "plain": (WITHOUT, {}),
}


# ── The log ─────────────────────────────────────────────────────────────────────────────────────────────


def bounds(first: int, count: int, *, upper: bool) -> pa.StringArray:
    """Variant minima or maxima of some files, as z85."""
    random = np.random.default_rng(first)
    users = random.integers(0, 10**9, count).tolist()
    texts = []
    for number, user in zip(range(first, first + count), users, strict=True):
        at = 1_700_000_000_000 + number * ROWS + (ROWS - 1 if upper else 0)
        id_, letter = user + (10**6 if upper else 0), "y" if upper else "b"
        values = (
            ("$['event_ts']", at),
            ("$['kind']", f'"{letter}{number % 97}"'),
            ("$['price']", f"{number % 89}.{10 + upper}"),
            ("$['user']['id']", id_),
            ("$['version']", 1 + upper),
        )
        texts.append("{" + ",".join(f'"{path}":{value}' for path, value in values) + "}")
    return encode_variants(sl.from_json(pa.array(texts)))


def actions(first: int, count: int, *, variants: bool) -> pa.Table:
    """The `add` actions of some files, as columns."""
    numbers = range(first, first + count)
    if variants:
        lower, upper = (bounds(first, count, upper=side).to_pylist() for side in (False, True))
        low, high = ([f',"v":"{text}"' for text in side] for side in (lower, upper))
    else:
        low = high = [""] * count
    nulls = '{"id":0,"v":0}' if variants else '{"id":0}'
    stats = [
        f'{{"numRecords":{ROWS},"minValues":{{"id":{n * ROWS}{a}}},'
        f'"maxValues":{{"id":{n * ROWS + ROWS - 1}{b}}},"nullCount":{nulls}}}'
        for n, a, b in zip(numbers, low, high, strict=True)
    ]
    tags = [("shredlake.layout", json.dumps({"v": {"shredding": LAYOUT, "residual": []}}))]
    columns: dict[str, Any] = {
        "path": [f"part-{n:08}-{n * 2654435761 % 2**32:08x}.c000.zstd.parquet" for n in numbers],
        "partitionValues": [[]] * count,
        "size": [30_000_000 + n % 1000 for n in numbers],
        "modificationTime": [1_700_000_000_000 + n for n in numbers],
        "dataChange": [True] * count,
        "stats": stats,
        "tags": [tags if variants else None] * count,
    }
    arrays = [
        pa.array(columns[item.name], item.type) if item.name in columns else pa.nulls(count, item.type)
        for item in FILE_SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=FILE_SCHEMA)


def generate(folder: str, files: int) -> None:
    """Tables whose version 0 has a checkpoint of this many files, none of which exist."""
    for variants in (True, False):
        steps = range(0, files, STEP)
        added = pa.concat_tables(
            [actions(start, min(STEP, files - start), variants=variants) for start in steps]
        )
        for name, (schema, properties) in TABLES.items():
            if (schema is WITH_VARIANT) == variants:
                table = sl.Table.create(f"{folder}/{name}", schema, properties=properties)
                write_checkpoint(replace(table.snapshot, files=Files([], added, ())))


# ── What is measured ────────────────────────────────────────────────────────────────────────────────────


def predicate(files: int) -> tuple[str, int, int]:
    """A condition on one path that three files in the middle can match, and its limits."""
    low = 1_700_000_000_000 + files // 2 * ROWS
    high = low + 3 * ROWS
    return f"v:event_ts::bigint >= {low} AND v:event_ts::bigint < {high}", low, high


def open_ours(folder: str, files: int) -> Callable[[], int]:
    return lambda: len(sl.Table(f"{folder}/plain").snapshot.files)


def open_deltalake(folder: str, files: int) -> Callable[[], int]:
    from deltalake import DeltaTable

    assert DeltaTable(f"{folder}/plain").count() == files * ROWS

    def run() -> int:
        DeltaTable(f"{folder}/plain")
        return files

    return run


def open_variants(folder: str, files: int) -> Callable[[], int]:
    return lambda: len(sl.Table(f"{folder}/typed").snapshot.files)


def prune_with(folder: str, name: str, files: int) -> Callable[[], int]:
    where, _, _ = predicate(files)
    table = sl.Table(f"{folder}/{name}")
    len(table.snapshot.files)

    def run() -> int:
        for part in table.snapshot.files.parts:
            part._statistics.clear()  # each run reads the file, as the first query does
        return int(table.scan(where=where).files().num_rows)

    return run


def prune_typed(folder: str, files: int) -> Callable[[], int]:
    return prune_with(folder, "typed", files)


def prune_kernels(folder: str, files: int) -> Callable[[], int]:
    return prune_with(folder, "json", files)


def prune_rows(folder: str, files: int) -> Callable[[], int]:
    """File by file: parse the JSON, decode z85, look up the path, compare."""
    _, low, high = predicate(files)
    [checkpoint] = Path(folder, "json", "_delta_log").glob("*.checkpoint.parquet")

    def run() -> int:
        found = 0
        for text in stats_texts(checkpoint):
            stats = json.loads(text)
            least = path_bound(stats["minValues"].get("v"), "$['event_ts']")
            greatest = path_bound(stats["maxValues"].get("v"), "$['event_ts']")
            found += not ((least is not None and least >= high) or (greatest is not None and greatest < low))
        return found

    return run


def stats_texts(checkpoint: Path) -> Iterator[str]:
    file = pq.ParquetFile(checkpoint)
    for batch in file.iter_batches(columns=["add.stats"]):
        for row in batch.column("add").drop_null().field("stats").to_pylist():
            if row is not None:
                yield row


_DIGITS = bytes(ALPHABET.index(code) if code in ALPHABET else 255 for code in range(256))


def path_bound(text: str | None, path: str) -> int | None:
    """One value of a z85-encoded Variant object."""
    if text is None:
        return None
    digits = text.encode().translate(_DIGITS)
    words = [
        (((a * 85 + b) * 85 + c) * 85 + d) * 85 + e
        for a, b, c, d, e in zip(*(digits[place::5] for place in range(5)), strict=True)
    ]
    data = struct.pack(f">{len(words)}I", *words)
    return looked_up(data, path)


def looked_up(data: bytes, path: str) -> int | None:
    """The integer at a key of an object, out of metadata and value one after the other."""
    width = (data[0] >> 6) + 1
    keys = int.from_bytes(data[1 : 1 + width], "little")
    names = 1 + width * (keys + 2)
    ends = [names + int.from_bytes(data[at : at + width], "little") for at in range(1 + width, names, width)]
    wanted = path.encode()
    key = next((n for n in range(keys) if data[ends[n] : ends[n + 1]] == wanted), None)
    header, at = data[ends[-1]], ends[-1] + 1
    if key is None or header & 0b11 != 2:
        return None
    offset_size, id_size, count_size = (header >> 2 & 3) + 1, (header >> 4 & 3) + 1, 4 if header & 64 else 1
    count = int.from_bytes(data[at : at + count_size], "little")
    ids = at + count_size
    offsets = ids + count * id_size
    for place in range(count):
        if int.from_bytes(data[ids + place * id_size : ids + (place + 1) * id_size], "little") == key:
            start = offsets + place * offset_size
            value = offsets + (count + 1) * offset_size
            value += int.from_bytes(data[start : start + offset_size], "little")
            size = {12: 1, 16: 2, 20: 4, 24: 8}[data[value]]  # int8 to int64
            return int.from_bytes(data[value + 1 : value + 1 + size], "little", signed=True)
    return None


MEASURES = (open_ours, open_deltalake, open_variants, prune_typed, prune_kernels, prune_rows)


@dataclass(frozen=True)
class Measured:
    """The best run: its time, the peak memory of the process, and the result."""

    seconds: float
    peak: int
    found: int


def measure(name: str, folder: Path, files: int, runs: int, cpu: bool) -> Measured:
    """Runs a measurement in its own process."""
    command = [sys.executable, __file__, "--measure", name, "--keep", str(folder)]
    command += ["--files", str(files), "--runs", str(runs), *(["--cpu"] if cpu else [])]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Measured(*json.loads(done.stdout.splitlines()[-1]))


def measured_here(name: str, folder: str, files: int, runs: int, cpu: bool) -> None:
    import resource

    clock = time.process_time if cpu else time.perf_counter
    [make] = [measure for measure in MEASURES if measure.__name__ == name]
    run = make(folder, files)
    best, found = float("inf"), 0
    for _ in range(runs):
        start = clock()
        found = run()
        best = min(best, clock() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(json.dumps([best, peak, found]))


# ── The report ──────────────────────────────────────────────────────────────────────────────────────────


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="a folder for the logs, used again by the next run")
    parser.add_argument(
        "--cpu", action="store_true", help="processor time instead of wall time: on a busy machine"
    )
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--generate", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measured_here(options.measure, str(options.keep), options.files, options.runs, options.cpu)
        return
    if options.generate:
        generate(str(options.keep), options.files)
        return
    folder = options.keep or Path(tempfile.mkdtemp(prefix="shredlake-delta-"))
    try:
        report(folder / str(options.files), options.files, options.runs, options.cpu)
    finally:
        if options.keep is None:
            shutil.rmtree(folder)


def report(folder: Path, files: int, runs: int, cpu: bool) -> None:
    if not all((folder / name / "_delta_log" / "_last_checkpoint").exists() for name in TABLES):
        shutil.rmtree(folder, ignore_errors=True)
        start = time.perf_counter()
        command = [sys.executable, __file__, "--generate", "--keep", str(folder), "--files", str(files)]
        subprocess.run(command, check=True)
        sizes = (
            f"{name} {sum(path.stat().st_size for path in folder.glob(f'{name}/_delta_log/*')) / 1e6:,.0f} MB"
            for name in TABLES
        )
        print(f"logs made in {time.perf_counter() - start:.0f} s: {', '.join(sizes)}", file=sys.stderr)
    typed, kernels = (measure(name, folder, files, runs, cpu) for name in ("prune_typed", "prune_kernels"))
    rows = measure("prune_rows", folder, files, 1, cpu)
    ours, theirs, with_variants = (
        measure(name, folder, files, runs, cpu) for name in ("open_ours", "open_deltalake", "open_variants")
    )
    assert typed.found == kernels.found == rows.found == min(3, files - files // 2), (typed, kernels, rows)
    assert ours.found == theirs.found == with_variants.found == files, (ours, theirs, with_variants)

    table = Table(title=f"a log of {files:,} files{', processor time' if cpu else ''}")
    for heading in ("", "ours", "other", "ratio", "wanted", "", "our memory", "other's"):
        table.add_column(heading, justify="left" if not heading else "right")

    def line(what: str, one: Measured, other: Measured | None, wanted: float | None = None) -> None:
        ratio = None if other is None else other.seconds / one.seconds
        met = "" if wanted is None or ratio is None else _mark(ratio >= wanted)
        table.add_row(
            what, _time(one.seconds), "" if other is None else _time(other.seconds),
            "" if ratio is None else f"{ratio:,.1f}x", "" if wanted is None else f"≥ {wanted:g}x", met,
            f"{one.peak / 1e6:,.0f} MB", "" if other is None else f"{other.peak / 1e6:,.0f} MB",
        )  # fmt: skip

    line("prune by a path, JSON file by file", typed, rows, SPEEDUP)
    line("prune by a path, JSON by our kernels", typed, kernels, SPEEDUP)
    line("open, without Variants, deltalake", ours, theirs)
    line("open, with Variants", with_variants, None)
    table.add_section()
    table.add_row(
        "memory of opening and pruning", "", "", f"{typed.peak / 1e9:.2f} GB", f"≤ {LIMIT / 1e9:g} GB",
        _mark(typed.peak <= LIMIT), "", "",
    )  # fmt: skip
    Console(width=120).print(table)


def _mark(holds: bool) -> str:
    return "[green]yes[/]" if holds else "[red]no[/]"


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


if __name__ == "__main__":
    main()
