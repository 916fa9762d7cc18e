"""Processes killed in the middle of their work: the table stays readable, each row is there once.

The default suite runs one of them. `make kill` runs all, at random moments, as often as SHREDLAKE_KILLS says.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

import shredlake as sl
from datagen import write_ndjson
from long_runs import KILLS, LONG
from pipeline_driver import FROM_INPUT, Driver
from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.ingest.ingest import IngestOptions, ingest_text
from shredlake.jobs.optimize import optimize_table
from shredlake.spark import ingest, optimize, stream
from shredlake.spark.session import java_version
from waiting import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS = 20_000
MASTER = "local[2,4]"


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


def wait_while_it_runs(driver: Driver, condition: Callable[[], bool]) -> None:
    """Waits for a condition, but not beyond the end of the work."""
    wait_until(lambda: condition() or not driver.busy)


def kill_the_next(driver: Driver, kill: Callable[[Driver], bool]) -> bool:
    """Kills a running process, or the next one that starts; false if the work ended first."""
    met: list[bool] = []

    def done() -> bool:
        if driver.busy and kill(driver):
            met.append(True)
        return bool(met) or not driver.busy

    wait_until(done)
    return bool(met)


def kill_worker(driver: Driver) -> bool:
    """One Python worker, a child that PySpark's daemon forked; whether there was one."""
    for process in psutil.Process(driver.process.pid).children(recursive=True):
        with suppress(psutil.Error):
            parent = process.parent()
            if parent is not None and "pyspark.daemon" in " ".join(parent.cmdline()):
                process.kill()
                return True
    return False


def kill_executor(master: str, driver: Driver) -> bool:
    """One executor of the cluster; whether there was one."""
    from spark_cluster import executors

    for process in executors(master):
        with suppress(psutil.Error):
            process.kill()
            return True
    return False


def kill_driver(driver: Driver) -> bool:
    """The driver, its JVM and its workers."""
    driver.kill()
    return True


def count(table: Path) -> int:
    """The rows of the table, each of which must occur once; none if the table does not exist."""
    if not list((table / "_delta_log").glob("*.json")):
        return 0
    rows = sl.Table(table).scan(columns=["v"]).to_arrow().column("v")
    texts = sl.to_json(rows).to_pylist()
    assert len(texts) == len(set(texts))
    return len(texts)


@LONG
def test_a_worker_killed_during_an_ingest(events: Path, tmp_path: Path) -> None:
    table = tmp_path / "table"
    driver = Driver("ingest", "--master", MASTER, "--task-bytes", 300_000, events, table)
    wait_while_it_runs(driver, has_data(table))
    kill_worker(driver)
    driver.finish()  # Spark gives the task to another worker
    assert count(table) == ROWS


def test_a_driver_killed_during_an_ingest(events: Path, tmp_path: Path) -> None:
    table = tmp_path / "table"
    driver = Driver("ingest", "--master", MASTER, "--task-bytes", 300_000, events, table)
    wait_while_it_runs(driver, has_data(table))
    driver.kill()
    assert count(table) in (0, ROWS)
    ingest_text(LocalEngine(), str(events), str(table), IngestOptions())  # the same job, on another engine
    assert count(table) == ROWS


@LONG
def test_a_driver_killed_during_a_stream_and_an_optimize(
    events: Path, tmp_path: Path, spark: SparkSession
) -> None:
    table = tmp_path / "table"
    driver = Driver("stream", "--master", MASTER, events, table)
    wait_while_it_runs(driver, has_data(table))
    driver.kill()
    assert count(table) % (ROWS // 4) == 0
    stream(spark, str(events), table, f"{table}_state", files_per_batch=1).awaitTermination()
    assert count(table) == ROWS
    driver = Driver("optimize", "--master", MASTER, events, table)
    wait_while_it_runs(driver, has_data(table))
    driver.kill()
    assert count(table) == ROWS
    assert optimize_table(LocalEngine(), str(table), sort_by=["v:time_us::bigint"]).files_after == 1
    assert count(table) == ROWS


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A master and two workers, for the executors to be killed on."""
    from spark_cluster import standalone

    with standalone(tmp_path_factory.mktemp("cluster")) as master:
        yield master


@pytest.mark.slow
@LONG
@pytest.mark.parametrize("verb", ["ingest", "stream", "optimize"])
@pytest.mark.parametrize("victim", ["worker", "executor", "driver"])
def test_killed_at_random_moments(
    events: Path,
    tmp_path: Path,
    spark: SparkSession,
    request: pytest.FixtureRequest,
    drivers: Callable[[str, str, Path], Driver],
    verb: str,
    victim: str,
) -> None:
    master = request.getfixturevalue("cluster") if victim == "executor" else MASTER
    kills: dict[str, Callable[[Driver], bool]] = {
        "worker": kill_worker,
        "executor": partial(kill_executor, master),
        "driver": kill_driver,
    }
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    prepared = tmp_path / "prepared"
    if verb == "optimize":
        ingest(spark, str(events), prepared, task_bytes=1_000_000)
    batches = {ROWS // 4 * taken for taken in range(5)}
    allowed = {"ingest": {0, ROWS}, "stream": batches, "optimize": {ROWS}}
    hits = 0
    for number in range(1 if victim == "driver" else 2):  # the first work of a driver takes much longer
        lasts = _calm(drivers(verb, master, events), _copy(prepared, tmp_path / f"calm{number}"))
    for number in range(KILLS):
        table = _copy(prepared, tmp_path / f"table{number}")
        moment = chance.uniform(0, 0.8 * lasts)
        driver = drivers(verb, master, events)
        driver.begin(table)
        wait_until(lambda driver=driver: not driver.busy, moment)  # type: ignore[misc]
        what = f"{verb}, {victim} killed {moment:.2f} s into {lasts:.2f} s, seed {seed}"
        hit = kill_the_next(driver, kills[victim])
        hits += hit
        if not hit:
            lasts /= 2  # the machine has become faster since
        if victim == "driver":
            held = count(table)
            assert held in allowed[verb], f"{what}: {held} rows"
        else:
            wait_until(lambda driver=driver: not driver.busy)  # type: ignore[misc]
            assert driver.runs, driver.said.decode()  # Spark gave the work to another one
            assert count(table) == ROWS, what
        _again(verb, spark, events, table)
        assert count(table) == ROWS, f"{what}, and run again"
        if verb == "optimize":
            assert ordered(table), what
    print(f"{verb}: {hits} of {KILLS} times a {victim} was killed, within {lasts:.1f} s of work")
    assert hits or KILLS < 3, f"no {victim} was met at work in {KILLS} rounds"


@pytest.fixture
def drivers() -> Iterator[Callable[[str, str, Path], Driver]]:
    """Gives a driver that waits for tables: the last one while it lives, because Spark starts slowly."""
    started: list[Driver] = []

    def give(verb: str, master: str, events: Path) -> Driver:
        if not started or not started[-1].runs:
            started.append(Driver(verb, "--master", master, events, FROM_INPUT))
        return started[-1]

    yield give
    for driver in started:
        driver.kill()


def _calm(driver: Driver, table: Path) -> float:
    """The seconds that the undisturbed work takes."""
    driver.begin(table)
    began = time.monotonic()
    wait_until(lambda: not driver.busy)
    assert driver.runs, driver.said.decode()
    return time.monotonic() - began


def _again(verb: str, spark: SparkSession, events: Path, table: Path) -> None:
    """The same job once more, by another driver."""
    if verb == "ingest":
        ingest(spark, str(events), table)
    elif verb == "stream":
        stream(spark, str(events), table, f"{table}_state", files_per_batch=1).awaitTermination()
    else:
        optimize(spark, table, sort_by="v:time_us::bigint", file_bytes=1 << 20)


def ordered(table: Path) -> bool:
    """Whether no two files overlap on the key that the table was sorted by."""
    ranges = []
    for path in sl.Table(table).files().column("path").to_pylist():
        times = sl.read_parquet(table / path, columns=["v:time_us::bigint AS at"]).column("at").to_pylist()
        assert times == sorted(times)
        ranges.append((times[0], times[-1]))
    return all(high <= low for (_, high), (low, _) in pairwise(sorted(ranges)))


def _copy(prepared: Path, table: Path) -> Path:
    if prepared.exists():
        shutil.copytree(prepared, table)
    return table
