"""Local files: a link exists although its response was lost."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from shredlake.delta.storage.local_files import LocalFiles, make_directories


def test_a_link_whose_answer_is_lost_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network file system may repeat a request, and then find that the file exists: its own."""
    real = os.link

    def link(source: str, target: str) -> None:
        real(source, target)
        raise FileExistsError(errno.EEXIST, "exists")

    monkeypatch.setattr(os, "link", link)
    files = LocalFiles(tmp_path)
    files.create("a", b"ours")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["a"]
    with pytest.raises(FileExistsError):
        files.create("a", b"theirs")
    assert files.get("a") == b"ours"


def test_a_directory_that_appears_meanwhile_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may create it between two looks at it."""
    target, looks = tmp_path / "t", os.path.lexists

    def created_meanwhile(path: str) -> bool:
        target.mkdir(exist_ok=True)
        return looks(path)

    monkeypatch.setattr(os.path, "lexists", created_meanwhile)
    make_directories(target)
    assert target.is_dir()
