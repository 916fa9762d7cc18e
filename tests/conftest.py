"""Fixtures that all tests share: the conformance data and one Spark session."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# In CI the same examples come every time, so that only a change turns a run red; `make fuzz` draws others.
REPEATABLE = bool(os.environ.get("CI")) and os.environ.get("SHREDLAKE_RANDOM") != "1"
settings.register_profile("default", deadline=None, print_blob=not REPEATABLE, derandomize=REPEATABLE)
settings.load_profile("default")


@pytest.fixture(scope="session")
def conformance() -> Path:
    """The folder of files that other engines wrote."""
    place = os.environ.get("SHREDLAKE_CONFORMANCE", str(Path(__file__).parents[2] / "shared" / "conformance"))
    if not Path(place).is_dir():
        pytest.skip(f"no conformance data at {place}: set SHREDLAKE_CONFORMANCE")
    return Path(place)


@pytest.fixture(params=["compiled", "reference"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test twice: on the compiled kernels, and on the reference that serves without them."""
    from shredlake.kernels import dispatch as compiled

    if request.param == "reference":
        monkeypatch.setattr(compiled, "COMPILED", False)
    elif not compiled.COMPILED:
        pytest.skip("the kernels are not compiled, or SHREDLAKE_PURE=1")
    return str(request.param)


SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of a JVM that runs each query once: compiling it well takes longer than it saves."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local Spark on one core, without UI, its files in a temporary folder."""
    if os.environ.get("SHREDLAKE_NO_SPARK") == "1":
        pytest.skip("SHREDLAKE_NO_SPARK=1")
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        pytest.skip("no Java: install one (Debian: apt-get install default-jre-headless)")
    sql = pytest.importorskip(
        "pyspark.sql", reason="PySpark is not installed: pip install 'shredlake[spark]'"
    )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers need this environment too
    folder = tmp_path_factory.mktemp("spark")
    session = (
        sql.SparkSession.builder.master("local[1]")
        .appName("shredlake-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={folder} {SHORT_LIVED}")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
