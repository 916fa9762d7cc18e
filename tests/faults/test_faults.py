"""After any fault, a table holds what it held before or all of the operation, and the error tells which.

A seeded selection here; `make faults` runs every fault at every call. The second half of this file breaks
the code on purpose.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator

import pytest

import shredlake as sl
from faults.harness import Broken, LocalWorld, StoreWorld, Trial, World, impatient, singles, triples
from shredlake.delta.log import snapshot
from shredlake.delta.storage.local_files import LocalFiles
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write import cleanup, transaction, vacuum
from shredlake.delta.write.folder import Kind

PLANS = int(os.environ.get("SHREDLAKE_FAULTS", "4"))
SEED = int(os.environ.get("SHREDLAKE_SEED", "1"))


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, World]]:
    with impatient():
        yield {
            "local": LocalWorld(tmp_path_factory.mktemp("local")),
            "memory": StoreWorld(tmp_path_factory.mktemp("memory")),
        }


@pytest.mark.parametrize(
    ("world", "name"),
    [
        ("local", "append"),
        ("local", "overwrite where"),
        ("local", "vacuum"),
        ("memory", "append once"),
        ("memory", "delete"),
        ("memory", "ingest new"),
    ],
)
def test_any_call_may_fail(world: str, name: str, worlds: dict[str, World]) -> None:
    trial = Trial(worlds[world], name)
    dice = random.Random(f"{SEED} {world} {name}")
    for plan in dice.sample(list(singles(trial)), PLANS):
        trial.run(plan)
    for plan in triples(trial, dice, PLANS // 3):
        trial.run(plan)


# ── The harness finds what is broken ────────────────────────────────────────────────────────────────────


def careless_cleanup(patch: pytest.MonkeyPatch) -> None:
    """Files are removed even if it is not known whether the commit is there."""
    patch.setattr(cleanup, "CommitUncertain", KeyError)


def hasty_commit(patch: pytest.MonkeyPatch) -> None:
    """A commit whose answer was lost is not looked up."""
    patch.setattr(transaction, "_is_committed", transaction.try_commit)


def anxious_reload(patch: pytest.MonkeyPatch) -> None:
    """A table that can't be read after its commit raises."""

    def moved(table: sl.Table, version: int) -> int:
        table.refresh()
        return version

    patch.setattr(sl.Table, "_moved", moved)


def writing_in_place(patch: pytest.MonkeyPatch) -> None:
    """A commit is written under its final name."""

    def create(files: LocalFiles, path: str, data: bytes) -> None:
        from shredlake.delta.storage import local_files

        where = os.path.join(files.root, path)
        with local_files.open(where, "xb") as file:  # type: ignore[attr-defined]
            file.write(data)

    patch.setattr(LocalFiles, "create", create)


def blind_vacuum(patch: pytest.MonkeyPatch) -> None:
    """Temporary files are never removed."""
    patch.setattr(vacuum, "WRITTEN_BY_DELTA", (Kind.DATA, Kind.CHANGES))


def trusting_vacuum(patch: pytest.MonkeyPatch) -> None:
    """Newer commits than those in the listing are not looked for."""
    patch.setattr(snapshot, "with_unlisted_commits", lambda storage, segment: segment)
    patch.setattr(vacuum, "_added_since", lambda snapshot: set())


def raw_errors(patch: pytest.MonkeyPatch) -> None:
    """Errors of a listing reach the caller as they are."""
    patch.setattr(Storage, "entries", lambda self, *how: self.files.entries(*how))


@pytest.mark.parametrize(
    ("breaks", "world", "name", "call", "kind", "message"),
    [
        (careless_cleanup, "memory", "append", "create commit", "away", "does not exist"),
        (hasty_commit, "memory", "set properties", "create commit", "after", "an error, but it is done"),
        (anxious_reload, "memory", "append", "list log", "before", "an error, but it is done"),
        (writing_in_place, "local", "append", "write commit", "torn", "CorruptLog|neither"),
        (blind_vacuum, "local", "append", "write commit", "read-only", "vacuum left"),
        (trusting_vacuum, "memory", "vacuum", "list log", "lag", "does not exist"),
        (raw_errors, "memory", "append", "list log", "before", "an exception that is not ours"),
    ],
)
def test_a_broken_variant_is_found(
    breaks: Callable[[pytest.MonkeyPatch], None],
    world: str,
    name: str,
    call: str,
    kind: str,
    message: str,
    worlds: dict[str, World],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _run_all(Trial(worlds[world], name), call, kind)
    breaks(monkeypatch)
    trial = Trial(worlds[world], name)
    with pytest.raises(Broken, match=message):
        _run_all(trial, call, kind)


def _run_all(trial: Trial, call: str, kind: str) -> None:
    """One kind of fault at one kind of call."""
    plans = [
        plan for plan in singles(trial) for n, k in plan.items() if (str(trial.calls[n]), k) == (call, kind)
    ]
    assert plans
    for plan in plans:
        trial.run(plan)
