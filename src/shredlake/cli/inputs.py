"""Inputs of verbs: tables, Parquet files, text files and standard input."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from shredlake.cli.options import storage_options
from shredlake.errors import InvalidFile, NotATable

if TYPE_CHECKING:
    from shredlake.table import Table

_SUFFIXES = ((b"\x1f\x8b", ".ndjson.gz"), (b"\x28\xb5\x2f\xfd", ".ndjson.zst"), (b"PAR1", ".parquet"))
"""The suffix that a copy of standard input gets, by its first bytes."""


def open_table(
    uri: str, version: int | None = None, timestamp: str | None = None, storage: Sequence[str] = ()
) -> Table:
    """Opens a Delta table. A file is refused, with the verbs that accept it."""
    if version is not None and timestamp is not None:
        raise typer.BadParameter("--version and --timestamp can't be used together")
    path = Path(uri)
    if "://" not in uri and path.is_file():
        verbs = "inspect or check" if _starts(path) == b"PAR1" else "ingest or advise"
        raise NotATable(f"{uri} is a file, not a table; use {verbs} for it, or name the folder of a table")
    from shredlake.table import Table

    return Table(uri, version, timestamp, storage_options=storage_options(storage))


def is_table(path: str) -> bool:
    """Whether an address names a table rather than a Parquet file: a folder, or a URL without `.parquet`."""
    return not path.endswith(".parquet") if "://" in path else Path(path).is_dir()


def table_to_write(uri: str) -> str:
    """Checks the address of a table that may not exist yet."""
    if "://" not in uri and Path(uri).exists() and not Path(uri).is_dir():
        raise NotATable(f"{uri} is a file; name the folder of a table")
    return uri


@contextmanager
def parquet_file(path: str, storage: Sequence[str] = ()) -> Iterator[tuple[str, Any]]:
    """Yields a Parquet file and the store that it is in, None if it is local; a pipe is copied to a file.

    A table or folder is refused, with a file to use instead.
    """
    options = storage_options(storage)
    if not path:
        raise InvalidFile("the path of the file is empty; name a Parquet file")
    if "://" in path:
        from shredlake.delta.storage.storage import locate

        place, name = locate(path, options)
        yield place.source(name)
        return
    folder = Path(path)
    if folder.is_dir():
        found = next((str(one) for one in sorted(folder.rglob("*.parquet")) if _is_data(one, folder)), None)
        what = "a Delta table" if (folder / "_delta_log").is_dir() else "a folder"
        advice = f"name one of its files, such as {found}" if found else "it has no Parquet files"
        raise InvalidFile(f"{path} is {what}, not a Parquet file; {advice}")
    with seekable([path]) as [found_path]:
        yield found_path, None


def _is_data(path: Path, root: Path) -> bool:
    return not any(part.startswith((".", "_delta_log")) for part in path.relative_to(root).parts)


@contextmanager
def seekable(sources: Sequence[str]) -> Iterator[list[str]]:
    """Yields sources as files; standard input (`-`) and pipes are copied to temporary files."""
    with ExitStack() as stack:
        yield [_copied(stack, one) if _is_pipe(one) else one for one in sources]


def _is_pipe(source: str) -> bool:
    if source == "-":
        return True
    try:
        mode = os.stat(source).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def _copied(stack: ExitStack, source: str) -> str:
    if source == "-" and sys.stdin.isatty():
        raise InvalidFile("standard input is a terminal; pipe data into the command or name a file")
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="shredlake-stdin-"))
    copy = Path(folder) / "stdin"
    with copy.open("wb") as target, _opened(source) as stream:
        shutil.copyfileobj(stream, target, 1 << 20)
    head = _starts(copy)
    suffix = next((name for magic, name in _SUFFIXES if head.startswith(magic)), ".ndjson")
    return str(copy.rename(copy.with_suffix(suffix)))


def _opened(source: str) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdin.buffer) if source == "-" else Path(source).open("rb")


def _starts(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)
