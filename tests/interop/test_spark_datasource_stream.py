"""`format("shredlake")` as the source and the sink of streams: positions, limits, changes, restarts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from long_runs import LONG
from shredlake import spark as sls
from streams import finished

pytestmark = pytest.mark.spark

FEED = {"delta.enableChangeDataFeed": "true", "delta.enableVariantShredding": "true"}
SCHEMA = pa.schema([("id", pa.int64()), ("v", sl.variant())])


def some(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "v": sl.from_json(pa.array([f'{{"n": {n}}}' for n in ids]))})


def made(place: Path, *batches: tuple[int, ...], properties: dict[str, str] | None = None) -> sl.Table:
    table = sl.Table.create(place, SCHEMA, properties=FEED if properties is None else properties)
    for batch in batches:
        table.append(some(*batch))
    return table


def ids(place: Path) -> list[int]:
    return sorted(sl.Table(place).scan(["id"]).to_arrow().column("id").to_pylist())


def source(spark: Any, place: Path, **options: Any) -> Any:
    return spark.readStream.format("shredlake").options(**options).load(str(place))


def copy(frame: Any, place: Path, state: Path, **options: Any) -> Any:
    """Runs the query until it has processed all available rows, and returns it."""
    writing = frame.writeStream.format("shredlake").option("checkpointLocation", str(state))
    return finished(writing.options(**options).trigger(availableNow=True), place)


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_new_rows_are_copied_once(spark: Any, apart: Path) -> None:
    table = made(apart / "a", (1, 2), (3,))
    frame = source(spark, apart / "a", maxFilesPerTrigger=1)
    copy(frame, apart / "b", apart / "state")
    assert ids(apart / "b") == [1, 2, 3]
    table.append(some(4))
    query = copy(frame, apart / "b", apart / "state")
    assert ids(apart / "b") == [1, 2, 3, 4]
    transactions = sl.Table(apart / "b").snapshot.transactions
    assert list(transactions) == [query.id]
    assert copy(frame, apart / "b", apart / "state").lastProgress is None or ids(apart / "b") == [1, 2, 3, 4]


@LONG
def test_a_repeated_batch_is_skipped(spark: Any, apart: Path) -> None:
    made(apart / "a", (1, 2))
    frame = source(spark, apart / "a", columns="id, v:n::bigint AS n", where="id > 1")
    copy(frame, apart / "b", apart / "state")
    for name in ("0", ".0.crc"):  # as if the query had died after its commit to the table
        (apart / "state" / "commits" / name).unlink()
    copy(frame, apart / "b", apart / "state")
    assert sl.Table(apart / "b").scan(["n"]).to_arrow().to_pylist() == [{"n": 2}]
    assert len(list((apart / "b").glob("*.parquet"))) == 1  # the files of the repetition are gone


@LONG
def test_a_changed_schema_stops_the_query(spark: Any, apart: Path) -> None:
    table = made(apart / "a", (1,))
    frame = source(spark, apart / "a")
    copy(frame, apart / "b", apart / "state")
    table.add_column(pa.field("note", pa.string()))
    table.append(some(2).append_column("note", pa.array(["x"])))
    with pytest.raises(Exception, match="load the table again"):
        copy(frame, apart / "b", apart / "state")
    again = source(spark, apart / "a").drop("note")
    copy(again, apart / "b", apart / "state")
    assert ids(apart / "b") == [1, 2]


@LONG
def test_complete_mode_replaces_the_rows(spark: Any, apart: Path) -> None:
    table = made(apart / "a", (1, 2))
    counted = source(spark, apart / "a").groupBy().count()
    for expected in (2, 3):
        writing = counted.writeStream.format("shredlake").outputMode("complete")
        writing = writing.option("checkpointLocation", str(apart / "state")).trigger(availableNow=True)
        finished(writing, apart / "b")
        found = sl.Table(apart / "b").scan().to_arrow().to_pylist()
        assert found == [{"count": expected}]
        table.append(some(3))


def test_mistakes_in_streams(spark: Any, apart: Path) -> None:
    made(apart / "a", (1,))
    with pytest.raises(Exception, match="an option of a read, not of a stream read"):
        copy(source(spark, apart / "a", version=1), apart / "b", apart / "s1")
    with pytest.raises(Exception, match="did you mean 'startingVersion'"):
        source(spark, apart / "a", startVersion=1)
    with pytest.raises(Exception, match="an option of a write, not of a stream write"):
        copy(source(spark, apart / "a"), apart / "b", apart / "s2", replaceWhere="id = 1")


def test_changes_as_a_batch(spark: Any, apart: Path) -> None:
    table = made(apart / "a", (1, 2))
    table.delete("id = 1")

    def changes(**options: Any) -> Any:
        reader = spark.read.format("shredlake").option("readChangeFeed", "true")
        return reader.options(**options).load(str(apart / "a")).collect()

    rows = sorted((row.id, row._change_type, row._commit_version) for row in changes(startingVersion=1))
    assert rows == [(1, "delete", 2), (1, "insert", 1), (2, "insert", 1)]
    assert [tuple(row) for row in changes(startingVersion=2, columns="id, _change_type AS what")] == [
        (1, "delete")
    ]
    assert len(changes(startingVersion=1, endingVersion=1)) == 2
    with pytest.raises(Exception, match="needs startingVersion"):
        changes()


def applied(place: Path) -> list[tuple[int, int]]:
    """The rows that are left if the changes in a table are applied in the order of their versions."""
    changes = sl.Table(place).scan(["id", "v:n::bigint AS n", "_change_type", "_commit_version"]).to_arrow()
    left: list[tuple[int, int]] = []
    for row in sorted(changes.to_pylist(), key=lambda row: (row["_commit_version"], row["_change_type"])):
        key = (row["id"], row["n"])
        if row["_change_type"] in ("insert", "update_postimage"):
            left.append(key)
        else:
            left.remove(key)
    return sorted(left)


def run_chain(spark: Any, place: Path, rounds: int = 3) -> None:
    """JSON files ─ stream ─▶ A ─ change feed ─ readStream ─ writeStream ─▶ B, restarted, with deletes."""
    (place / "in").mkdir()
    computed = {"id": "v:id::bigint", "n": "v:n::bigint"}
    options: dict[str, Any] = {"properties": FEED, "computed": computed}
    for round_ in range(rounds):
        lines = [f'{{"id": {round_ * 10 + n}, "n": {n}}}' for n in range(10)]
        (place / "in" / f"{round_}.ndjson").write_text("\n".join(lines) + "\n")
        sls.stream(spark, str(place / "in"), place / "a", place / "state_a", **options).awaitTermination()
        if round_ == 1:
            sl.Table(place / "a").delete("id % 10 < 3")
        frame = source(spark, place / "a", readChangeFeed="true", maxFilesPerTrigger=1)
        copy(frame, place / "b", place / "state_b")
        if round_ == 0:
            sl.Table(place / "a").delete("id = 4")  # the next batch has it
    copy(source(spark, place / "a", readChangeFeed="true"), place / "b", place / "state_b")
    table = sl.Table(place / "a").scan(["id", "v:n::bigint AS n"]).to_arrow().to_pylist()
    expected = sorted((row["id"], row["n"]) for row in table)
    assert applied(place / "b") == expected
    assert len(expected) == rounds * 10 - 7


def test_the_chain(spark: Any, apart: Path) -> None:
    run_chain(spark, apart)
