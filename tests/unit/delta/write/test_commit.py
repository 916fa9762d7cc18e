"""A commit adds a version; what follows it, and what a write reads before it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, numbered
from shredlake.delta.log import snapshot as snapshots
from shredlake.delta.protocol.actions import Transaction
from shredlake.delta.write.commit import commit
from shredlake.delta.write.transaction import Operation, add_version

NOTE = Operation("NOTE")


def checkpoints(place: Path) -> list[str]:
    return sorted(path.name for path in (place / "_delta_log").glob("*.checkpoint.parquet"))


def test_adding_a_version_writes_no_checkpoint_and_committing_does(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.checkpointInterval": "1"})
    assert add_version(table.snapshot, [Transaction("a", 1)], NOTE) == 1
    assert checkpoints(tmp_path) == []
    assert commit(table.refresh().snapshot, [Transaction("a", 2)], NOTE) == 2
    assert checkpoints(tmp_path) == [f"{2:020}.checkpoint.parquet"]


@pytest.mark.parametrize(
    "write",
    [
        lambda table: table.append(numbered(9, 12)),
        lambda table: table.overwrite(numbered(9, 12)),
        lambda table: table.delete("id = 1"),
    ],
    ids=["append", "overwrite", "delete"],
)
def test_a_write_replays_the_log_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[sl.Table], int]
) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(numbered(0, 3))
    replayed: list[int] = []
    real = snapshots.replay

    def counting(storage: Any, segment: Any) -> Any:
        replayed.append(segment.version)
        return real(storage, segment)

    monkeypatch.setattr(snapshots, "replay", counting)
    assert write(table) == 2
    assert replayed == [2], "the open version is still the latest: only the new one is read"
