"""Rejects: staged by tasks, numbered by the driver, kept apart from the table."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from shredlake.delta.storage.storage import Storage
from shredlake.errors import PipelineError
from shredlake.jobs.ingest.rejects import REJECTS_SCHEMA, LineNumbers, Staging, guess, rejects_place
from shredlake.jobs.ingest.sources import SourceFile, Split

ROW = {"file": "a", "line": 0, "offset": 0, "reason": "bad", "raw": b"x"}


def staged(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*.parquet")]


def test_a_task_without_rejects_writes_no_file(tmp_path: Path) -> None:
    staging = Staging(Storage(str(tmp_path)))
    staging.take(REJECTS_SCHEMA.empty_table())
    assert (staging.close(), staging.count, staged(tmp_path)) == (None, 0, [])


def test_rejects_are_one_file_that_vanishes_with_a_failed_task(tmp_path: Path) -> None:
    good, failed = Staging(Storage(str(tmp_path))), Staging(Storage(str(tmp_path)), name="mine.parquet")
    for staging in (good, failed):
        staging.take(pa.Table.from_pylist([ROW, ROW], schema=REJECTS_SCHEMA))
    failed.abort()
    name = good.close()
    assert (staged(tmp_path), good.count) == ([name], 2)


def test_lines_go_on_from_split_to_split() -> None:
    one, two = SourceFile("a", 30, ""), SourceFile("b", 10, "")
    lines = LineNumbers([(Split(one, 20, 30, 1), 2), (Split(two, 0, 10, 0), 4), (Split(one, 0, 20, 0), 5)])
    assert lines.number("a", offset=19, line=4) == 5
    assert lines.number("a", offset=20, line=0) == 6
    assert lines.number("b", offset=0, line=0) == 1
    assert lines.number(None, None, None) is None


@pytest.mark.parametrize("given", ["t", "t/", "t/inside", "."])
def test_rejects_inside_the_table_are_refused(tmp_path: Path, given: str) -> None:
    table = Storage(str(tmp_path / "t"))
    with pytest.raises(PipelineError, match="Rejects need a separate table"):
        rejects_place(table, str(tmp_path / given), "job", {})


def test_the_default_place_lies_beside_the_table(tmp_path: Path) -> None:
    rejects, staging = rejects_place(Storage(str(tmp_path / "t")), None, "job", {})
    assert rejects.uri.endswith("/t_rejects")
    assert staging.uri.startswith(f"{rejects.uri}/_staging/job-")


@pytest.mark.parametrize(
    ("raw", "advice"),
    [
        (b"PAR1....", "Parquet"),
        ("{}".encode("utf-16-le"), "UTF-16"),
        (b"a;b;c", "CSV"),
        ('{"é": '.encode("latin-1"), "Latin-1"),
        (b'{"a": ', "truncated or damaged JSON"),
        (b"hello", "Check that this is the right file"),
    ],
)
def test_the_format_of_what_is_not_json_is_guessed(raw: bytes, advice: str) -> None:
    assert advice in guess(raw)
