"""Jobs on threads: results in order, a bounded number ahead, the rest cancelled when the reader stops."""

from __future__ import annotations

import ast
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
import source_trees
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.read import scan as table_scan
from shredlake.delta.read.data_file import DataFile
from shredlake.runner import STORAGE_CALLS, OrderedRunner, as_done, call_storage, in_order
from source_trees import SOURCE


def jobs(started: list[int], count: int = 100) -> Iterator[Callable[[], int]]:
    def job(number: int) -> int:
        started.append(number)
        for _ in range(number % 3 * 50):  # later jobs overtake this one
            os.sched_yield()
        return number

    return (partial(job, number) for number in range(count))


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("gradual", [False, True])
def test_results_are_in_the_order_of_the_jobs(threads: int, gradual: bool) -> None:
    with OrderedRunner(threads) as runner:
        assert list(runner.run(jobs([]), gradual=gradual)) == list(range(100))


def test_a_reader_that_stops_cancels_the_rest() -> None:
    started: list[int] = []
    results = in_order(jobs(started), threads=3)
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert len(started) <= 4


def test_a_gradual_run_starts_with_one_job() -> None:
    started: list[int] = []
    with OrderedRunner(8) as runner:
        results = runner.run(jobs(started), gradual=True)
        assert next(results) == 0
        assert started == [0]
        assert next(results) == 1
        assert len(started) <= 3


def test_one_job_starts_no_thread() -> None:
    with OrderedRunner(threads=2) as runner:
        before = threading.active_count()
        assert list(runner.run([threading.current_thread])) == [threading.current_thread()]
        assert threading.active_count() == before


def test_two_runs_share_the_threads() -> None:
    seen: set[str] = set()

    def job() -> None:
        seen.add(threading.current_thread().name)

    with OrderedRunner(2) as runner:
        for _ in runner.run(job for _ in range(20)):
            list(runner.run(job for _ in range(3)))
    assert len(seen) <= 2


def test_an_error_comes_in_its_turn() -> None:
    def fail() -> int:
        raise ValueError("third")

    results = in_order([lambda: 1, lambda: 2, fail], threads=2)
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(ValueError, match="third"):
        next(results)


def test_storage_calls_wait_side_by_side() -> None:
    """Each call waits until all of them have started; one after the other, they would wait forever."""
    together = threading.Barrier(STORAGE_CALLS, timeout=30)

    def call(number: int) -> int:
        together.wait()
        return number

    assert call_storage(call, range(STORAGE_CALLS)) == list(range(STORAGE_CALLS))


def test_finished_jobs_do_not_wait_for_a_slow_one() -> None:
    others_done = threading.Event()

    def slow() -> str:
        assert others_done.wait(30)
        return "slow"

    results = as_done([slow, *(lambda: "quick" for _ in range(5))], threads=2)
    assert sorted(next(results) for _ in range(5)) == [(number, "quick") for number in range(1, 6)]
    others_done.set()
    assert list(results) == [(0, "slow")]


def test_an_error_cancels_the_jobs_that_have_not_started() -> None:
    started: list[int] = []

    def fail() -> int:
        raise ValueError("first")

    with pytest.raises(ValueError, match="first"):
        list(as_done([fail, *jobs(started, 10_000)], threads=2))
    assert len(started) < 10_000


THREADS = {
    "kernels/threads.py": "the pieces of one column",
    "jobs/report.py": "the progress bar",
    "spark/engine.py": "the progress of Spark's tasks",
    "spark/start_messages.py": "what Spark prints while it starts",
}
"""Modules that start threads beside the pools of the runner, and what for."""


def makers(*names: str) -> set[str]:
    """The modules that import one of these, or take it from its module."""
    return {
        path.relative_to(SOURCE).as_posix()
        for path in source_trees.modules()
        for node in source_trees.nodes(path)
        if (isinstance(node, ast.alias) and node.name in names)
        or (isinstance(node, ast.Attribute) and node.attr in names)
    }


def test_pools_are_made_in_one_place() -> None:
    assert makers("ThreadPoolExecutor", "ThreadPool") == {"runner.py"}
    assert makers("ProcessPoolExecutor", "Pool") == {"cli/verbs/demo_data.py"}
    assert makers("Thread") == set(THREADS)


@pytest.fixture
def table(tmp_path: object) -> sl.Table:
    made = sl.Table.create(f"{tmp_path}/t", pa.schema([("id", pa.int64())]))
    for number in range(12):
        made.append(pa.table({"id": [number, number]}))
    return made


def test_a_limited_query_opens_few_files(table: sl.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    class Counted(DataFile):
        def __init__(self, snapshot: Snapshot, add: Add, **options: Any) -> None:
            opened.append(add.path)
            super().__init__(snapshot, add, **options)

    monkeypatch.setattr(table_scan, "DataFile", Counted)
    rows = table.scan(["id"], threads=4).stream()
    next(rows)
    rows.close()  # type: ignore[attr-defined]
    assert len(opened) == 1
    opened.clear()
    batches = table.scan(["id"], threads=4).to_batches()
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert len(opened) <= 5


@pytest.mark.parametrize("large", [0, 1 << 40])
def test_a_scan_has_one_pool_of_threads(table: sl.Table, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large files are cut into windows that run on the threads of the scan."""
    pools: list[int] = []
    real = OrderedRunner.__init__

    def counted(self: OrderedRunner, threads: int) -> None:
        pools.append(threads)
        real(self, threads)

    monkeypatch.setattr("shredlake.delta.read.data_file.LARGE_FILE", large)
    monkeypatch.setattr(OrderedRunner, "__init__", counted)
    scan = table.scan(["id + 1 AS next"], "id >= 3", threads=3)
    assert sorted(scan.to_arrow()["next"].to_pylist()) == sorted([n + 1 for n in range(3, 12)] * 2)
    assert scan.count() == 18
    assert scan.explain().rows == 18
    assert pools == [3, 3, 3]
