"""Workers and drivers killed while `format("shredlake")` writes and streams: each row is there once.

`make kill` runs them until as many processes were killed at work as SHREDLAKE_KILLS says. Rounds in which the
work ended before are repeated.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

import shredlake as sl
from datagen import write_ndjson
from long_runs import KILLS, LONG
from pipeline_driver import FROM_INPUT, Driver
from shredlake.spark.session import java_version
from waiting import wait_until

pytestmark = [pytest.mark.spark, LONG]

ROWS, FILES = 6_000, 4
MASTER = "local[2,4]"


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of text files."""
    if os.environ.get("SHREDLAKE_NO_SPARK") == "1" or (java_version() or 0) < 17:
        pytest.skip("no Java, or SHREDLAKE_NO_SPARK=1")
    folder = tmp_path_factory.mktemp("events")
    for number in range(FILES):
        write_ndjson("bluesky", folder / f"{number}.ndjson", ROWS // FILES, seed=number)
    return folder


@pytest.fixture(scope="module")
def table(events: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a table of as many versions."""
    place = tmp_path_factory.mktemp("tables") / "a"
    for number in range(FILES):
        sl.ingest(events / f"{number}.ndjson", place)
    return place


def kill_worker(driver: Driver) -> bool:
    """Any Python process that PySpark started: a worker, or one that plans, commits or follows a stream."""
    found = []
    for process in psutil.Process(driver.process.pid).children(recursive=True):
        with suppress(psutil.Error):
            if "pyspark" in " ".join(process.cmdline()) and "java" not in process.name():
                found.append(process)
    if not found:
        return False
    with suppress(psutil.Error):
        random.choice(found).kill()
        return True
    return False  # it has ended by itself


def kill_driver(driver: Driver) -> bool:
    driver.kill()
    return True


def count(place: Path) -> int:
    """The rows of a table, each of which must occur once; none if the table does not exist."""
    if not list((place / "_delta_log").glob("*.json")):
        return 0
    texts = sl.to_json(sl.Table(place).scan(["v"]).to_arrow().column("v")).to_pylist()
    assert len(texts) == len(set(texts))
    return len(texts)


@pytest.fixture
def drivers() -> Iterator[Callable[[str, Path], Driver]]:
    """Gives a driver that waits for tables: the last one while it lives, because Spark starts slowly."""
    started: list[Driver] = []

    def give(verb: str, source: Path) -> Driver:
        if not started or not started[-1].runs:
            started.append(Driver(verb, "--master", MASTER, source, FROM_INPUT))
        return started[-1]

    yield give
    for driver in started:
        driver.kill()


def ended(driver: Driver) -> bool:
    """Waits for the driver and tells whether it succeeded."""
    try:
        driver.finish()
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize(
    ("verb", "victim", "kill"),
    [
        ("source-write", "worker", kill_worker),
        ("source-stream", "driver", kill_driver),
        ("source-write", "driver", kill_driver),
        ("source-stream", "worker", kill_worker),
    ],
)
def test_killed_at_random_moments(
    events: Path,
    table: Path,
    tmp_path: Path,
    drivers: Callable[[str, Path], Driver],
    verb: str,
    victim: str,
    kill: Callable[[Driver], bool],
) -> None:
    source = events if verb == "source-write" else table
    allowed = {0, ROWS} if verb == "source-write" else {ROWS // FILES * n for n in range(FILES + 1)}
    chance = random.Random(seed := random.randrange(1 << 30))
    lasts, hits, number = 8.0, 0, 0
    while hits < KILLS:
        number += 1
        assert number <= 3 * KILLS + 5, f"{verb}, {victim}: {hits} of {KILLS} kills in {number} rounds"
        place = tmp_path / f"table{number}"
        driver = drivers(verb, source)
        driver.begin(place)
        began = time.monotonic()
        moment = chance.uniform(0, lasts)
        wait_until(lambda driver=driver: not driver.busy, moment)  # type: ignore[misc]
        hit = driver.busy and kill(driver)
        hits += hit
        if not hit:
            lasts = max(0.3, (time.monotonic() - began) * 0.8)
        # A task is given to another worker. Without its source, a stream ends, and its driver too.
        wait_until(lambda driver=driver: not driver.busy)  # type: ignore[misc]
        held = count(place)
        what = f"{verb}, {victim} killed after {moment:.2f} s, seed {seed}, round {number}"
        assert held in allowed, f"{what}: {held} rows"
        for _ in range(5):  # the same job again, from the same checkpoint
            if count(place) == ROWS:
                break
            driver = drivers(verb, source)
            driver.begin(place)
            wait_until(lambda driver=driver: not driver.busy)  # type: ignore[misc]
        assert count(place) == ROWS, f"{what}, and run again"
    print(f"{verb}: {hits} times in {number} rounds a {victim} was killed; {number * ROWS:,} rows counted")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A master and two workers."""
    from spark_cluster import standalone

    with standalone(tmp_path_factory.mktemp("cluster")) as master:
        yield master


def test_speculative_copies_of_tasks_on_a_cluster(
    events: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The first attempt of a task is slow, Spark runs a copy elsewhere, and only one is committed."""
    master = request.getfixturevalue("cluster")
    marks = tmp_path / "marks"
    marks.mkdir()
    place = tmp_path / "table"
    driver = Driver("source-write", "--master", master, "--speculation", marks, events, place)
    driver.finish()
    assert count(place) == ROWS
    assert {"0-0", "0-1"} <= {mark.name for mark in marks.iterdir()}, "Spark ran no copy of the slow task"


def test_a_stream_on_a_cluster(table: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    place = tmp_path / "table"
    master = request.getfixturevalue("cluster")
    for _ in range(3):
        if ended(Driver("source-stream", "--master", master, table, place)):
            break
    assert count(place) == ROWS
