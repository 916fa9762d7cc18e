"""The files in a table's folder: those that Delta writers create, and foreign files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final

from shredlake.delta.storage.storage import Storage


class Kind(Enum):
    """The kind of a file in a table's folder, by its name."""

    DATA = "data file"
    VECTOR = "deletion vector"
    CHANGES = "change data"
    TEMPORARY = "temporary file"
    SIDECAR = "part of a checkpoint"
    LOG = "log"
    HIDDEN = "hidden file"
    FOREIGN = "file of others"


_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_RULES: Final = (
    # Left by writes that were killed before the rename: by our own, and by obstore's on a local disk.
    (re.compile(r"(?:.*/)?\.[^/]+\.[0-9a-f]{32}\.tmp"), Kind.TEMPORARY),
    (re.compile(r"(?:.*/)?[^/]+\.(?:parquet|json|crc|bin)#[0-9]+"), Kind.TEMPORARY),
    (re.compile(rf"_staging/[^/]+/{_UUID}\.parquet"), Kind.TEMPORARY),
    (re.compile(r"_shredlake_convert/[0-9a-f]{32}/[^/]+\.(?:json|parquet)"), Kind.TEMPORARY),
    (re.compile(r"_delta_log/_sidecars/[^/]+\.parquet"), Kind.SIDECAR),
    (re.compile(r"_delta_log(?:/.*)?"), Kind.LOG),
    (re.compile(r"_change_data/.*\.parquet"), Kind.CHANGES),
    # A partition column may start with an underscore or a dot: `_day=1/` is data.
    (re.compile(r"(?:.*/)?[._](?![^/]*=[^/]*/)[^/]*(?:/.*)?"), Kind.HIDDEN),
    (re.compile(rf"(?:.*/)?deletion_vector_{_UUID}\.bin"), Kind.VECTOR),
    (re.compile(r".*\.parquet"), Kind.DATA),
)
"""The first pattern that matches the whole key determines the kind of the file."""

_OUR_OWN: Final = re.compile(
    rf"(?:.*/)?(?:part|cdc)-{_UUID}\.c[0-9]+\.[^/]*parquet|(?:.*/)?deletion_vector_.*"
)


def kind_of(key: str) -> Kind:
    """Returns the kind of a file, given its key in the table's folder.

    >>> [kind_of(key).name for key in ("day=1/part-1.parquet", "raw/d1.ndjson", "_mine/keep.parquet")]
    ['DATA', 'FOREIGN', 'HIDDEN']
    >>> kind_of(".part-1.parquet.0123456789abcdef0123456789abcdef.tmp").name
    'TEMPORARY'
    """
    for pattern, kind in _RULES:
        if pattern.fullmatch(key) is not None:
            return kind
    return Kind.FOREIGN


_LOG_OF_ANOTHER: Final = re.compile(r"(.+/)_delta_log/[0-9]{20}\.[^/]+")


def other_tables(keys: Iterable[str]) -> tuple[str, ...]:
    """The folders of other tables within the table's folder, each with a slash at its end.

    >>> other_tables(["a/b/_delta_log/00000000000000000000.json", "_delta_log/00000000000000000000.json"])
    ('a/b/',)
    """
    found = (_LOG_OF_ANOTHER.fullmatch(key) for key in keys if "/_delta_log/" in key)
    return tuple(sorted({match[1] for match in found if match is not None}))


def checked_file(key: str) -> str:
    """Returns the file that a Hadoop checksum file (`.name.crc`) belongs to; returns any other key unchanged.

    >>> checked_file("d/.x.parquet.crc"), checked_file("d/x.parquet")
    ('d/x.parquet', 'd/x.parquet')
    """
    folder, slash, name = key.rpartition("/")
    if name.startswith(".") and name.endswith(".crc"):
        return f"{folder}{slash}{name[1:-4]}"
    return key


def others_files(storage: Storage) -> Iterator[str]:
    """Yields the keys of files that prevent the creation of a table in the folder.

    These are all files except hidden files, the log, and files that our own crashed jobs left behind.

    >>> storage = Storage("memory://doc/others")
    >>> storage.create("raw/d1.ndjson", b"")
    >>> storage.create("_delta_log/_x", b"")
    >>> list(others_files(storage))
    ['raw/d1.ndjson']
    """
    harmless = (Kind.HIDDEN, Kind.LOG, Kind.SIDECAR, Kind.TEMPORARY)
    for entry in storage.residents():
        if entry.is_link or not (
            kind_of(entry.path) in harmless or _OUR_OWN.fullmatch(entry.path) is not None
        ):
            yield entry.path
