"""Cleans up after failed writes: files are removed only if it is certain that no commit refers to them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from shredlake.delta.protocol.actions import Action, Add, ChangeFile
from shredlake.delta.storage.storage import Storage, decode_path, is_absolute
from shredlake.errors import CommitUncertain

_log = logging.getLogger(__name__)


@contextmanager
def removed_unless_committed(storage: Storage, written: Sequence[Action]) -> Iterator[None]:
    """Removes the files of `written`, which may grow meanwhile, if the block fails.

    `commit` raises `CommitUncertain` if it can't know the outcome, and nothing once its commit is in the log.
    Any other error therefore means that there is no commit. After an interrupt, which can come at any moment,
    the files stay, and vacuum removes those that no version needs. The caller sees the error of the block.

    >>> storage = Storage("memory://doc/cleanup")
    >>> storage.create("part-1.parquet", b"")
    >>> with removed_unless_committed(storage, [Add("part-1.parquet", 0, 0)]):
    ...     raise KeyError("the write fails")
    Traceback (most recent call last):
    ...
    KeyError: 'the write fails'
    >>> storage.list()
    []
    """
    try:
        yield
    except CommitUncertain:
        raise
    except Exception:
        paths = [a.path for a in written if isinstance(a, Add | ChangeFile) and not is_absolute(a.path)]
        remove_quietly(storage, [decode_path(path) for path in paths])
        raise


def remove_quietly(storage: Storage, keys: Sequence[str]) -> None:
    """Removes files of a failed write; vacuum removes those that can't be removed now."""
    for key in keys:
        try:
            storage.delete([key])
        except Exception as error:
            _log.warning("%s/%s was not committed and stays until vacuum: %s", storage.uri, key, error)
