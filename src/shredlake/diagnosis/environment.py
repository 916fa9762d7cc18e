"""Describes this environment: versions, kernels, Java, disk and stores, with advice on each."""

from __future__ import annotations

import os
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

NEEDED: Final = ("pyarrow", "numpy", "obstore", "sqlglot")

OLDEST_JAVA: Final = 17
LITTLE_DISK: Final = 5 * 10**9


@dataclass(frozen=True)
class Check:
    """One part of the environment."""

    name: str
    found: str
    good: bool
    advice: str = ""


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
        "python", sys.version.split()[0], sys.version_info >= (3, 11), "Python 3.11 or newer is needed"
    )
    yield Check(
        "kernels",
        "compiled" if uses_compiled() else "pure Python",
        uses_compiled(),
        "pure Python is much slower: install a C compiler and reinstall shredlake",
    )
    for name in NEEDED:
        version = _version(name)
        yield Check(name, version or "missing", version is not None, f"pip install {name}")
    for name, advice in OPTIONAL.items():
        version = _version(name)
        yield Check(name, version or "not installed", version is not None, advice)
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
        next(Storage(normalized_uri(address), dict(options)).entries(), None)
    except ShredlakeError as error:
        return Check("store", address, False, str(error))
    return Check("store", f"{address} can be listed", True)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
