"""CPU time of two checkouts in one run: is the newer one slower?

    python benchmarks/before_after.py ../before/src src --rows 60000 --rounds 12

Each checkout runs in a process of its own, with its own compiled kernels. The two take turns, case by case;
the least CPU time of all rounds counts, so that other work on the machine cancels out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LAYOUT = (
    "struct<id bigint, kind string, score double, user struct<id bigint, name string, tags array<string>>>"
)
WHERE = "v:score::double > 90"


def documents(rows: int) -> list[str]:
    """Events with a nested object, a list and a key that is not in the layout."""
    dice = random.Random(1)
    kinds = ["like", "post", "follow", "repost"]
    return [
        json.dumps(
            {
                "id": number,
                "kind": dice.choice(kinds),
                "score": round(dice.random() * 100, 3),
                "user": {
                    "id": dice.randrange(5000),
                    "name": f"name {dice.randrange(900)}",
                    "tags": ["a", "b"],
                },
                "rest": {"more": dice.choice([None, "text", 7])},
            }
        )
        for number in range(rows)
    ]


def cases(rows: int, folder: str) -> dict[str, Callable[[], object]]:
    """The work that is timed, by name. It uses only names that every checkout exports."""
    import pyarrow as pa

    import shredlake as sl

    texts = pa.array(documents(rows))
    whole = sl.from_json(texts)
    schema = sl.ShreddingSchema.parse(LAYOUT)
    shredded = sl.shred(whole, schema)
    types = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    data = pa.table([pa.array(range(rows)), whole], schema=types)
    opened = {"delta.enableVariantShredding": "true", "shredlake.shredding.v": LAYOUT}
    table = sl.Table.create(f"{folder}/t", types, properties=opened)
    for start in range(0, rows, rows // 4):
        table.append(data.slice(start, rows // 4))
    numbers = iter(range(1 << 30))

    def append() -> object:
        return sl.Table.create(f"{folder}/a{next(numbers)}", types, properties=opened).append(data)

    return {
        "from_json": lambda: sl.from_json(texts),
        "shred": lambda: sl.shred(whole, schema),
        "unshred": lambda: sl.unshred(shredded),
        "get, typed column": lambda: sl.get(shredded, "$.id", pa.int64()),
        "get, one level deeper": lambda: sl.get(shredded, "$.user.name", pa.string()),
        "get, shredded object": lambda: sl.get(shredded, "$.user"),
        "get, residual": lambda: sl.get(shredded, "$.rest.more", pa.string()),
        "get, unshredded": lambda: sl.get(whole, "$.user.id", pa.int64()),
        "to_json": lambda: sl.to_json(shredded),
        "scan of a path": lambda: table.scan(["v:user.id::bigint"]).to_arrow(),
        "scan of a path, condition": lambda: table.scan(["v:user.id::bigint"], where=WHERE).to_arrow(),
        "scan of Variants": lambda: table.scan(["v"]).to_arrow(),
        "scan of Variants, condition": lambda: table.scan(["v"], where=WHERE).to_arrow(),
        "append": append,
        "write_parquet": lambda: sl.write_parquet(
            data, f"{folder}/w{next(numbers)}.parquet", shredding={"v": LAYOUT}
        ),
    }


def serve(rows: int) -> None:
    """Runs a case per line of standard input; prints the CPU seconds of each."""
    with tempfile.TemporaryDirectory() as folder:
        works = cases(rows, folder)
        print(json.dumps(list(works)), flush=True)
        for line in sys.stdin:
            work = works[json.loads(line)]
            started = time.process_time()
            result = work()
            spent = time.process_time() - started
            del result
            print(json.dumps(spent), flush=True)


class Checkout:
    """A process that imports the package from one source folder."""

    def __init__(self, source: str, rows: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", "--rows", str(rows)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(source).resolve())},
        )
        self.names: list[str] = self.answer()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def seconds(self, name: str) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(name) + "\n")
        self.process.stdin.flush()
        return float(self.answer())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", nargs="?", help="source folder of the older checkout, its kernels compiled")
    parser.add_argument("after", nargs="?", default="src", help="source folder of the newer checkout")
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.rows)
        return
    if not given.before:
        parser.error("give the source folder of the older checkout")
    checkouts = [Checkout(source, given.rows) for source in (given.before, given.after)]
    print(f"{'case':30}{'before ms':>11}{'after ms':>11}{'ratio':>8}")
    for name in checkouts[0].names:
        if given.only not in name:
            continue
        rounds = [[checkout.seconds(name) for checkout in checkouts] for _ in range(given.rounds)]
        before, after = (min(times) for times in zip(*rounds, strict=True))
        print(f"{name:30}{before * 1e3:11.1f}{after * 1e3:11.1f}{after / before:8.2f}", flush=True)
    for checkout in checkouts:
        assert checkout.process.stdin is not None
        checkout.process.stdin.close()
        checkout.process.wait()


if __name__ == "__main__":
    main()
