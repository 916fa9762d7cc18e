"""Overwrites by files that workers wrote: they happen once."""

from __future__ import annotations

from pathlib import Path

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, ids, numbered
from shredlake.delta.protocol.actions import Action, Add
from shredlake.delta.write.append import write_rows
from shredlake.delta.write.overwrite import overwrite_with_files


def test_an_overwrite_with_a_transaction_happens_once(tmp_path: Path) -> None:
    """A second run of the same write would remove what others added since the first."""
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    planned = table.snapshot
    runs: list[list[Add]] = []
    for _ in range(2):
        written: list[Action] = []
        write_rows(planned, numbered(0, 2), None, None, written)
        runs.append([action for action in written if isinstance(action, Add)])
    overwrite_with_files(planned, runs[0], transactions=[("job", 1)])
    table.append(numbered(5, 6))
    with pytest.raises(sl.CommitConflict, match="another run of this write was committed meanwhile"):
        overwrite_with_files(planned, runs[1], transactions=[("job", 1)])
    assert ids(table.refresh()) == [0, 1, 5]
