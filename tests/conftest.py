"""Fixtures that all tests share: the conformance data and one Spark session."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    """Runs a test twice: with the compiled kernels, and with the reference that replaces them."""
    from shredlake.kernels import dispatch as compiled

    if request.param == "reference":
        monkeypatch.setattr(compiled, "COMPILED", False)
    elif not compiled.COMPILED:
        pytest.skip("the kernels are not compiled, or SHREDLAKE_PURE=1")
    return str(request.param)


@pytest.fixture(scope="module", autouse=True)
def without_sync(request: pytest.FixtureRequest) -> Iterator[None]:
    """Makes `os.fsync` do nothing outside tests/faults: waiting for the disk takes longer than most tests."""
    with pytest.MonkeyPatch.context() as patch:
        if "faults" not in request.path.parts:
            patch.setattr(os, "fsync", lambda handle: None)
        yield


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
    SHARED["session"], SHARED["state"] = session, session_state(session)
    yield session
    SHARED.clear()
    session.stop()


SHARED: dict[str, Any] = {}
"""The session that all modules share, and its state when it was new; empty while there is none."""


@pytest.fixture(scope="module", autouse=True)
def tidy_spark(request: pytest.FixtureRequest) -> Iterator[None]:
    """Restores the shared session after each module: its settings, views and functions."""
    yield
    if (
        request.node.get_closest_marker("spark")
        and SHARED
        and SHARED["session"].sparkContext._jsc is not None
    ):
        tidy(SHARED["session"], SHARED["state"])
        assert session_state(SHARED["session"]) == SHARED["state"], "this module changed Spark for the others"


def session_state(session: SparkSession) -> dict[str, Any]:
    """The parts of a session's state through which tests can affect each other."""
    context = session.sparkContext
    return {
        # Creating a session again adds core settings to it, which can't be removed and have no effect.
        "settings": {
            name: value for name, value in session.conf.getAll.items() if name.startswith("spark.sql.")
        },
        "views": {one.name for one in session.catalog.listTables() if one.isTemporary},
        "tables": {one.name for one in session.catalog.listTables() if not one.isTemporary},
        "functions": {row[0] for row in session.sql("show user functions").collect()},
        "streams": len(session.streams.active),
        "job": [context.getLocalProperty(name) for name in ("spark.job.description", "spark.jobGroup.id")],
    }


def tidy(session: SparkSession, state: dict[str, Any]) -> None:
    """Restores settings, and drops views and functions that were not there."""
    found = session_state(session)
    for name in found["settings"].keys() - state["settings"].keys():
        session.conf.unset(name)
    for name, value in state["settings"].items():
        if found["settings"].get(name) != value:
            session.conf.set(name, value)
    for name in found["views"] - state["views"]:
        session.catalog.dropTempView(name)
    for name in found["functions"] - state["functions"]:
        session.sql(f"drop temporary function if exists {name.rpartition('.')[2]}")
