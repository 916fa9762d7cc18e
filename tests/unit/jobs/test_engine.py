"""The engine on threads: one result per task in their order, progress as tasks end, and sorted ranges."""

from __future__ import annotations

import ast
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.schema.types import from_arrow
from shredlake.jobs.engine import Answer, LocalEngine, SortJob, unwatched

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int64())])


def test_results_are_in_the_order_of_the_tasks() -> None:
    later_done = threading.Event()

    def work(task: int) -> str:
        if task == 0:
            assert later_done.wait(30)
        later_done.set()
        return f"result {task}"

    assert LocalEngine(2).run(range(4), work) == [f"result {task}" for task in range(4)]


def test_without_tasks_nothing_happens() -> None:
    assert LocalEngine(2).run([], lambda task: "never", lambda *_: pytest.fail("progress")) == []


def test_progress_sums_up_the_rows_and_rejects_of_finished_tasks() -> None:
    seen: list[tuple[int, int, int]] = []
    LocalEngine(1).run(
        [1, 2, 3],
        lambda task: Answer("x", task * 10, task),
        lambda *counts: seen.append(counts),
    )
    assert seen == [(1, 10, 1), (2, 30, 3), (3, 60, 6)]


def test_an_error_of_a_task_is_that_of_the_run() -> None:
    def work(task: int) -> str:
        raise sl.TableError(f"task {task}")

    with pytest.raises(sl.TableError, match="task 7"):
        LocalEngine(2).run([7], work)


def test_a_text_is_an_answer_without_counts() -> None:
    assert Answer.of("x") == Answer("x", 0, 0)
    answer = Answer("x", 1, 2)
    assert Answer.of(answer) is answer
    assert unwatched(1) is None  # type: ignore[func-returns-value]


@pytest.mark.parametrize(("threads", "expected"), [(3, 3), (None, os.cpu_count()), (0, os.cpu_count())])
def test_all_cores_are_used_unless_a_number_is_given(threads: int | None, expected: int) -> None:
    engine = LocalEngine(threads)
    assert (engine.parallelism, engine.in_process) == (expected, True)


def test_sort_keys_are_checked_before_any_work() -> None:
    engine = LocalEngine(1)
    engine.check_sort_keys([])
    engine.check_sort_keys(["id", "v:ts::bigint DESC"])
    for wrong in ("id +", "v:a::nonsense"):
        with pytest.raises(sl.ShredlakeError):
            engine.check_sort_keys([wrong])


def sorting(write: list[list[tuple[str, int]]], parts: int = 2) -> SortJob[int]:
    def read(task: int) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"p": ["b", "a"], "k": [task, 10 - task]}, SCHEMA)

    def written(batches: Iterator[pa.RecordBatch]) -> str:
        rows = [(row["p"], row["k"]) for batch in batches for row in batch.to_pylist()]
        write.append(rows)
        return str(rows)

    return SortJob(read, from_arrow(SCHEMA), ("p",), ("k",), parts, written)


def test_rows_are_sorted_by_partition_and_then_by_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ranges: list[list[tuple[str, int]]] = []
    seen: list[int] = []
    results = LocalEngine(1).sort(range(4), sorting(ranges), lambda done, *_: seen.append(done))
    assert sorted(results) == sorted(map(str, ranges))
    assert [row for text in results for row in ast.literal_eval(text)] == [
        *(("a", key) for key in (7, 8, 9, 10)),
        *(("b", key) for key in range(4)),
    ]
    assert seen == list(range(1, len(ranges) + 1))
    assert list(tmp_path.iterdir()) == []


def test_a_sort_that_fails_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def broken(task: int) -> Iterator[pa.RecordBatch]:
        raise OSError("gone")

    job = SortJob(broken, from_arrow(SCHEMA), (), ("k",), 1, lambda batches: "")
    with pytest.raises(OSError, match="gone"):
        LocalEngine(1).sort([1], job)
    assert list(tmp_path.iterdir()) == []
