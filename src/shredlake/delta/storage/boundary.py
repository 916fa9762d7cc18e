"""The boundary of a table: which files its log may name.

A log may come from an untrusted writer. It may name files in the table's folder, and files below the prefixes
that the option `allow_paths` lists; nothing else is opened or contacted. Local paths are compared without
symbolic links, so a link that leads out of the table is refused too.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from shredlake.errors import PathRefused, WrongType
from shredlake.formatting import kind_of

ALLOW_PATHS: Final = "allow_paths"
"""The storage option that lists prefixes outside the table."""

SCHEMES: Final = {"s3a": "s3", "s3n": "s3"}
"""Schemes that are other names of one store."""


def place_of(uri: str) -> str:
    """A folder or file, decoded: without symbolic links where it is local, with one name for a scheme.

    >>> place_of("s3a://bucket/t/./a%20b")
    's3://bucket/t/a b'
    """
    parts = urlsplit(uri)
    if parts.scheme in ("", "file"):
        return os.path.realpath(unquote(parts.path))
    folder = posixpath.normpath("/" + unquote(parts.path).lstrip("/"))
    return f"{SCHEMES.get(parts.scheme, parts.scheme)}://{parts.netloc}{folder}"


def allowed_places(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The folders outside the table that the options allow.

    >>> allowed_places({"allow_paths": ["s3://archive/2023/"]})
    ('s3://archive/2023',)
    """
    given = options.get(ALLOW_PATHS, ())
    prefixes = [given] if isinstance(given, str | os.PathLike) else given
    if not isinstance(prefixes, list | tuple):
        raise WrongType(f"{ALLOW_PATHS} is a list of folders, not {kind_of(given)}")
    return tuple(place_of(os.fspath(prefix)) for prefix in prefixes)


def store_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are for the object store itself."""
    return {name: value for name, value in options.items() if name != ALLOW_PATHS}


def require_inside(place: str, folders: tuple[str, ...], path: str) -> None:
    """Raises `PathRefused` for a place outside all of the folders; the first is the table's.

    >>> require_inside("/etc/passwd", ("/data/t",), "../../etc/passwd")
    Traceback (most recent call last):
    ...
    shredlake.errors.PathRefused: /data/t: the log names '../../etc/passwd', which leads to /etc/passwd, ...
    """
    for folder in folders:
        if place == folder or place.startswith(f"{folder.rstrip('/')}/"):
            return
    raise PathRefused(
        f"{folders[0]}: the log names {path!r}, which leads to {place}, outside the table. If you trust this "
        f"table, allow the folder: storage_options={{{ALLOW_PATHS!r}: [{posixpath.dirname(place)!r}]}}"
    )
