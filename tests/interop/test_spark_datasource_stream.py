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
from streams import (
    FEED,
    add_file,
    applied,
    changes_to_b,
    copy,
    files_to_a,
    finished,
    rows_of_a,
    source,
)

pytestmark = pytest.mark.spark

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


def test_the_chain(spark: Any, apart: Path) -> None:
    """Both streams are restarted for every file, with deletes before and after the second one."""
    for number in range(3):
        add_file(apart / "in", number)
        files_to_a(spark, apart / "in", apart)
        if number == 1:
            sl.Table(apart / "a").delete("id % 10 < 3")
        changes_to_b(spark, apart)
        if number == 0:
            sl.Table(apart / "a").delete("id = 4")  # the next batch has it
    assert applied(apart / "b") == rows_of_a(apart)
    assert len(rows_of_a(apart)) == 23
