"""`make faults`: every fault at every storage call of every operation, and a table of the outcomes.

    python tests/faults/run.py                              # all of it
    python tests/faults/run.py local --operations append --step 5 --triples 20

The exit code is 3 if a promise was broken. The table goes to `build/faults.md`.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import s3_server  # noqa: E402
from faults.harness import (  # noqa: E402
    Broken,
    LocalWorld,
    Outcome,
    ServerWorld,
    StoreWorld,
    Trial,
    World,
    folder_in_memory,
    impatient,
    singles,
    triples,
)
from faults.injection import BY_A_SERVER, IN_STORES, ON_DISK  # noqa: E402
from faults.operations import OPERATIONS  # noqa: E402

KINDS = {"local": ON_DISK, "memory": IN_STORES, "s3": BY_A_SERVER, "s3-retried": BY_A_SERVER}
PROMISE_BROKEN = 3
"""The exit code; an error of Python ends with 1."""

LETTERS = {"done": "D", "not done": "N", "uncertain": "U"}


@dataclass
class Ledger:
    """The outcomes of the runs of one operation in one world."""

    world: str
    operation: str
    calls: int = 0
    single: list[Outcome] = field(default_factory=list)
    triple: list[Outcome] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    seconds: float = 0.0


@contextmanager
def world_of(name: str, folder: Path) -> Iterator[World]:
    """The storage of a run. With `s3-retried`, obstore repeats requests that fail."""
    if name == "local":
        yield LocalWorld(folder)
    elif name == "memory":
        yield StoreWorld(folder)
    else:
        with s3_server.running() as server:
            yield ServerWorld(folder, server, retries=2 if name == "s3-retried" else 0)


def attempt(world: str, operation: str, step: int, count: int, seed: int) -> Ledger:
    """Runs one operation under all faults, and under random triples of them."""
    logging.disable(logging.CRITICAL)
    began = time.monotonic()
    ledger = Ledger(world, operation)
    with folder_in_memory() as folder, impatient(), world_of(world, folder) as place:
        trial = Trial(place, operation)
        ledger.calls = len(trial.calls)
        dice = random.Random(f"{seed} {world} {operation}")
        plans = list(singles(trial))
        for outcomes, chosen in (
            (ledger.single, plans[dice.randrange(step) :: step]),
            (ledger.triple, triples(trial, dice, count)),
        ):
            for plan in chosen:
                try:
                    outcomes.append(trial.run(plan))
                except Broken as broken:
                    ledger.broken.append(f"{world}: {broken} (faults {plan})")
    ledger.seconds = time.monotonic() - began
    return ledger


def cell(ended: Counter[str]) -> str:
    return " ".join(f"{LETTERS[name]}{ended[name]}" for name in LETTERS if ended[name])


def table_of(world: str, ledgers: Iterable[Ledger]) -> Iterator[str]:
    """The fault table of one world: operation and call by fault."""
    kinds = list(KINDS[world])
    yield f"| operation | call | {' | '.join(kinds)} |"
    yield f"|---|---|{'---|' * len(kinds)}"
    for ledger in ledgers:
        found: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        for outcome in ledger.single:
            for call, kind in outcome.hits:
                found[call][kind][outcome.ended] += 1
        for call in sorted(found):
            cells = " | ".join(cell(found[call][kind]) for kind in kinds)
            yield f"| {ledger.operation} | {call} | {cells} |"


def summary(ledgers: Iterable[Ledger]) -> Iterator[str]:
    """One line for each operation and world."""
    yield "| storage | operation | calls | single faults | triple faults | ended | broken |"
    yield "|---|---|---:|---:|---:|---|---:|"
    for one in ledgers:
        ended = cell(Counter(outcome.ended for outcome in (*one.single, *one.triple)))
        yield (
            f"| {one.world} | {one.operation} | {one.calls} | {len(one.single)} | {len(one.triple)} "
            f"| {ended} | {len(one.broken)} |"
        )


def totals(world: str, ledgers: Iterable[Ledger]) -> Iterator[str]:
    """All operations together, by fault."""
    found: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS[world]}
    for ledger in ledgers:
        for outcome in ledger.single:
            for _, kind in outcome.hits:
                found[kind][outcome.ended] += 1
    yield f"| {world} | done | not done | uncertain |"
    yield "|---|---:|---:|---:|"
    for kind, ended in found.items():
        yield f"| {kind} | {' | '.join(str(ended[name]) for name in LETTERS)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("worlds", nargs="*", default=list(KINDS), help=", ".join(KINDS))
    parser.add_argument("--operations", nargs="*", default=list(OPERATIONS))
    parser.add_argument("--step", type=int, default=1, help="only every n-th single fault")
    parser.add_argument("--triples", type=int, default=40, help="random triples of faults per operation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "build" / "faults.md")
    given = parser.parse_args()
    ledgers: list[Ledger] = []
    with ProcessPoolExecutor(given.processes) as pool:
        jobs = [
            pool.submit(attempt, world, operation, given.step, given.triples, given.seed)
            for world in given.worlds
            for operation in given.operations
        ]
        for job in as_completed(jobs):
            one = job.result()
            ledgers.append(one)
            runs = len(one.single) + len(one.triple)
            print(
                f"{len(ledgers)} of {len(jobs)}: {one.world}, {one.operation}: {runs} runs, "
                f"{len(one.broken)} broken, {one.seconds:.0f} s",
                flush=True,
            )
    order = list(OPERATIONS)
    ledgers.sort(key=lambda one: (given.worlds.index(one.world), order.index(one.operation)))
    lines = ["# Faults", "", f"`{' '.join(['python tests/faults/run.py', *sys.argv[1:]])}`", ""]
    lines += [*summary(ledgers), ""]
    for world in given.worlds:
        of_world = [one for one in ledgers if one.world == world]
        lines += [*totals(world, of_world), "", *table_of(world, of_world), ""]
    lines += ["D: done, and the caller is told so. N: not done, with an error. U: `CommitUncertain`.", ""]
    broken = [text for one in ledgers for text in one.broken]
    lines += [f"- {text}" for text in broken]
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text("\n".join(lines))
    runs = sum(len(one.single) + len(one.triple) + len(one.broken) for one in ledgers)
    print(f"{runs} runs, {len(broken)} broken; the table is in {given.out}")
    print("\n".join(broken))
    return PROMISE_BROKEN if broken else 0


if __name__ == "__main__":
    sys.exit(main())
