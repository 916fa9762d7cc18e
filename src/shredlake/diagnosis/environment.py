"""Describes this environment: versions, kernels, Java, disk and stores, with advice on each."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Final

from shredlake.delta.storage.storage import Storage, normalized_uri
from shredlake.errors import ShredlakeError
from shredlake.formatting import bytes_text
from shredlake.kernels.dispatch import uses_compiled
from shredlake.spark.session import java_version

OPTIONAL: Final = {
    "duckdb": "pip install duckdb, for scan.to_duckdb() and SQL without Spark",
    "polars": "pip install polars, for sl.scan_polars",
    "pandas": "pip install pandas, for scan.to_pandas()",
    "deltalake": "pip install deltalake, if another reader of Delta tables is wanted",
    "pyspark": "pip install 'shredlake[spark]', for Spark",
}
"""Optional libraries, and what they are for."""

NEEDED: Final = ("pyarrow", "numpy", "obstore", "sqlglot", "pyroaring", "zstandard", "rich", "typer")
"""The libraries that every installation has."""

OLDEST_JAVA: Final = 17
LITTLE_DISK: Final = 5 * 10**9


@dataclass(frozen=True)
class Check:
    """One part of the environment."""

    name: str
    found: str
    good: bool
    advice: str = ""
    needed: bool = False
    """Whether shredlake does not work without it; the store that was asked about counts too."""


def examine_environment(
    store: str | None = None, storage_options: Mapping[str, Any] | None = None
) -> list[Check]:
    """Checks this environment; with `store`, also that a folder or bucket can be listed.

    >>> [check.name for check in examine_environment()][:3]
    ['shredlake', 'python', 'kernels']
    """
    return [*_checks(), *([] if store is None else [_store(store, storage_options or {})])]


def _checks() -> Iterator[Check]:
    yield Check("shredlake", _version("shredlake") or "not installed as a package", True)
    yield Check(
        "python",
        sys.version.split()[0],
        sys.version_info >= (3, 11),
        "Python 3.11 or newer is needed",
        needed=True,
    )
    yield Check(
        "kernels",
        "compiled" if uses_compiled() else "pure Python",
        uses_compiled(),
        "pure Python is much slower: install a C compiler and reinstall shredlake",
    )
    for name in NEEDED:
        yield _library(name, "missing", f"pip install {name}", needed=True)
    for name, advice in OPTIONAL.items():
        yield _library(name, "not installed", advice, needed=False)
    java = java_version()
    yield Check(
        "java",
        "not found" if java is None else str(java),
        java is not None and java >= OLDEST_JAVA,
        f"only Spark needs it: install Java {OLDEST_JAVA} or newer, or set JAVA_HOME",
    )
    for name, folder in (("disk", os.getcwd()), ("temporary disk", tempfile.gettempdir())):
        free = shutil.disk_usage(folder).free
        advice = "sorting and converting need space for a copy of the data; set TMPDIR for temporary files"
        yield Check(name, f"{bytes_text(free)} free in {folder}", free >= LITTLE_DISK, advice)


def _store(address: str, options: Mapping[str, Any]) -> Check:
    try:
        storage = Storage(normalized_uri(address), dict(options))
        if storage.is_local and not storage.local_root.is_dir():
            return Check("store", address, False, f"{storage.local_root} is not a folder", needed=True)
        next(storage.entries(), None)
    except ShredlakeError as error:
        return Check("store", address, False, str(error), needed=True)
    return Check("store", f"{address} can be listed", True, needed=True)


def _library(name: str, absent: str, advice: str, *, needed: bool) -> Check:
    version, wanted = _version(name), _wanted(name)
    if version is None:
        return Check(name, absent, False, advice, needed=needed)
    return Check(name, version, within(version, wanted), f"pip install '{name}{wanted}'", needed=needed)


def _wanted(name: str) -> str:
    """The versions of a library that shredlake's package asks for, such as `<3,>=2`; empty if any will do."""
    try:
        lines = metadata.requires("shredlake") or []
    except metadata.PackageNotFoundError:
        return ""
    found = (re.match(rf"{re.escape(name)}([<>=][^;]*)", line) for line in lines)
    return next((match[1].strip() for match in found if match is not None), "")


def within(version: str, wanted: str) -> bool:
    """Whether a version is one of those wanted.

    >>> within("2.0.1", "<3,>=2"), within("1.4.2", "<3,>=2"), within("3.0.0rc1", "<3,>=2"), within("2", "")
    (True, False, False, True)
    """
    for operator, bound in re.findall(r"(<|>=)([\d.]+)", wanted):
        least = _numbers(bound)
        found = (*_numbers(version), 0, 0, 0)[: max(len(least), 1)]
        if (found < least) is (operator == ">="):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    start = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in start[0].split(".")) if start else ()


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
