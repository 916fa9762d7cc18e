"""Processes killed at a system call of their own, mostly in the commit: no row is lost, nothing is half done.

A few rounds here; `make kill` repeats them, as often as SHREDLAKE_KILLS says.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from multiprocessing import forkserver

import pytest

from faults.harness import LocalWorld, Trial, folder_in_memory
from faults.injection import KILLS

ROUNDS = int(os.environ.get("SHREDLAKE_KILLS", "2")) * 2
SEED = int(os.environ.get("SHREDLAKE_SEED", "1"))
AIMED = ("write commit", "sync commit", "link commit", "delete commit", "sync log")
"""The calls of a commit: its bytes, under a temporary name; its name; and the folder that holds the name."""

PRELOADED = ["faults.harness", "shredlake.table", "pyarrow.dataset", "pyarrow.pandas_compat", "pandas"]


@pytest.fixture(scope="module")
def world() -> Iterator[LocalWorld]:
    # The processes are forked from one that has imported all of this, and begin at once. It does not know the
    # path of this process, and ignores what it can't import.
    multiprocessing.set_forkserver_preload(PRELOADED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        forkserver.ensure_running()
    with folder_in_memory() as folder:
        yield LocalWorld(folder)


@pytest.mark.parametrize("name", ["append", "overwrite where", "ingest"])
def test_killed_at_the_commit(name: str, world: LocalWorld) -> None:
    trial = Trial(world, name)
    dice = random.Random(f"{SEED} {name}")
    aims = [
        (number, kind)
        for number, call in enumerate(trial.calls)
        for kind, names in KILLS.items()
        if call.name in names
    ]
    commit = [aim for aim in aims if str(trial.calls[aim[0]]) in AIMED]
    assert commit
    ended: Counter[str] = Counter()
    for number in range(ROUNDS):
        where, kind = dice.choice(aims if number % 4 == 3 else commit)
        ended[f"{trial.kill(where, kind)} after {kind} {trial.calls[where]}"] += 1
    print(f"{name}: {ROUNDS} kills: " + "; ".join(f"{count} {what}" for what, count in sorted(ended.items())))
