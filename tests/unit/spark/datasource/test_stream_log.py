"""Positions in a table's log, limits of batches, and versions that change rows, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

import shredlake as sl
from shredlake.delta.log.snapshot import load_snapshot
from shredlake.delta.storage.storage import Storage
from shredlake.errors import PipelineError, ShredlakeError, TableError, VersionNotFound
from stream_tables import made, some

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")

from shredlake.spark.datasource.options import STREAM_READ, SourceOptions
from shredlake.spark.datasource.stream_log import EVERYTHING, Limits, Position, StreamLog


def log_of(place: Path, **options: str) -> StreamLog:
    snapshot = load_snapshot(Storage(place.as_uri()))
    given = {name.lower(): value for name, value in options.items()}
    return StreamLog(snapshot.without_files(), SourceOptions.of({"path": str(place), **given}, STREAM_READ))


def test_positions_and_limits(tmp_path: Path) -> None:
    table = made(tmp_path / "t", (1, 2), (3,), (4,))
    log = log_of(tmp_path / "t")
    start = log.start()
    assert start == Position(3, initial=True)
    table.append(some(5))
    table.append(some(6))
    seen: list[int] = []
    at, steps = start, 0
    while (reached := log.advance(at, log.latest(), Limits(2, float("inf")))) != at:
        seen += [file.version for file in log.between(at, reached)]
        at, steps = reached, steps + 1
    assert (seen, steps, at) == ([3, 3, 3, 4, 5], 3, Position(6))
    tiny = log.advance(start, log.latest(), Limits(float("inf"), 1))  # a file is taken, however large
    assert tiny == Position(3, 1, initial=True)
    assert log.advance(start, log.latest(), EVERYTHING) == Position(6)


def test_where_a_stream_starts(tmp_path: Path) -> None:
    made(tmp_path / "t", (1,), (2,))
    assert log_of(tmp_path / "t", startingVersion="1").start() == Position(1)
    assert log_of(tmp_path / "t", startingVersion="latest").start() == Position(3)
    assert log_of(tmp_path / "t", startingTimestamp="2000-01-01").start() == Position(0)
    assert log_of(tmp_path / "t", startingTimestamp="2100-01-01").start() == Position(3)
    with pytest.raises(VersionNotFound, match="no version 9"):
        log_of(tmp_path / "t", startingVersion="9").start()
    with pytest.raises(PipelineError, match="not the table of this checkpoint"):
        Position.of(Position(1).offset("another"), load_snapshot(Storage((tmp_path / "t").as_uri())))


def test_versions_that_change_rows(tmp_path: Path) -> None:
    table = made(tmp_path / "t", (1, 2), (3,))
    table.delete("id = 3")  # version 3 only removes
    table.delete("id = 1")  # version 4 rewrites
    sl.optimize(tmp_path / "t")

    def versions(**options: str) -> list[int]:
        log = log_of(tmp_path / "t", startingVersion="0", **options)
        end = log.advance(log.start(), log.latest(), EVERYTHING)
        return [file.version for file in log.between(log.start(), end)]

    assert versions(skipChangeCommits="true") == [1, 2]
    assert versions(ignoreChanges="true") == [1, 2, 4]
    assert versions(readChangeFeed="true") == [1, 2, 3, 4]
    with pytest.raises(TableError, match="version 3 deleted rows"):
        versions()
    with pytest.raises(TableError, match="version 4 changed rows"):
        versions(ignoreDeletes="true")


def test_a_version_of_the_feed_is_taken_as_a_whole(tmp_path: Path) -> None:
    table = made(tmp_path / "t", (1, 2, 3, 4))
    table.overwrite(some(1, 2), where="id < 3")
    log = log_of(tmp_path / "t", startingVersion="1", readChangeFeed="true")
    assert len(log.files(Position(2))) > 1
    assert log.advance(Position(1), log.latest(), Limits(1, 1)) == Position(2)
    assert log.advance(Position(2), log.latest(), Limits(1, 1)) == Position(3)


def test_positions_are_kept_as_offsets(tmp_path: Path) -> None:
    snapshot = made(tmp_path / "t").snapshot
    for position in (Position(0), Position(3, 2), Position(5, 1, initial=True)):
        assert Position.of(position.offset(snapshot.metadata.id), snapshot) == position
    with pytest.raises(PipelineError, match="Start with a new checkpointLocation"):
        Position.of({"version": 1, "index": 0, "initial": False}, snapshot)


def test_files_between_positions(tmp_path: Path) -> None:
    made(tmp_path / "t", (1,), (2,), (3,))
    log = log_of(tmp_path / "t", startingVersion="0")

    def versions(start: Position, end: Position) -> list[int]:
        return [one.version for one in log.between(start, end)]

    assert versions(Position(3, initial=True), Position(4)) == [3, 3, 3]
    assert versions(Position(3, 1, initial=True), Position(3, 2, initial=True)) == [3]
    assert versions(Position(1), Position(3)) == [1, 2]
    assert versions(Position(1), Position(2, 1)) == [1, 2]
    assert versions(Position(2), Position(2)) == []


def test_both_starts_are_refused(tmp_path: Path) -> None:
    made(tmp_path / "t", (1,))
    with pytest.raises(PipelineError, match="not at both"):
        log_of(tmp_path / "t", startingVersion="1", startingTimestamp="2026-01-01").start()


def test_a_commit_that_is_gone_stops_the_stream(tmp_path: Path) -> None:
    made(tmp_path / "t", (1,), (2,))
    log = log_of(tmp_path / "t", startingVersion="1")
    (tmp_path / "t" / "_delta_log" / f"{1:020}.json").unlink()
    with pytest.raises(VersionNotFound, match="commit 1 is no longer in the log"):
        log.files(Position(1))


def test_the_feed_needs_versions_that_recorded_it(tmp_path: Path) -> None:
    table = made(tmp_path / "t", (1,))
    table.set_properties({"delta.enableChangeDataFeed": "false"})
    table.append(some(2))
    log = log_of(tmp_path / "t", startingVersion="1", readChangeFeed="true")
    assert [one.version for one in log.files(Position(1))] == [1]
    with pytest.raises(ShredlakeError, match="enableChangeDataFeed"):
        log.files(Position(2))
