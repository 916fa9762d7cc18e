"""Streams in this process, without Spark: batches that are cut off and repeated."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import ShredlakeError
from stream_tables import made, some

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")

from shredlake.spark.datasource.options import STREAM_READ, STREAM_WRITE, SourceOptions


class Query:
    """Does what Spark does with a source and a sink: offsets first, then rows, then two commits.

    `until` is the step at which it dies: "offset" (the offset is kept, nothing is written), "rows" (rows are
    written, not committed), "commit" (the sink has committed, Spark does not know).
    """

    def __init__(self, source: Path, sink: Path, state: Path, **options: str) -> None:
        from shredlake.spark.datasource.changes import query_of
        from shredlake.spark.datasource.opened import storage_of
        from shredlake.spark.datasource.stream_read import TableStream
        from shredlake.spark.snapshots import latest

        state.mkdir(exist_ok=True)
        self.state, self.sink = state, sink
        if not (state / "metadata").exists():
            (state / "metadata").write_text(json.dumps({"id": "the-query"}))
        given = {name.lower(): value for name, value in options.items()}
        reading = SourceOptions.of({"path": str(source), **given}, STREAM_READ)
        self.schema = query_of(latest(storage_of(reading)), reading)[1]
        self.reader = TableStream(reading, self.schema)

    def run(self, until: str | None = None) -> None:
        """Runs batches until all available rows are processed, or dies in the first batch that has rows."""
        pending = self._kept("pending")
        if pending is not None:
            self._batch(pending[0], pending[1], pending[2], None)
        done = self._kept("done") or [self.reader.initialOffset(), -1]
        start, number = done
        self._keep("done", [start, number])
        while (end := self.reader.latestOffset(start, None)) != start:
            number += 1
            self._keep("pending", [start, end, number])
            if until == "offset":
                return
            if self._batch(start, end, number, until):
                return
            start = end

    def _batch(self, start: Any, end: Any, number: int, until: str | None) -> bool:
        tasks = self.reader.partitions(start, end)
        messages = [self._writer().write(self.reader.read(task)) for task in tasks]
        if until == "rows":
            return True
        self._writer().commit(messages, number)
        if until == "commit":
            return True
        self._keep("done", [end, number])
        (self.state / "pending").unlink()
        return False

    def _writer(self) -> Any:
        from shredlake.spark.datasource.stream_write import StreamWriter

        given = {"path": str(self.sink), "checkpointlocation": str(self.state)}
        return StreamWriter(SourceOptions.of(given, STREAM_WRITE), self.schema, False)

    def _kept(self, name: str) -> Any:
        file = self.state / name
        return json.loads(file.read_text()) if file.exists() else None

    def _keep(self, name: str, value: Any) -> None:
        (self.state / name).write_text(json.dumps(value))


def applied(place: Path) -> list[tuple[int, int]]:
    """The rows that are left if the changes in a table are applied in the order of their versions."""
    columns = ["id", "v:n::bigint AS n", "_change_type", "_commit_version"]
    changes = sl.Table(place).scan(columns).to_arrow().to_pylist()
    left: list[tuple[int, int]] = []
    for row in sorted(changes, key=lambda row: (row["_commit_version"], row["_change_type"])):
        key = (row["id"], row["n"])
        if row["_change_type"] == "insert":
            left.append(key)
        else:
            left.remove(key)
    return sorted(left)


def rows_of(place: Path) -> list[tuple[int, int]]:
    rows = sl.Table(place).scan(["id", "v:n::bigint AS n"]).to_arrow().to_pylist()
    return sorted((row["id"], row["n"]) for row in rows)


def test_a_batch_takes_so_many_bytes(tmp_path: Path) -> None:
    table = made(tmp_path / "a", (1,), (2,), (3,), (4,), (5,))
    largest = max(table.files().column("size").to_pylist())

    def batches(name: str, **options: str) -> int:
        query = Query(tmp_path / "a", tmp_path / name, tmp_path / f"{name}_state", **options)
        query.run()
        assert sl.Table(tmp_path / name).scan().count() == 5
        return int(query._kept("done")[1]) + 1

    assert batches("all") == 1
    assert batches("two", maxBytesPerTrigger=str(2 * largest)) == 3
    assert batches("one", maxBytesPerTrigger="1b") == 5  # a file is taken, however large
    assert batches("both", maxBytesPerTrigger=str(9 * largest), maxFilesPerTrigger="3") == 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_changes_arrive_once_wherever_the_query_dies(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    table = made(tmp_path / "a", (0, 1))
    deaths: Iterable[str | None] = [None, "offset", "rows", "commit"]
    for step in range(8):
        table.refresh()
        if chance.random() < 0.3:
            table.delete(f"id % 5 = {chance.randrange(5)}")
        else:
            table.append(some(*range(step * 10 + 10, step * 10 + 10 + chance.randrange(1, 6))))
        if chance.random() < 0.3:
            sl.optimize(tmp_path / "a")
        query = Query(tmp_path / "a", tmp_path / "b", tmp_path / "state", readChangeFeed="true",
                      maxFilesPerTrigger=str(chance.randrange(1, 4)))  # fmt: skip
        query.run(chance.choice(list(deaths)))
    Query(tmp_path / "a", tmp_path / "b", tmp_path / "state", readChangeFeed="true").run()
    assert applied(tmp_path / "b") == rows_of(tmp_path / "a")
    assert list(sl.Table(tmp_path / "b").snapshot.transactions) == ["the-query"]


def test_new_rows_only(tmp_path: Path) -> None:
    table = made(tmp_path / "a", (1, 2), (3,))
    options = {"columns": "id, v:n::bigint AS n", "where": "id <> 2", "skipChangeCommits": "true"}
    for death in ("commit", None):
        Query(tmp_path / "a", tmp_path / "b", tmp_path / "state", **options).run(death)
    table.delete("id = 1")
    table.append(some(4))
    Query(tmp_path / "a", tmp_path / "b", tmp_path / "state", **options).run()
    found = sl.Table(tmp_path / "b").scan().to_arrow().sort_by("id").to_pylist()
    assert found == [{"id": n, "n": n} for n in (1, 3, 4)]
    assert len(list((tmp_path / "b").glob("*.parquet"))) == sl.Table(tmp_path / "b").files().num_rows


def test_a_changed_schema_stops_a_running_query(tmp_path: Path) -> None:
    table = made(tmp_path / "a", (1,))
    query = Query(tmp_path / "a", tmp_path / "b", tmp_path / "state")
    query.run()
    table.set_properties({"delta.checkpointInterval": "20"})  # not the schema
    table.append(some(2))
    query.run()
    table.add_column(pa.field("note", pa.string()))
    with pytest.raises(ShredlakeError, match="Start the query again"):
        query.run()
    Query(tmp_path / "a", tmp_path / "c", tmp_path / "state").reader.latestOffset(query._kept("done")[0])
    assert rows_of(tmp_path / "b") == [(1, 1), (2, 2)]


def test_a_sink_that_changes_stops_the_query(tmp_path: Path) -> None:
    made(tmp_path / "a", (1,))
    query = Query(tmp_path / "a", tmp_path / "b", tmp_path / "state")
    query.run()
    writer = query._writer()
    message = writer.write(iter([]))
    sl.Table(tmp_path / "b").add_column(pa.field("note", pa.string()))
    with pytest.raises(ShredlakeError, match="was not committed: start the query again"):
        query._writer().commit([message], 9)
