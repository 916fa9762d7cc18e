"""Files that verbs write. A file gets its name when it is complete, so an error leaves an older one."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from shredlake.errors import InvalidFile


def checked_output(output: str) -> Path:
    """Checks that a file can be written: it is not a folder, and its folder exists."""
    path = Path(output)
    if path.is_dir():
        raise InvalidFile(f"{output} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise InvalidFile(f"{output}: there is no folder {path.parent}; create it first")
    return path


@contextmanager
def output_file(output: str) -> Iterator[BinaryIO]:
    """Opens a temporary file beside the output, or the output itself if it is a pipe or a device."""
    path = checked_output(output)
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        file = temporary.open("wb")
    except OSError as error:
        raise InvalidFile(f"{output} can't be written: {error.strerror}") from None
    try:
        with file:
            yield file
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
