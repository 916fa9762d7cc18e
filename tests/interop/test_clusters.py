"""The pipeline on a standalone cluster on loopback, and through Spark Connect."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import shredlake as sl
from pipeline_driver import Driver
from shredlake.cli.generate import write_ndjson

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")
pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("java")]

ROWS = 8000


@pytest.fixture(scope="module")
def java() -> None:
    from shredlake.spark.session import java_version

    if os.environ.get("SHREDLAKE_NO_SPARK") == "1" or (java_version() or 0) < 17:
        pytest.skip("no Java, or SHREDLAKE_NO_SPARK=1")


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("events") / "events.ndjson"
    assert write_ndjson("bluesky", path, ROWS) == ROWS
    return path


@pytest.fixture(scope="module")
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One master and two workers, each a JVM of its own."""
    folder = tmp_path_factory.mktemp("cluster")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    started: list[subprocess.Popen[bytes]] = []

    def run(kind: str, *arguments: str) -> None:
        home = Path(pyspark.__file__).parent
        environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"}
        command = ["java", "-Xmx256m", "-cp", f"{home}/jars/*", f"org.apache.spark.deploy.{kind}", *arguments]
        with open(folder / f"{kind}-{len(started)}.log", "wb") as log:
            started.append(
                subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
            )

    try:
        run("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        for number in range(2):
            place = ["--host", "127.0.0.1", "--webui-port", "0", "-d", str(folder / f"work{number}")]
            run("worker.Worker", *place, "--cores", "1", "--memory", "1g", master)
        _wait_for(lambda: b"Registering worker" in b"".join(p.read_bytes() for p in folder.glob("*.log")))
        yield master
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_for(condition: Any, seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


def test_a_standalone_cluster(cluster: str, events: Path, tmp_path: Path) -> None:
    table = tmp_path / "table"
    answer = Driver("ingest", "--master", cluster, "--query", events, table).finish()
    assert (answer["rows"], answer["counted"]) == (ROWS, ROWS)
    assert sl.Table(table).scan().count() == ROWS


def test_an_executor_that_is_killed(cluster: str, events: Path, tmp_path: Path) -> None:
    table = tmp_path / "table"
    driver = Driver("ingest", "--master", cluster, "--task-bytes", 200_000, events, table)
    _wait_for(lambda: list(table.glob("*.parquet")) or not driver.runs)
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or []
        if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in line and cluster in _ancestors(
            process
        ):
            process.kill()
            break
    driver.finish()
    assert sl.Table(table).scan().count() == ROWS


def _ancestors(process: psutil.Process) -> str:
    return " ".join(" ".join(parent.cmdline()) for parent in process.parents())


def test_spark_connect(java: None, events: Path, tmp_path: Path) -> None:
    table = tmp_path / "table"
    answer = Driver("ingest", "--remote", "local[2]", "--query", events, table).finish()
    assert (answer["rows"], answer["counted"]) == (ROWS, ROWS)
    assert sl.Table(table).scan().count() == ROWS
