"""Text cut and packed into tasks: by its bytes, and by the number of files that a task opens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shredlake as sl
from shredlake.jobs.ingest.sources import SourceFile
from shredlake.jobs.ingest.tasks import LARGEST_TASK, SMALLEST_TASK, opening_cost, text_tasks

TINY = 100_000


@pytest.mark.parametrize("folder", ["/in", "s3://bucket/in"])
@pytest.mark.parametrize("parallelism", [2, 100])
def test_many_tiny_files_are_many_tasks(folder: str, parallelism: int) -> None:
    files = [SourceFile(f"{folder}/{number}.json", 200, "now") for number in range(TINY)]
    splits, tasks = text_tasks(files, None, parallelism)
    assert [split for task in tasks for split in task] == splits
    assert [split.file for split in splits] == files
    assert len(tasks) >= max(parallelism, 48)
    most = LARGEST_TASK // opening_cost(files[0])
    assert max(map(len, tasks)) <= most
    assert max(map(len, tasks)) <= 2 * min(map(len, tasks[:-1]))


def test_a_store_is_asked_for_fewer_files_by_one_task() -> None:
    tasks = {
        folder: text_tasks([SourceFile(f"{folder}/{n}", 9, "now") for n in range(5_000)], None, 2)[1]
        for folder in ("/in", "s3://bucket/in")
    }
    assert len(tasks["s3://bucket/in"]) > len(tasks["/in"])


def test_a_few_small_files_are_one_task(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}.ndjson").write_text(json.dumps({"a": number}) + "\n")
    assert sl.ingest(str(tmp_path), str(tmp_path / "t")).files == 1


def test_no_file_is_left_over_for_a_task_of_its_own() -> None:
    files = [SourceFile(f"/in/{number}.json", 30 if number < 150 else 10, "now") for number in range(300)]
    assert [len(task) for task in text_tasks(files, None, 2)[1]] == [150, 150]


def test_large_text_is_as_many_tasks_as_cores_or_a_multiple(tmp_path: Path) -> None:
    lines = tmp_path / "lines.ndjson"
    with open(lines, "wb") as file:
        file.write(b'{"a": 1}\n')
        file.truncate(5 * SMALLEST_TASK)  # sparse
    file_of = SourceFile(str(lines), 5 * SMALLEST_TASK, "now", multi_line=False)
    assert len(text_tasks([file_of], None, 4)[1]) == 4
    assert len(text_tasks([file_of], None, 100)[1]) == 5


def test_what_the_user_says_is_bytes_of_text() -> None:
    files = [SourceFile(f"/in/{number}.json", 1000, "now") for number in range(100)]
    assert [len(task) for task in text_tasks(files, 10_000, 2)[1]] == [10] * 10
