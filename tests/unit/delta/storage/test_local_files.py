"""Local files: a link exists although its response was lost."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from shredlake.delta.storage.local_files import LocalFiles


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
