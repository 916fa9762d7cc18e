"""`make races`: processes that write, optimize, vacuum and read one table at once, and a check of it all.

python tests/races/run.py                        # 8 writers, 25 commits each, on local files and on S3
python tests/races/run.py local --writers 3 --commits 4
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import s3_server  # noqa: E402
import shredlake as sl  # noqa: E402
from races.history import Summary, check, read_records, rows_of  # noqa: E402
from races.worker import SCHEMA, bring_back  # noqa: E402

SECONDS = 3000


def race(
    uri: str, folder: Path, options: Mapping[str, Any], writers: int, commits: int, *, hours: float, seed: int
) -> tuple[Summary, int]:
    """Runs a race; returns what the checker says, and how many files were vacuumed."""
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "done"
    properties = {"delta.checkpointInterval": "10"}
    sl.Table.create(uri, SCHEMA, properties=properties, storage_options=options)

    def start(role: str, number: int, **more: Any) -> subprocess.Popen[bytes]:
        given: dict[str, Any] = {"role": role, "name": f"{role}{number}", "uri": uri, "log": str(folder)}
        given |= {"options": dict(options), "done": str(done), "seed": seed * 100 + number, **more}
        return subprocess.Popen([sys.executable, str(HERE / "worker.py"), json.dumps(given)])

    others = [start("reader", 50, hours=hours), start("vacuum", 60, hours=hours)]
    writing = [start("writer", number, commits=commits) for number in range(1, writers + 1)]
    try:
        deadline = time.monotonic() + SECONDS
        codes = [process.wait(deadline - time.monotonic()) for process in writing]
        done.touch()
        codes += [process.wait(300) for process in others]
    finally:
        for process in (*writing, *others):
            process.kill()
            process.wait()
    assert not any(codes), f"a process failed: {codes}"
    table = sl.Table(uri, storage_options=options)
    rows_of(table, table.version)  # the newest version is whole, without the archive
    bring_back(table.snapshot.storage, folder)
    return check(table, read_records(folder)), int((folder / "vacuumed").read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("storage", nargs="*", default=["local", "s3"])
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--commits", type=int, default=25)
    parser.add_argument("--hours", type=float, default=0.004, help="what vacuum keeps; longer than any write")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for storage in given.storage:
        with tempfile.TemporaryDirectory(prefix="shredlake-races-") as name:
            folder = Path(name)
            how = {"hours": given.hours, "seed": given.seed}
            began = time.monotonic()
            if storage == "local":
                found = race(str(folder / "t"), folder / "log", {}, given.writers, given.commits, **how)
            else:
                with s3_server.running() as server:
                    uri = f"s3://{s3_server.BUCKET}/t"
                    reach = server.options()
                    found = race(uri, folder / "log", reach, given.writers, given.commits, **how)
            summary, vacuumed = found
            print(
                f"{storage}: {given.writers} writers of {given.commits} commits: {summary}, "
                f"{vacuumed} files vacuumed, {time.monotonic() - began:.0f} s: serialisable",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
