"""`make fuzz`: every door, each in a process of its own, and a table of the outcomes.

With atheris, inputs are chosen by the lines of shredlake that they reach, and more than half of the changes
are the door's own, which keep the structure of its input. Without it, all are. The input being tried lies in
a file that the parent reads if the process dies, so that an abort leaves its cause behind.

Inputs that reach something new are kept in `build/fuzz/corpus` (or SHREDLAKE_FUZZ_FOLDER), where the next run
starts from them. Inputs that break a contract go to `crashers/`: the tests fail until the cause is fixed.

    python tests/fuzz/run.py --seconds 60
    python tests/fuzz/run.py parquet-read delta-commit --executions 100000 --unguided
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import mmap
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

WORK = Path(os.environ.get("SHREDLAKE_FUZZ_FOLDER", HERE.parents[1] / "build" / "fuzz"))
CRASHERS = HERE / "crashers"
LARGEST = 1 << 20
MEMORY = 8 << 30
PATIENCE = 120
MOST_BREAKS = 40


class Ledger:
    """The work of a process, in a file that outlives it: the input being tried, then the counts.

    ```
    0  length of the input   4  length of the counts   8  input (LARGEST bytes)   ...  counts, as JSON
    ```
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(8 + 2 * LARGEST))
        self._file = path.open("r+b")
        self._map = mmap.mmap(self._file.fileno(), 0)

    def trying(self, data: bytes) -> None:
        data = data[:LARGEST]
        self._map[:4] = struct.pack("<I", len(data))
        self._map[8 : 8 + len(data)] = data

    def tried(self) -> bytes:
        [size] = struct.unpack("<I", self._map[:4])
        return bytes(self._map[8 : 8 + size])

    def count(self, counts: dict[str, Any]) -> None:
        data = json.dumps(counts).encode()[:LARGEST]
        self._map[8 + LARGEST : 8 + LARGEST + len(data)] = data
        self._map[4:8] = struct.pack("<I", len(data))

    def counted(self) -> dict[str, Any]:
        [size] = struct.unpack("<I", self._map[4:8])
        return json.loads(self._map[8 + LARGEST : 8 + LARGEST + size]) if size else {}


class Session:
    """Runs one door repeatedly in this process."""

    def __init__(self, name: str, seed: int, ledger: Ledger | None) -> None:
        doors = importlib.import_module("fuzz.doors")
        self.contract = importlib.import_module("fuzz.contract")
        self.door = doors.DOORS[name]
        self.ledger = ledger
        self.dice = random.Random(seed)
        self.seeds = list(dict.fromkeys([*self.door.seeds(), *kept(name)]))
        self.seen: set[Any] = set()
        self.outcomes: Counter[str] = Counter()
        self.executions = 0
        self.broken: dict[str, str] = {}
        self.slowest = 0.0
        self.started = time.perf_counter()

    def once(self, data: bytes) -> bool:
        """One execution; whether it ended where none had ended before.

        A broken contract is written down, once for each place, and the run goes on.
        """
        new = False
        if self.ledger is not None:
            self.ledger.trying(data)
        before = time.process_time()
        try:
            outcome = self.contract.attempt(self.door, data)
            self.outcomes[outcome.kind] += 1
            new = outcome not in self.seen
            self.seen.add(outcome)
        except self.contract.ContractBroken as error:
            self.outcomes["BROKEN"] += 1
            if error.key not in self.broken and len(self.broken) < MOST_BREAKS:
                self.broken[error.key] = f"{error}, see {keep(CRASHERS, self.door.name, data)}"
        self.slowest = max(self.slowest, time.process_time() - before)
        self.executions += 1
        if self.executions % 200 == 0:
            self.report()
        return new

    def report(self) -> None:
        if self.ledger is not None:
            self.ledger.count(self.counts())

    def counts(self) -> dict[str, Any]:
        return {
            "executions": self.executions,
            "outcomes": dict(self.outcomes),
            "broken": self.broken,
            "slowest": self.slowest,
            "seconds": time.perf_counter() - self.started,
        }

    def unguided(self, executions: int, seconds: float) -> None:
        """Mutates inputs by the door's own rules, without guidance by coverage."""
        pool = sorted(self.seeds, key=len)
        for data in pool:
            self.once(data)
        while self.executions < executions and time.perf_counter() - self.started < seconds:
            data = pool[int(len(pool) * self.dice.random() ** 2)]  # small ones more often: they are cheap
            for _ in range(self.dice.choice([1, 1, 2, 3])):
                data = self.door.mutate(data, self.dice)
            if self.once(data):
                keep(WORK / "corpus", self.door.name, data)
            if len(data) < 4096 and self.dice.random() < 0.01:
                at = self.dice.randrange(len(pool) + 1)
                if at >= len(self.seeds) and at < len(pool):
                    pool[at] = data
                elif len(pool) < 4 * len(self.seeds) + 100:
                    pool.append(data)
        self.report()

    def guided(self, executions: int, seconds: float, seed: int) -> None:
        """Does not return: libFuzzer ends the process."""
        import atheris

        for data in self.seeds:
            corpus = keep(WORK / "corpus", self.door.name, data).parent  # where libFuzzer adds what it finds
            self.once(data)
        largest = min(max(4 * max(map(len, self.seeds)), 4096), LARGEST)

        def mutate(data: bytes, max_size: int, number: int) -> bytes:
            dice = random.Random(number)
            if dice.random() < 0.6:
                changed = self.door.mutate(data, dice)
                if len(changed) <= max_size:
                    return changed
            return bytes(atheris.Mutate(data, max_size))

        def enter(data: bytes) -> None:
            self.once(data)
            if self.executions >= executions or time.perf_counter() - self.started >= seconds:
                self.report()
                os._exit(0)

        options = [f"-seed={seed}", f"-max_len={largest}", f"-timeout={PATIENCE}", "-rss_limit_mb=0"]
        options += ["-print_final_stats=0", "-verbosity=0", f"-artifact_prefix={WORK}/", "-reload=0"]
        atheris.Setup([sys.argv[0], *options, str(corpus)], enter, custom_mutator=mutate)
        atheris.Fuzz()


def keep(folder: Path, door: str, data: bytes) -> Path:
    """Saves an input under its own checksum."""
    path = folder / door / f"{hashlib.sha1(data).hexdigest()}.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def kept(door: str) -> list[bytes]:
    """The inputs that earlier runs found, without those that are too long for the ledger."""
    files = sorted(path for path in (WORK / "corpus" / door).glob("*") if path.stat().st_size <= LARGEST)
    return [path.read_bytes() for path in files]


def child(options: argparse.Namespace) -> None:
    if options.sanitized and not importlib.import_module("shredlake.kernels.dispatch").COMPILED:
        sys.exit(
            "the kernels of this build are not compiled or can't be loaded, so there is nothing to sanitize"
        )
    if not options.sanitized:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    guided = not options.unguided
    if guided:
        import atheris

        # Entered for good: shredlake imports some of its modules on first use.
        atheris.instrument_imports(include=["shredlake"], enable_loader_override=False).__enter__()
    session = Session(options.doors[0], options.seed, Ledger(Path(options.child)))
    if guided:
        session.guided(options.executions, options.seconds, options.seed)
    session.unguided(options.executions, options.seconds)


def run_door(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Runs a door in other processes, restarting one that dies, until time or executions are used up."""
    WORK.mkdir(parents=True, exist_ok=True)
    total: dict[str, Any] = {
        "executions": 0,
        "outcomes": Counter(),
        "broken": {},
        "slowest": 0.0,
        "seconds": 0.0,
    }
    started, deaths = time.perf_counter(), 0
    while deaths < 5:
        seconds = options.seconds - (time.perf_counter() - started)
        executions = options.executions - total["executions"]
        if seconds <= 0 or executions <= 0:
            break
        path = WORK / f"{name}.ledger"
        path.unlink(missing_ok=True)
        log = WORK / f"{name}.log"
        command = [sys.executable, __file__, name, "--child", str(path), "--seed", str(options.seed + deaths)]
        command += ["--seconds", str(seconds), "--executions", str(executions)]
        command += ["--unguided"] * options.unguided + ["--sanitized"] * options.sanitized
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
            code = _ended(process, path, seconds + PATIENCE)
        found = Ledger(path).counted() if path.exists() else {}
        for key in ("executions", "seconds"):
            total[key] += found.get(key, 0)
        total["outcomes"].update(found.get("outcomes", {}))
        total["broken"] |= found.get("broken", {})
        total["slowest"] = max(total["slowest"], found.get("slowest", 0.0))
        if code == 0:
            break
        deaths += 1
        data = Ledger(path).tried() if path.exists() else b""
        saved = keep(CRASHERS, name, data)
        reason = f"the process ended with {code}" if code is not None else "no end"
        total["outcomes"]["BROKEN"] += 1
        total["broken"][f"{reason} {deaths}"] = f"{name}: {reason}, see {saved} and {log}"
    return total


def _ended(process: subprocess.Popen[bytes], ledger: Path, patience: float) -> int | None:
    try:
        return process.wait(timeout=patience)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None


def table(results: dict[str, dict[str, Any]]) -> str:
    """Door by executions by outcome, as Markdown."""
    lines = ["| door | executions | values | errors of ours | broken | slowest | per second |"]
    lines += ["|---|---:|---:|---|---:|---:|---:|"]
    for name, found in results.items():
        outcomes = Counter(found["outcomes"])
        values, broken = outcomes.pop("value", 0), outcomes.pop("BROKEN", 0)
        errors = ", ".join(f"{kind} {count:,}" for kind, count in outcomes.most_common(4))
        rate = found["executions"] / max(found["seconds"], 0.001)
        lines.append(
            f"| {name} | {found['executions']:,} | {values:,} | {errors} | {broken} | "
            f"{found['slowest'] * 1000:.0f} ms | {rate:,.0f} |"
        )
    executions = sum(found["executions"] for found in results.values())
    broken = sum(found["outcomes"].get("BROKEN", 0) for found in results.values())
    return "\n".join([*lines, f"| all | {executions:,} | | | {broken} | | |"])


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("doors", nargs="*", help="names of doors; all by default")
    arguments.add_argument("--seconds", type=float, default=30, help="per door")
    arguments.add_argument("--executions", type=int, default=1 << 62, help="per door, at most")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--unguided", action="store_true", help="without atheris")
    arguments.add_argument(
        "--json", type=Path, help="add the counts to a file, for a table over several runs"
    )
    arguments.add_argument("--sanitized", action="store_true", help="no limit to the address space")
    arguments.add_argument("--child", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child:
        child(options)
        return
    known = importlib.import_module("fuzz.doors").DOORS
    chosen = options.doors or list(known)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        sys.exit(f"there is no door {', '.join(unknown)}; there are: {', '.join(known)}")
    results = {}
    for name in chosen:
        results[name] = run_door(name, options)
        broken = results[name]["broken"]
        print(
            f"{name}: {results[name]['executions']:,} executions, {len(broken)} places broken",
            file=sys.stderr,
        )
        for text in broken.values():
            print(f"  {text}", file=sys.stderr, flush=True)
        if options.json:
            _add(options.json, name, results[name], guided=not options.unguided)
    print(table(results))
    if any(found["broken"] for found in results.values()):
        sys.exit(1)


def _add(path: Path, name: str, found: dict[str, Any], *, guided: bool) -> None:
    """Adds a run to the file of counts."""
    runs = json.loads(path.read_text()) if path.exists() else []
    runs.append({"door": name, "guided": guided} | found | {"outcomes": dict(found["outcomes"])})
    path.write_text(json.dumps(runs, indent=1))


if __name__ == "__main__":
    main()
