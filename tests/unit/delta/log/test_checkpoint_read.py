"""Checkpoints, read column by column."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, numbered
from shredlake.delta.log.checkpoint_read import CheckpointPart
from shredlake.parquet.io.source import FileView


def part(uri: str) -> CheckpointPart:
    """The checkpoint of a table of three files."""
    table = sl.Table.create(uri, ID_AND_VARIANT)
    for start in range(3):
        table.append(numbered(start, start + 1))
    table.checkpoint()
    return CheckpointPart(table.snapshot.storage, f"_delta_log/{3:020}.checkpoint.parquet")


def test_columns_of_some_files(tmp_path: Path) -> None:
    read = part(str(tmp_path))
    assert read.num_adds == 3
    paths = read.read_adds("path")
    assert paths is not None
    some = read.read_adds("path", np.array([False, True, True]))
    assert some is not None
    assert some.to_pylist() == paths.to_pylist()[1:]
    assert read.read_adds("nothing") is None


def test_only_local_checkpoints_are_read_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of pyarrow that lets go of a store's bytes needs the interpreter, which may have ended."""
    readers: set[int] = set()
    read = FileView.read_buffer

    def watched(self: FileView, length: int = -1) -> pa.Buffer:
        readers.add(threading.get_ident())
        return read(self, length)

    checkpoint = part("memory://checkpoint-read/threads")
    monkeypatch.setattr(FileView, "read_buffer", watched)
    for _ in range(20):
        found = checkpoint.read_columns(["path", "size", "modificationTime", "stats_parsed.numRecords"])
        assert [len(column) for column in found if column is not None] == [3, 3, 3, 3]
    assert readers == {threading.get_ident()}
