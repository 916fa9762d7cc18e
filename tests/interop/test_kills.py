"""Processes killed in the middle of their work: the table stays readable, each row is there once.

A few short ones here; `make kill` repeats them at random moments, as often as SHREDLAKE_KILLS says.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

import shredlake as sl
from pipeline_driver import Driver
from shredlake.cli.generate import write_ndjson
from shredlake.spark import stream
from shredlake.spark.engine import LocalEngine
from shredlake.spark.ingest import IngestOptions, ingest_text
from shredlake.spark.optimize import optimize_table
from shredlake.spark.session import java_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS = 20_000
MASTER = "local[2,4]"
ROUNDS = int(os.environ.get("SHREDLAKE_KILLS", "0"))


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of four files."""
    if os.environ.get("SHREDLAKE_NO_SPARK") == "1" or (java_version() or 0) < 17:
        pytest.skip("no Java, or SHREDLAKE_NO_SPARK=1")
    folder = tmp_path_factory.mktemp("events")
    for number in range(4):
        write_ndjson("bluesky", folder / f"{number}.ndjson", ROWS // 4, seed=number)
    return folder


def has_data(table: Path) -> Callable[[], bool]:
    before = set(table.glob("*.parquet"))
    return lambda: bool(set(table.glob("*.parquet")) - before)


def wait_until(condition: Callable[[], bool], driver: Driver, seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and driver.runs and time.monotonic() < deadline:
        time.sleep(0.02)


def kill_worker(driver: Driver) -> None:
    """One Python worker: a child that PySpark's daemon forked."""
    for process in psutil.Process(driver.process.pid).children(recursive=True):
        parent = process.parent()
        if parent is not None and "pyspark.daemon" in " ".join(parent.cmdline()):
            process.kill()
            return


def count(table: Path) -> int:
    """The rows of the table, each of which must be there once; a table that is not there has none."""
    if not (table / "_delta_log").exists():
        return 0
    rows = sl.Table(table).scan(columns=["v"]).to_arrow().column("v")
    texts = sl.to_json(rows).to_pylist()
    assert len(texts) == len(set(texts))
    return len(texts)


def test_a_worker_killed_during_an_ingest(events: Path, tmp_path: Path) -> None:
    table = tmp_path / "table"
    driver = Driver("ingest", "--master", MASTER, "--task-bytes", 300_000, events, table)
    wait_until(has_data(table), driver)
    kill_worker(driver)
    driver.finish()  # Spark gives the task to another worker
    assert count(table) == ROWS


def test_a_driver_killed_during_an_ingest(events: Path, tmp_path: Path) -> None:
    table = tmp_path / "table"
    driver = Driver("ingest", "--master", MASTER, "--task-bytes", 300_000, events, table)
    wait_until(has_data(table), driver)
    driver.kill()
    assert count(table) in (0, ROWS)
    ingest_text(LocalEngine(), str(events), str(table), IngestOptions())  # the same job, on another engine
    assert count(table) == ROWS


def test_a_driver_killed_during_a_stream_and_an_optimize(
    events: Path, tmp_path: Path, spark: SparkSession
) -> None:
    table = tmp_path / "table"
    driver = Driver("stream", "--master", MASTER, events, table)
    wait_until(has_data(table), driver)
    driver.kill()
    assert count(table) % (ROWS // 4) == 0
    stream(spark, str(events), table, f"{table}_state", files_per_batch=1).awaitTermination()
    assert count(table) == ROWS
    driver = Driver("optimize", "--master", MASTER, events, table)
    wait_until(has_data(table), driver)
    driver.kill()
    assert count(table) == ROWS
    assert optimize_table(LocalEngine(), str(table), sort_by=["v:time_us::bigint"]).files_after == 1
    assert count(table) == ROWS


@pytest.mark.slow
@pytest.mark.skipif(not ROUNDS, reason="takes minutes: make kill")
@pytest.mark.parametrize("verb", ["ingest", "stream", "optimize"])
@pytest.mark.parametrize("kill", [kill_worker, Driver.kill])
def test_killed_at_random_moments(
    events: Path, tmp_path: Path, verb: str, kill: Callable[[Driver], None]
) -> None:
    chance = random.Random()
    prepared = tmp_path / "prepared"
    if verb == "optimize":
        Driver("ingest", "--master", MASTER, "--task-bytes", 1_000_000, events, prepared).finish()
    began = time.monotonic()
    Driver(verb, "--master", MASTER, events, _copy(prepared, tmp_path / "calm")).finish()
    lasts = time.monotonic() - began
    for number in range(ROUNDS):
        table = _copy(prepared, tmp_path / f"table{number}")
        moment = chance.uniform(0, lasts)
        driver = Driver(verb, "--master", MASTER, events, table)
        time.sleep(moment)
        if driver.runs:
            kill(driver)
        driver.process.wait()
        driver.kill()
        held = count(table)
        allowed = {ROWS} if verb == "optimize" else {0, ROWS // 4, ROWS // 2, ROWS * 3 // 4, ROWS}
        assert held in allowed, f"{verb} after {moment:.2f} s: {held} rows"
        Driver(verb, "--master", MASTER, events, table).finish()
        assert count(table) == ROWS, f"{verb} after {moment:.2f} s"


def _copy(prepared: Path, table: Path) -> Path:
    if prepared.exists():
        shutil.copytree(prepared, table)
    return table
