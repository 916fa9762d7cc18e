"""Features that older supported Sparks lack; `make interop-oldest` runs the tests on the oldest."""

from __future__ import annotations

import pytest


def is_before(version: str) -> bool:
    """Whether the installed PySpark is older.

    >>> is_before("4.1")
    False
    """
    import pyspark

    return _numbers(pyspark.__version__) < _numbers(version)


def skip_before(version: str, why: str) -> None:
    """Skips the test that runs, on an older Spark."""
    if is_before(version):
        pytest.skip(f"before Spark {version}: {why}")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
