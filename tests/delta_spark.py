"""The other end of `delta_spark_server.py`: one delta-spark for a whole module of tests."""

from __future__ import annotations

import json
import os
import queue
import shutil
import site
import subprocess
import threading
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import pytest

import shredlake as sl

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv-delta" / "bin" / "python"

# Generous: the first start fetches jars, and the machine may be busy with other tests.
START_SECONDS = 900
ANSWER_SECONDS = 600


def unavailable() -> str | None:
    """The reason why delta-spark can't run here, or None."""
    if os.environ.get("SHREDLAKE_NO_SPARK") == "1":
        return "SHREDLAKE_NO_SPARK=1"
    if not PYTHON.exists():
        return "no delta-spark: make interop installs it"
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        return "no Java: install one (Debian: apt-get install default-jre-headless)"
    return None


def missing(reason: str) -> NoReturn:
    """Skips the test; where delta-spark is required (`make interop-delta`), fails it."""
    if os.environ.get("SHREDLAKE_DELTA_SPARK") == "required":
        pytest.fail(f"delta-spark is required: {reason}")
    pytest.skip(reason)


class DeltaSparkError(Exception):
    """The error that delta-spark returned instead of rows."""


class DeltaSpark:
    """A running delta-spark. Every call waits for its answer, but not forever."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "delta-spark.log"
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_"))}
        environment |= {"PYSPARK_PYTHON": str(PYTHON), "TZ": "UTC"}
        self._errors = self.log.open("w")
        self._process = subprocess.Popen(
            [PYTHON, ROOT / "tests" / "delta_spark_server.py", folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=folder,
            env=environment,
            text=True,
        )
        self._answers: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        first = self._next(START_SECONDS)
        if "unavailable" in first:
            self.close()
            missing(f"delta-spark does not start: {first['unavailable']}")
        self.version = first["ready"]

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def _next(self, seconds: float) -> dict[str, Any]:
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            self.close()
            pytest.fail(f"delta-spark has not answered for {seconds} seconds:\n{self._tail()}")
        if line is None:
            pytest.fail(f"delta-spark ended:\n{self._tail()}")
        return dict(json.loads(line))

    def _tail(self) -> str:
        return self.log.read_text()[-3000:]

    def ask(self, **request: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        reply = self._next(ANSWER_SECONDS)
        if "error" in reply:
            raise DeltaSparkError(reply["error"])
        return reply["result"]

    def sql(self, text: str) -> list[dict[str, Any]]:
        """The rows of a query or the outcome of a statement, as Python values."""
        return [{name: plain(value) for name, value in row.items()} for row in self.ask(sql=text)]

    def ours(self, text: str, **tables: str) -> list[dict[str, Any]]:
        """The rows of `shredlake.spark.sql` in delta-spark's own session."""
        folders = [str(ROOT / "src"), *site.getsitepackages()]
        found = self.ask(ours=text, tables=tables, path=folders)
        return [{name: plain(value) for name, value in row.items()} for row in found]

    def rows(self, table: Path, columns: str = "*", rest: str = "") -> list[dict[str, Any]]:
        """Rows of a table."""
        return self.sql(f"SELECT {columns} FROM delta.`{table}` {rest}")

    def set(self, **settings: str | None) -> None:
        """Settings of the session; `__` stands for a dot."""
        self.ask(set={name.replace("__", "."): value for name, value in settings.items()})

    def checkpoint(self, table: Path) -> None:
        """Delta's own checkpoint of the latest version."""
        self.ask(checkpoint=str(table))

    def decoded(self, text: str) -> sl.Variant:
        """The Variant that Delta's engine decodes from a z85 string."""
        found = plain(self.ask(decode=text))
        assert isinstance(found, sl.Variant)
        return found

    def close(self) -> None:
        """Ends the process: it is asked to exit, and killed if it does not."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()


def plain(value: Any) -> Any:
    """The value behind a tagged one; Variants stay Variants."""
    match value:
        case list():
            return [plain(item) for item in value]
        case {"row": fields}:
            return {name: plain(item) for name, item in fields.items()}
        case {"map": pairs}:
            return [(plain(key), plain(item)) for key, item in pairs]
        case {"variant": [metadata, content]}:
            return sl.Variant(bytes.fromhex(metadata), bytes.fromhex(content))
        case {"bytes": text}:
            return bytes.fromhex(text)
        case {"float": text}:
            return float.fromhex(text)
        case {"decimal": text}:
            return Decimal(text)
        case {"datetime": text}:
            return datetime.fromisoformat(text)
        case {"date": text}:
            return date.fromisoformat(text)
        case _:
            return value


def started(folder: Path) -> Iterator[DeltaSpark]:
    """Yields a running delta-spark, for fixtures of a module."""
    reason = unavailable()
    if reason is not None:
        missing(reason)
    running = DeltaSpark(folder)
    yield running
    running.close()
