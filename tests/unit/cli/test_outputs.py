"""Files that verbs write: complete or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from shredlake.cli.outputs import checked_output, output_file
from shredlake.errors import InvalidFile


def test_a_file_replaces_an_older_one_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with output_file(str(path)) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["out"]


def test_an_error_leaves_the_older_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(ValueError, match="fails"), output_file(str(path)) as file:  # noqa: PT012
        file.write(b"new")
        raise ValueError("the write fails")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    with output_file(str(pipe)) as file:
        file.write(b"data")
    reader.join(10)
    assert found == [b"data"]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match="is a folder"):
        checked_output(str(tmp_path))
    with pytest.raises(InvalidFile, match="create it first"):
        checked_output(str(tmp_path / "missing" / "out"))
