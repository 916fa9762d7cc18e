"""The change data feed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from delta_tables import (
    FEED,
    ID_AND_VARIANT,
    SHREDDED,
    numbered,
    python,
    rows_of,
)


def changes(table: sl.Table, start: int, end: int | None = None) -> list[tuple[int, str, int]]:
    rows = table.changes(start, end).to_pylist()
    return sorted((row["_commit_version"], row["_change_type"], row["id"]) for row in rows)


def test_changes(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED | FEED)
    table.append(numbered(0, 4))
    table.append(numbered(10, 12))
    table.delete("id = 1 or id >= 10")
    table.overwrite(numbered(20, 21))
    table.overwrite(rows_of([20, 21], [{"a": 20}, {"a": 21}]), where="id >= 20")
    assert changes(table, 1, 2) == [(1, "insert", n) for n in range(4)] + [
        (2, "insert", 10),
        (2, "insert", 11),
    ]
    assert changes(table, 3, 3) == [(3, "delete", 1), (3, "delete", 10), (3, "delete", 11)]
    assert changes(table, 4, 4) == [(4, "delete", 0), (4, "delete", 2), (4, "delete", 3), (4, "insert", 20)]
    assert changes(table, 5) == [(5, "delete", 20), (5, "insert", 20), (5, "insert", 21)]
    assert len(changes(table, 0)) == 4 + 2 + 3 + 4 + 3
    found = table.changes(3, 3)
    assert found.schema.names == ["id", "v", "_change_type", "_commit_version", "_commit_timestamp"]
    assert [row["v"]["a"] for row in python(found)] == [row["id"] for row in python(found)]
    assert found.column("_commit_timestamp")[0].as_py() == table.history()[2]["timestamp"]
    files = list((tmp_path / "_change_data").rglob("*.parquet"))
    assert files
    assert pq.read_schema(files[0]).names[-1] == "_change_type"


def test_changes_of_a_partitioned_table(tmp_path: Path) -> None:
    schema = pa.schema([("p", pa.string()), ("id", pa.int64())])
    table = sl.Table.create(tmp_path, schema, ["p"], properties=FEED)
    table.append(pa.table({"p": ["a", "a", "b"], "id": [1, 2, 3]}))
    table.delete("id <> 2")
    rows = table.changes(2).to_pylist()
    assert sorted((row["p"], row["id"], row["_change_type"]) for row in rows) == [
        ("a", 1, "delete"),
        ("b", 3, "delete"),
    ]


def test_changes_that_were_not_recorded(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(numbered(0, 4))
    with pytest.raises(
        sl.TableError, match=r"has no change data feed at version 1; set delta.enableChangeDataFeed"
    ):
        table.changes(1)
    table.set_properties(FEED)
    with pytest.raises(sl.VersionNotFound, match="changes of versions 2 to 9: the table has 0 to 2"):
        table.changes(2, 9)
    assert table.changes(2).num_rows == 0
    table.delete("id = 1")
    assert table.changes(2).column("id").to_pylist() == [1]
    # What happened before the feed was on can't be told, however late the end is.
    with pytest.raises(sl.TableError, match="has no change data feed at version 1"):
        table.changes(1, 3)
    table.set_properties({"delta.enableChangeDataFeed": None})
    with pytest.raises(sl.TableError, match="has no change data feed at version 4"):
        table.changes(2)
    assert table.changes(2, 3).column("id").to_pylist() == [1]


def test_scans_do_not_see_the_change_column(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=FEED)
    table.append(numbered(0, 4))
    table.delete("id = 1")
    assert table.scan().to_arrow().schema.names == ["id", "v"]
