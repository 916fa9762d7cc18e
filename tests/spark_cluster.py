"""A standalone Spark cluster on loopback: one master and two workers, each a JVM of its own."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pyspark

from waiting import wait_until


@contextmanager
def connect_port() -> Iterator[None]:
    """Holds the port on which PySpark starts a Connect server: tests in other processes wait for it."""
    with open(Path(tempfile.gettempdir()) / "shredlake-connect.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """The master's address, for as long as the cluster runs; its logs are in the folder."""
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
            # Spark runs no speculative copy on the host of the first attempt, so each worker has its own.
            place = ["--host", f"127.0.0.{number + 1}", "--webui-port", "0"]
            place += ["-d", str(folder / f"work{number}")]
            run("worker.Worker", *place, "--cores", "1", "--memory", "1g", master)
        wait_for(lambda: b"Registering worker" in b"".join(p.read_bytes() for p in folder.glob("*.log")))
        yield master
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def executors(master: str) -> list[psutil.Process]:
    """The executors that the cluster's workers have started."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or []
        if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in line and master in _ancestors(process):
            found.append(process)
    return found


def _ancestors(process: psutil.Process) -> str:
    try:
        return " ".join(" ".join(parent.cmdline()) for parent in process.parents())
    except psutil.Error:  # gone in the meantime
        return ""


def wait_for(condition: Callable[[], object], seconds: float = 240) -> None:
    """Returns when the condition holds; fails if it does not in time."""
    assert wait_until(condition, seconds), "waited in vain"
