"""Column mapping: physical names and ids count only where the table uses them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from delta_tables import PROTOCOL, add, metadata, set_by_another_writer, write_commit
from shredlake.delta.schema.types import walk

ONE = pa.schema([("id", pa.int64())])
MODE = "delta.columnMapping.mode"
STALE = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}


def test_physical_names_of_a_table_without_column_mapping_are_ignored(tmp_path: Path) -> None:
    """They stay in the schema if column mapping was dropped, or if the schema is that of another table."""
    table = sl.Table.create(tmp_path, ONE)
    table.append([{"id": 7}])
    field = {"name": "id", "type": "long", "nullable": True, "metadata": STALE | {"comment": "key"}}
    schema = json.dumps({"type": "struct", "fields": [field]})
    write_commit(tmp_path, 2, [metadata(schema=schema)])
    table = sl.Table(tmp_path)
    assert table.scan(where="id = 7").to_arrow().to_pylist() == [{"id": 7}]
    table.append([{"id": 8}])
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [7, 8]
    assert table.snapshot.schema.fields[0].metadata == {"comment": "key"}


def test_the_property_alone_maps_nothing(tmp_path: Path) -> None:
    """Without the feature in the protocol it is inert. It must not come alive by another change."""
    table = sl.Table.create(tmp_path, ONE)
    table.append([{"id": 7}])
    set_by_another_writer(tmp_path, {MODE: "name"})
    table = sl.Table(tmp_path)
    table.append([{"id": 8}])
    for change in (
        lambda: table.add_column(pa.field("n", pa.int64())),
        lambda: table.set_properties({"team": "x"}),
        lambda: table.append([{"id": 9, "n": 1}], schema_mode="merge"),
    ):
        with pytest.raises(sl.InvalidSchema, match="can't change from none to name"):
            change()
    table.set_properties({MODE: None})
    table.add_column(pa.field("n", pa.int64()))
    assert sorted(table.scan(["id"]).to_arrow()["id"].to_pylist()) == [7, 8]


@pytest.mark.parametrize("mode", ["none", "name", "id"])
def test_arrow_metadata_that_describes_another_tables_files_is_dropped(tmp_path: Path, mode: str) -> None:
    """Schemas that other libraries read from a table carry it, as text, which no log may hold."""
    text = {"delta.columnMapping.id": "5", "delta.columnMapping.physicalName": "col-5"}
    given = [pa.field(name, pa.int64(), metadata={**text, "delta.typeChanges": "[]"}) for name in "ab"]
    table = sl.Table.create(tmp_path, pa.schema(given[:1]), properties={MODE: mode})
    table.add_column(given[1])
    table.append([{"a": 1, "b": 2}])
    table = sl.Table(tmp_path)
    assert table.scan().to_arrow().to_pylist() == [{"a": 1, "b": 2}]
    assert [field.id for field in table.snapshot.schema.fields] == (
        [None, None] if mode == "none" else [1, 2]
    )


def test_clustering_columns_are_found_by_their_physical_names(tmp_path: Path) -> None:
    inner = {"name": "k", "type": "long", "nullable": True}
    inner["metadata"] = {"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "col-2"}
    outer = {"name": "s", "type": {"type": "struct", "fields": [inner]}, "nullable": True, "metadata": STALE}
    schema = json.dumps({"type": "struct", "fields": [outer]})
    protocol = json.loads(json.dumps(PROTOCOL))
    protocol["protocol"]["readerFeatures"] += ["columnMapping"]
    protocol["protocol"]["writerFeatures"] += ["columnMapping", "clustering", "domainMetadata"]
    domain = {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[["col-1","col-2"]]}'}
    properties = {
        MODE: "name",
        "delta.columnMapping.maxColumnId": "2",
        "delta.dataSkippingNumIndexedCols": "0",
    }
    changed = metadata(schema=schema, configuration=properties)
    write_commit(tmp_path, 0, [protocol, changed, {"domainMetadata": {**domain, "removed": False}}])
    table = sl.Table(tmp_path)
    assert table.snapshot.clustering_columns == ("s.k",)
    table.append([{"s": {"k": 3}}])
    [stats] = table.files()["stats"].to_pylist()
    assert json.loads(stats)["minValues"] == {"col-1": {"col-2": 3}}


def test_ids_find_fields_of_structs_wherever_they_are(tmp_path: Path) -> None:
    """A table that was converted from Iceberg has files in which renamed columns have other names."""

    def named(name: str, number: int, kind: pa.DataType) -> pa.Field:
        return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})

    inside = pa.struct([pa.field("x", pa.int64()), pa.field("y", pa.int64())])
    schema = pa.schema([("s", inside), ("l", pa.list_(inside)), ("m", pa.map_(pa.string(), inside))])
    table = sl.Table.create(tmp_path, schema, properties={MODE: "id"})
    assert [field.id for _, field in walk(table.snapshot.schema)] == [3, 1, 2, 6, 4, 5, 9, 7, 8]

    def in_file(first: int) -> pa.DataType:  # the names of the two are swapped
        return pa.struct([named("y", first, pa.int64()), named("x", first + 1, pa.int64())])

    fields = [
        named("old_s", 3, in_file(1)),
        named("old_l", 6, pa.list_(in_file(4))),
        named("old_m", 9, pa.map_(pa.string(), in_file(7))),
    ]
    row = {"old_s": {"y": 1, "x": 2}, "old_l": [{"y": 4, "x": 5}], "old_m": [("k", {"y": 7, "x": 8})]}
    pq.write_table(pa.Table.from_pylist([row], schema=pa.schema(fields)), tmp_path / "f.parquet")
    write_commit(tmp_path, 1, [add("f.parquet", size=(tmp_path / "f.parquet").stat().st_size)])
    expected = {"s": {"x": 1, "y": 2}, "l": [{"x": 4, "y": 5}], "m": [("k", {"x": 7, "y": 8})]}
    table = sl.Table(tmp_path)
    assert table.scan().to_arrow().to_pylist() == [expected]
    assert table.scan(["s.x AS x"], where="s.y = 2").to_arrow().to_pylist() == [{"x": 1}]
    table.append([{"s": {"x": 9}}])
    table.optimize()
    assert expected in table.scan().to_arrow().to_pylist(), "a rewrite must not lose what it can't see"
