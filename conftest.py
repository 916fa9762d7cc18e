"""Examples in docstrings that start Spark are skipped, and counted, where there is no Java."""

from __future__ import annotations

import os
import shutil

import pytest
from _pytest.doctest import DoctestItem

STARTS_SPARK = ("session(", "SparkSession")

os.environ.pop("COLUMNS", None)  # pytest-xdist sets it; tests that draw tables choose the width themselves


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    has_java = os.environ.get("JAVA_HOME") or shutil.which("java")
    if has_java and os.environ.get("SHREDLAKE_NO_SPARK") != "1":
        return
    for item in items:
        if isinstance(item, DoctestItem) and any(
            word in example.source for example in item.dtest.examples for word in STARTS_SPARK
        ):
            item.add_marker(pytest.mark.skip(reason="no Java, or SHREDLAKE_NO_SPARK=1"))
