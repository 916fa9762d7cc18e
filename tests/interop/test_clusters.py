"""The pipeline on a standalone cluster on loopback, and through Spark Connect."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import shredlake as sl
from datagen import write_ndjson
from delta_spark import missing
from long_runs import LONG
from pipeline_driver import Driver
from streams import add_file, applied, rows_of_a
from waiting import wait_until

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")
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
    """One master and two workers."""
    from spark_cluster import standalone

    with standalone(tmp_path_factory.mktemp("cluster")) as master:
        yield master


@LONG
def test_a_standalone_cluster(cluster: str, events: Path, tmp_path: Path) -> None:
    table = tmp_path / "table"
    answer = Driver("ingest", "--master", cluster, "--query", events, table).finish()
    assert (answer["rows"], answer["counted"]) == (ROWS, ROWS)
    assert sl.Table(table).scan().count() == ROWS


@LONG
def test_an_executor_that_is_killed(cluster: str, events: Path, tmp_path: Path) -> None:
    from spark_cluster import executors, wait_for

    table = tmp_path / "table"
    driver = Driver("ingest", "--master", cluster, "--task-bytes", 200_000, events, table)
    wait_for(lambda: list(table.glob("*.parquet")) or not driver.runs)
    executors(cluster)[0].kill()
    driver.finish()
    assert sl.Table(table).scan().count() == ROWS


@LONG
def test_spark_connect(java: None, events: Path, tmp_path: Path) -> None:
    from spark_cluster import connect_port

    table = tmp_path / "table"
    with connect_port():
        answer = Driver("ingest", "--remote", "local[2]", "--query", events, table).finish()
    assert (answer["rows"], answer["counted"]) == (ROWS, ROWS)
    assert sl.Table(table).scan().count() == ROWS


def check_chain(place: Path, *where: str) -> None:
    """JSON files ─▶ A ─ change feed ─▶ B. A driver continues from the checkpoints of the last one.

    The second driver is killed in a batch of the second stream, and the third one does it again.
    """
    files, a = place / "in", place / "a"
    begun = place / "state_b" / "offsets"
    for number, deleted in enumerate(["id = 4", "id = 5", "id < 3"]):
        before = set(begun.glob("[0-9]*"))
        add_file(files, number)
        driver = Driver("chain", *where, files, place)
        if number == 1:
            wait_until(lambda before=before: set(begun.glob("[0-9]*")) - before or not driver.runs)  # type: ignore[misc]  # noqa: B023
            assert driver.busy, driver.said.decode()
            driver.kill()
        else:
            driver.finish()
        sl.Table(a).delete(deleted)
    add_file(files, 3)
    Driver("chain", *where, files, place).finish()
    assert [id_ for id_, _ in rows_of_a(place)] == [3, *range(6, 40)]
    assert applied(place / "b") == rows_of_a(place)


@LONG
def test_a_chain_on_a_standalone_cluster(cluster: str, tmp_path: Path) -> None:
    check_chain(tmp_path, "--master", cluster)


@LONG
def test_a_chain_over_connect(java: None, tmp_path: Path) -> None:
    from spark_cluster import connect_port

    with connect_port():
        check_chain(tmp_path, "--remote", "local[2]")


@LONG
def test_spark_submit(java: None, events: Path, tmp_path: Path) -> None:
    submit = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[1]"]
    driver = Driver(
        "ingest",
        "--query",
        events,
        tmp_path / "table",
        command=submit,
        environment={"PYSPARK_PYTHON": sys.executable},
    )
    answer = driver.finish()
    assert (answer["rows"], answer["counted"], answer["master"]) == (ROWS, ROWS, "local[1]")


@pytest.mark.parametrize("verb", ["ingest", "stream"])
def test_spark_4_2(java: None, events: Path, tmp_path: Path, verb: str) -> None:
    """The Spark that delta-spark runs on, from an environment of its own."""
    older = list(Path(__file__).parents[2].glob(".venv-delta/lib/python*/site-packages"))
    if not older:
        missing("no Spark 4.2: make interop installs one")
    environment = {"PYTHONPATH": str(older[0])}
    driver = Driver(
        verb, "--master", "local[1]", "--query", events.parent, tmp_path / "table", environment=environment
    )
    answer = driver.finish()
    assert answer["version"].startswith("4.2.")
    assert answer["counted"] == ROWS
    assert sl.Table(tmp_path / "table").scan().count() == ROWS
