"""Files of a write that failed: removed only if no commit can name them."""

from __future__ import annotations

import logging

import pytest

from shredlake.delta.protocol.actions import Action, Add, ChangeFile
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.cleanup import remove_quietly, removed_unless_committed
from shredlake.errors import CommitUncertain


def storage_with(name: str, *paths: str) -> Storage:
    storage = Storage(f"memory://cleanup-{name}")
    for path in paths:
        storage.create(path, b"")
    return storage


def left(storage: Storage) -> list[str]:
    return sorted(entry.path for entry in storage.list())


@pytest.mark.parametrize(
    ("error", "stays"), [(ValueError, False), (CommitUncertain, True), (KeyboardInterrupt, True)]
)
def test_files_stay_if_a_commit_may_name_them(error: type[BaseException], stays: bool) -> None:
    storage = storage_with(error.__name__, "a b.parquet")
    written: list[Action] = []
    with pytest.raises(error), removed_unless_committed(storage, written):  # noqa: PT012 (the list grows inside)
        written.append(Add("a%20b.parquet", 0, 0))
        raise error
    assert left(storage) == (["a b.parquet"] if stays else [])


def test_change_files_go_too_and_files_elsewhere_stay() -> None:
    storage = storage_with("changes", "a.parquet", "c.parquet", "other.parquet")
    written: list[Action] = [
        Add("a.parquet", 0, 0),
        ChangeFile("c.parquet", 0),
        Add("memory://elsewhere/other.parquet", 0, 0),
    ]
    with pytest.raises(ValueError, match="fails"), removed_unless_committed(storage, written):
        raise ValueError("the write fails")
    assert left(storage) == ["other.parquet"]


def test_success_removes_nothing() -> None:
    storage = storage_with("success", "a.parquet")
    with removed_unless_committed(storage, [Add("a.parquet", 0, 0)]):
        pass
    assert left(storage) == ["a.parquet"]


def test_a_file_that_stays_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = storage_with("logged", "a.parquet")

    def refuse(storage: Storage, keys: list[str]) -> None:
        raise OSError("disk on fire")

    monkeypatch.setattr(Storage, "delete", refuse)
    with caplog.at_level(logging.WARNING):
        remove_quietly(storage, ["a.parquet"])
    assert "a.parquet was not committed and stays until vacuum: disk on fire" in caplog.text
