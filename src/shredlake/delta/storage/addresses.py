"""One normal form for the addresses of a table's files.

Writers spell the same file in many ways: `x`, `./x`, `d//x`, `/data/t/x`, `file:/data/t/x`, `s3a://b/t/x`.
`log_key` makes spellings comparable inside the log (replay, conflicts), as delta-spark does: it removes dots
and empty segments and keeps percent-encoding. `table_key` locates a file of the log in the table's folder.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any, Final
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.storage.boundary import SCHEMES, place_of
from shredlake.delta.storage.storage import Storage, decode_path, is_absolute, locate
from shredlake.errors import CorruptLog

_ODD: Final = r"^/|/\.?/|^\.?/|:"
"""Matches paths that may not be in normal form."""
_odd = re.compile(_ODD)


def log_key(path: str) -> str:
    """A path of the log in its normal spelling.

    >>> log_key("./d//x.parquet"), log_key("file:/data/./t/x"), log_key("s3a://bucket/t//x")
    ('d/x.parquet', 'file:///data/t/x', 's3://bucket/t/x')
    """
    if _odd.search(path) is None:
        return path
    if not is_absolute(path):
        return "/".join(part for part in path.split("/") if part not in ("", "."))
    try:
        parts = urlsplit(path)
    except ValueError as error:
        raise CorruptLog(f"the log names the file {path!r}, which is not an address: {error}") from None
    scheme = SCHEMES.get(parts.scheme, parts.scheme) or "file"
    host = "" if scheme == "file" and parts.netloc == "localhost" else parts.netloc
    rest = path[path.index(parts.path) :] if parts.path else ""  # with what looks like a query or a fragment
    return f"{scheme}://{host}{posixpath.normpath('/' + rest.lstrip('/'))}"


def log_keys(paths: Any) -> Any:
    """Paths of the log in their normal spelling, for a whole column.

    >>> log_keys(pa.array(["a", "./b"])).to_pylist()
    ['a', 'b']
    """
    odd = pc.match_substring_regex(paths, _ODD)
    if not pc.any(odd).as_py():
        return paths
    return pa.array([None if path is None else log_key(path) for path in paths.to_pylist()], pa.string())


def table_key(storage: Storage, path: str) -> str:
    """The key of a file in the table's folder, or its absolute address if it is stored elsewhere.

    >>> table_key(Storage("memory://doc/t"), "d/./a%20b.parquet")
    'd/a b.parquet'
    >>> table_key(Storage("s3://bucket/t"), "s3a://bucket/t/a%2541.parquet")
    'a%41.parquet'
    """
    if not is_absolute(path):
        return decode_path(path)
    parent, name = locate(path, storage.options)
    full, root = place_of(parent.uri), place_of(storage.uri)
    return f"{full}/{name}".removeprefix(f"{root}/")
