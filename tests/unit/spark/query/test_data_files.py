"""The files of a scan as Arrow columns: their places, their partition values, and what tells lists apart."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import PROTOCOL, add, metadata, write_commit
from shredlake.errors import PathRefused
from shredlake.spark.query.data_files import DataFiles, value_name


def files(place: Path, *adds: dict[str, Any], **given: Any) -> DataFiles:
    """The files of a table whose log another writer wrote."""
    write_commit(place, 0, [PROTOCOL, metadata(**given), *adds])
    snapshot = sl.Table(place).snapshot
    return DataFiles.of(snapshot, np.ones(len(adds), dtype=bool))


def by_name(found: DataFiles, values: pa.Array) -> dict[str, Any]:
    """Values by the path that the log has."""
    return dict(zip(found.table.column("path").to_pylist(), values.to_pylist(), strict=True))


PATHS = {
    "a.parquet": "/a.parquet",
    "day=1/b c.parquet": "/day=1/b c.parquet",
    "100%25.parquet": "/100%.parquet",
    "%3A/a%2520b.parquet": "/:/a%20b.parquet",
    "ü.parquet": "/ü.parquet",
}


@pytest.mark.parametrize("name", PATHS)
def test_paths_are_decoded_and_literal(tmp_path: Path, name: str) -> None:
    [found] = files(tmp_path, add(name)).paths.to_pylist()
    assert found == f"file://{tmp_path}{PATHS[name]}"


def test_all_paths_are_decoded_if_any_must_be(tmp_path: Path) -> None:
    found = files(tmp_path, *map(add, PATHS))
    assert by_name(found, found.paths) == {name: f"file://{tmp_path}{text}" for name, text in PATHS.items()}


def test_files_elsewhere_keep_their_address_if_they_may_be_read(tmp_path: Path) -> None:
    elsewhere = "s3://bucket/other/a.parquet"
    outside = files(tmp_path, add(elsewhere), add("b.parquet"))
    with pytest.raises(PathRefused, match="outside the table"):
        _ = outside.paths
    snapshot = sl.Table(tmp_path, storage_options={"allow_paths": ["s3://bucket/other"]}).snapshot
    found = DataFiles.of(snapshot, np.ones(2, dtype=bool))
    places = {elsewhere: "s3a://bucket/other/a.parquet", "b.parquet": f"file://{tmp_path}/b.parquet"}
    assert by_name(found, found.paths) == places
    assert by_name(found, found.names) == {elsewhere: "a.parquet", "b.parquet": "b.parquet"}
    assert by_name(found, found.folders) == {name: place.rpartition("/")[0] for name, place in places.items()}


def test_files_that_spark_leaves_out(tmp_path: Path) -> None:
    hidden = ["_a.parquet", "d/.b.parquet", "c.parquet._COPYING_"]
    seen = ["_d/a.parquet", "a_b.parquet", "a.b.parquet"]
    found = files(tmp_path, *map(add, [*hidden, *seen]), add("empty.parquet", size=0))
    assert {name for name, marked in by_name(found, found.invisible).items() if marked} == {
        *hidden,
        "empty.parquet",
    }


def test_filtering_keeps_files_and_layouts_together(tmp_path: Path) -> None:
    tagged = add("b.parquet", size=5, tags={"shredlake.layout": "{}"})
    found = files(tmp_path, add("a.parquet"), tagged)
    assert found.filter(pa.array([True, True])) is found
    is_b = pa.array([path == "b.parquet" for path in found.table.column("path").to_pylist()])
    one = found.filter(is_b)
    assert (len(one), one.size, found.size) == (1, 5, 6)
    assert [file.path for file in one.adds] == ["b.parquet"]
    assert len(one.layouts) == 1
    nothing = found.filter(pa.array([False, False]))
    assert (len(nothing), nothing.size, nothing.adds, nothing.paths.to_pylist()) == (0, 0, (), [])


def test_a_digest_tells_lists_apart(tmp_path: Path) -> None:
    """By path, size, time, partition values, deletion vector and table: of equal lists it is the same."""
    vector = {"storageType": "u", "pathOrInlineDv": "x" * 20, "sizeInBytes": 1, "cardinality": 1, "offset": 1}
    one: list[dict[str, Any]] = [
        {},
        {"size": 2},
        {"modificationTime": 2},
        {"deletionVector": vector},
        {"deletionVector": {**vector, "cardinality": 2}},
    ]
    lists = [
        files(tmp_path / f"{number}" / "t", add("a.parquet", **fields)).digest
        for number, fields in enumerate(one)
    ]
    again = [files(tmp_path / "x", add("a.parquet")).digest for _ in range(2)]
    assert len({*lists, again[0]}) == len(one) + 1
    assert again[0] == again[1]


def test_statistics_do_not_count_for_the_digest(tmp_path: Path) -> None:
    first = files(tmp_path, add("a.parquet")).digest
    assert files(tmp_path, add("a.parquet", stats='{"numRecords": 3}')).digest == first


def test_deleted_rows(tmp_path: Path) -> None:
    vector = {"storageType": "u", "pathOrInlineDv": "x" * 20, "sizeInBytes": 1, "cardinality": 7, "offset": 1}
    found = files(tmp_path, add("a.parquet"), add("b.parquet", deletionVector=vector))
    assert by_name(found, found.deleted_rows) == {"a.parquet": None, "b.parquet": 7}


def test_partition_values_have_the_types_of_the_schema(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("odd name", pa.int32())])
    table = sl.Table.create(tmp_path, schema, ["day", "odd name"])
    rows = {"id": [1, 2], "day": [date(2026, 1, 31), None], "odd name": pa.array([-1, 7], pa.int32())}
    table.append(pa.table(rows, schema))
    found = DataFiles.of(table.snapshot, np.ones(2, dtype=bool))
    assert [field.name for field in found.partition_fields] == ["day", "odd name"]
    values = found.partition_values
    assert list(values) == [value_name("day"), value_name("odd name")]
    pairs = zip(*(column.to_pylist() for column in values.values()), strict=True)
    assert set(pairs) == {(date(2026, 1, 31), -1), (None, 7)}
    assert [column.type for column in values.values()] == [pa.date32(), pa.int32()]


def test_only_the_files_that_are_kept(tmp_path: Path) -> None:
    write_commit(tmp_path, 0, [PROTOCOL, metadata(), add("a.parquet"), add("b.parquet"), add("c.parquet")])
    snapshot = sl.Table(tmp_path).snapshot
    every = snapshot.files.table(["path"]).column(0).to_pylist()
    found = DataFiles.of(snapshot, np.array([False, True, False]))
    assert [file.path for file in found.adds] == every[1:2]
