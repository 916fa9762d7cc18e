"""Checkpoints that we write: complete, typed, shredded, and without a Python object per file."""

from __future__ import annotations

import dataclasses
import json
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from deletion_vectors import inline_vector, with_vector
from delta_tables import ID_AND_VARIANT, SHREDDED, numbered, paths, python, rows_of
from shredlake.delta.log.files import FILE_SCHEMA, Files
from shredlake.delta.stats.skipping import prune
from shredlake.delta.stats.z85 import decode_variant, encode_variant
from shredlake.delta.write.checkpoint import write_checkpoint
from shredlake.expr import parse_predicate


def logged(table: sl.Table) -> list[dict[str, Any]]:
    """Files as the log has them, in the order of their paths, without what a checkpoint may change."""
    rows = table.files().drop_columns(["dataChange"]).to_pylist()
    return sorted(rows, key=lambda row: row["path"])


@pytest.mark.parametrize("policy", ["classic", "v2"])
def test_a_checkpoint_says_what_the_commits_say(tmp_path: Path, policy: str) -> None:
    properties = SHREDDED | {"delta.checkpointPolicy": policy, "mine": "kept"}
    schema = pa.schema([("p", pa.string()), *ID_AND_VARIANT])
    table = sl.Table.create(tmp_path, schema, ["p"], properties=properties, name="n", description="d")
    data = numbered(0, 4).append_column("p", pa.array(["a", "b/c", None, "a"]))
    table.append(data, transaction=("app", 3))
    table.append(data)
    table.delete("id = 1")
    before = (logged(table), table.snapshot.metadata, table.snapshot.protocol, table.snapshot.transactions)
    gone = sorted(table.snapshot.tombstones().column("path").to_pylist())
    table.checkpoint()
    for commit in (tmp_path / "_delta_log").glob("*[0-9].json"):
        if commit.name.count(".") == 1 and commit.name != f"{3:020}.json":
            commit.unlink()
    again = sl.Table(tmp_path)
    assert again.snapshot.segment.checkpoint is not None
    assert (
        logged(again),
        again.snapshot.metadata,
        again.snapshot.protocol,
        again.snapshot.transactions,
    ) == before
    assert sorted(again.snapshot.tombstones().column("path").to_pylist()) == gone
    assert len(gone) == 2
    assert sorted(row["id"] for row in again.scan(["id"]).to_arrow().to_pylist()) == [0, 0, 2, 2, 3, 3]
    last = json.loads((tmp_path / "_delta_log" / "_last_checkpoint").read_text())
    assert (last["version"], last["numOfAddFiles"]) == (3, again.files().num_rows)
    again.append(data)
    again.delete("p = 'a'")
    assert sorted(row["id"] for row in again.scan(["id"]).to_arrow().to_pylist()) == [1, 2, 2, 2]


def test_checkpoints_come_by_themselves(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.checkpointInterval": "3"})
    for number in range(7):
        table.append(numbered(number, number + 1))
    names = sorted(path.name for path in (tmp_path / "_delta_log").glob("*.checkpoint.parquet"))
    assert names == [f"{3:020}.checkpoint.parquet", f"{6:020}.checkpoint.parquet"]
    assert sl.Table(tmp_path).snapshot.segment.checkpoint.version == 6
    assert sl.Table(tmp_path, version=4).scan().count() == 4


def test_variant_bounds_are_shredded_columns(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    for start in (0, 10):
        table.append(numbered(start, start + 10))
    table.append(rows_of([99], [{"a": "text", "s": 5}]), shredding={"v": None})
    path = tmp_path / table.checkpoint()
    schema = pq.ParquetFile(path).schema
    leaves = [schema.column(i).path for i in range(len(schema))]
    for side in ("minValues", "maxValues"):
        assert f"add.stats_parsed.{side}.v.typed_value.$['a'].typed_value" in leaves
        assert f"add.stats_parsed.{side}.v.typed_value.$['s'].typed_value" in leaves
    assert sl.check(path) == []
    rows = pq.read_table(path).column("add").drop_null().to_pylist()
    found = sorted(
        (row["stats_parsed"]["minValues"]["v"]["typed_value"]["$['a']"]["typed_value"])
        for row in rows
        if row["stats_parsed"]["minValues"]["v"] is not None
    )
    assert found == [0, 10]
    assert all(json.loads(row["stats"]) for row in rows), "JSON is there too, by default"


def test_a_checkpoint_follows_one_without_a_variant_column(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    table.append(numbered(0, 10))
    table.checkpoint()
    table.append(pa.table({"id": [10], "w": sl.from_json(['{"b": 7}'])}), schema_mode="merge")
    sl.Table(tmp_path).checkpoint()
    again = sl.Table(tmp_path)
    assert bounds_of(tmp_path / "_delta_log", 2, "w") == [None, "{\"$['b']\":7}"]
    assert again.scan(["id"], where="w:b::bigint = 7").to_arrow().to_pylist() == [{"id": 10}]
    assert "by statistics 1" in str(again.scan(["id"], where="v:a::bigint > 50").explain())


def test_programs_that_register_the_extension_type_write_checkpoints(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    table.append(numbered(0, 10))
    table.checkpoint()
    pa.register_extension_type(VariantExtension())
    try:
        fresh = sl.Table(tmp_path)
        fresh.append(numbered(10, 20))
        fresh.checkpoint()
    finally:
        pa.unregister_extension_type("arrow.parquet.variant")
    lowest = ['{"$[\'a\']":0,"$[\'s\']":"s0"}', '{"$[\'a\']":10,"$[\'s\']":"s10"}']
    assert bounds_of(tmp_path / "_delta_log", 2, "v") == lowest


class VariantExtension(pa.ExtensionType):
    """The extension type as a program may define it."""

    def __init__(self, storage: pa.DataType = sl.variant()) -> None:  # noqa: B008
        super().__init__(storage, "arrow.parquet.variant")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> VariantExtension:
        return cls(storage)


def bounds_of(log: Path, version: int, column: str) -> list[str | None]:
    """The lower bounds of a Variant column in a checkpoint, as JSON."""
    adds = pq.read_table(log / f"{version:020}.checkpoint.parquet").column("add").combine_chunks()
    lowest = adds.drop_null().field("stats_parsed").field("minValues").field(column)
    return sorted(sl.to_json(sl.unshred(lowest)).to_pylist(), key=str)


def test_bounds_of_several_types_stay_apart(tmp_path: Path) -> None:
    """The most frequent type of a path has a column, the others stay in its `value`."""
    properties = {"delta.enableVariantShredding": "true"}
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=properties)
    for number in range(3):
        table.append(rows_of([number], [{"a": number}]), shredding={"v": "struct<a bigint>"})
    table.append(rows_of([9], [{"a": "text"}]), shredding={"v": "struct<a string>"})
    table.checkpoint()
    table = sl.Table(tmp_path)
    # Text may be a number, so its file stays for those; numbers as text have no order, so they stay for text.
    for where, kept in (("v:a::bigint = 1", 2), ("v:a::string = 'text'", 4), ("v:a::string = 'other'", 3)):
        assert prune(table.snapshot, parse_predicate(where)).keep.sum() == kept, where
        assert table.scan(["id"], where=where).to_arrow().num_rows == (0 if "other" in where else 1)


def test_unshredded_variant_statistics_prune_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Delta's own checkpoints hold the bounds of Variants as they are."""
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    for start in (0, 100):
        table.append(numbered(start, start + 10))
    monkeypatch.setattr("shredlake.delta.write.checkpoint.shredding_of", lambda *_: {})
    path = tmp_path / table.checkpoint()
    minimum = pq.read_schema(path).field("add").type.field("stats_parsed").type.field("minValues").type
    assert [field.name for field in minimum.field("v").type] == ["metadata", "value"]
    monkeypatch.undo()
    again = sl.Table(tmp_path)
    assert again.scan(["id"], where="v:a::bigint = 105").explain().files_read == 1
    assert again.scan(["id"], where="v:s::string > 't'").files().num_rows == 0
    again.append(numbered(200, 201))
    again.checkpoint()
    assert sl.Table(tmp_path).scan(["id"], where="v:a::bigint = 105").to_arrow().to_pylist() == [{"id": 105}]


def test_statistics_without_json(tmp_path: Path) -> None:
    """Where the property forbids JSON, only typed statistics exist, and they are kept."""
    properties = SHREDDED | {"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpointInterval": "1000"}
    schema = pa.schema(
        [*ID_AND_VARIANT, ("x", pa.float64()), ("t", pa.timestamp("us", tz="UTC")), ("s", pa.string())]
    )
    table = sl.Table.create(tmp_path, schema, properties=properties)
    for start in (0, 100):
        data = numbered(start, start + 10)
        moments = pa.array([(start + n) * 1000 + 1 for n in range(10)], pa.int64()).cast(
            pa.timestamp("us", tz="UTC")
        )
        floats = pa.array([start + n / 3 for n in range(10)])
        table.append(
            data.append_column("x", floats)
            .append_column("t", moments)
            .append_column("s", pa.array(["é" * 40] * 10))
        )
    texts = {row["path"]: json.loads(row["stats"]) for row in table.files().to_pylist()}
    table.checkpoint()
    table = sl.Table(tmp_path)
    assert table.files().column("stats").null_count == 2
    assert table.scan(["id"], where="v:a::bigint = 105").explain().files_read == 1
    # A second checkpoint, from the first alone, and back to JSON.
    table.set_properties({"delta.checkpoint.writeStatsAsJson": "true"})
    table.checkpoint()
    again = {row["path"]: json.loads(row["stats"]) for row in sl.Table(tmp_path).files().to_pylist()}
    for path, stats in texts.items():
        for side in ("minValues", "maxValues"):
            stats[side]["v"] = decode_variant(stats[side]["v"]).to_python()
            again[path][side]["v"] = decode_variant(again[path][side]["v"]).to_python()
    assert again == texts
    # A file that is removed and restored brings its statistics back.
    table = sl.Table(tmp_path)
    table.delete("id < 50")
    table.restore(table.version - 1)
    assert table.files().column("stats").null_count == 0


def test_wide_bounds_are_still_wide_without_json(tmp_path: Path) -> None:
    """Readers take bounds that are not called wide for values that occur, and answer MIN and MAX by them."""
    table = with_vector(tmp_path, inline_vector([0, 9]))
    log = tmp_path / "_delta_log" / f"{2:020}.json"
    log.write_text(log.read_text().replace('{\\"numRecords\\"', '{\\"tightBounds\\":false,\\"numRecords\\"'))
    table = sl.Table(tmp_path)
    [text] = table.files()["stats"].to_pylist()
    for as_json in ("false", "true"):
        table.set_properties({"delta.checkpoint.writeStatsAsJson": as_json})
        table.checkpoint()
        table = sl.Table(tmp_path)
    [again] = table.files()["stats"].to_pylist()
    assert json.loads(again)["tightBounds"] is json.loads(text)["tightBounds"] is False


def test_stats_as_json_only(tmp_path: Path) -> None:
    properties = SHREDDED | {"delta.checkpoint.writeStatsAsStruct": "false"}
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=properties)
    table.append(numbered(0, 10))
    path = tmp_path / table.checkpoint()
    assert "stats_parsed" not in [field.name for field in pq.read_schema(path).field("add").type]
    assert sl.Table(tmp_path).scan(["id"], where="v:a::bigint > 50").files().num_rows == 0


def test_files_without_statistics_have_none_in_the_checkpoint(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    table.append(numbered(0, 3))
    commit = tmp_path / "_delta_log" / f"{1:020}.json"
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            del line["add"]["stats"]
    commit.write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = sl.Table(tmp_path)
    table.checkpoint()
    again = sl.Table(tmp_path)
    assert again.snapshot.segment.checkpoint is not None
    assert again.files().column("stats").to_pylist() == [None]
    assert again.scan(["id"], where="id = 1").to_arrow().num_rows == 1


def test_expired_tombstones_are_forgotten(tmp_path: Path) -> None:
    properties = {"delta.deletedFileRetentionDuration": "interval 0 seconds"}
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=properties)
    table.append(numbered(0, 3))
    table.delete()
    table.checkpoint()
    assert sl.Table(tmp_path).snapshot.tombstones().num_rows == 0


@pytest.mark.parametrize("kind", [OSError, KeyError, NotImplementedError, pa.ArrowInvalid])
def test_a_failing_checkpoint_does_not_fail_the_commit(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    kind: type[Exception],
) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.checkpointInterval": "1"})

    def fail(*_: object) -> None:
        raise kind("disk full")

    monkeypatch.setattr("shredlake.delta.write.commit.write_checkpoint", fail)
    with warnings.catch_warnings(), caplog.at_level("WARNING", logger="shredlake"):
        warnings.simplefilter("error")
        assert table.append(numbered(0, 1)) == 1
    assert "version 1 is committed, but its checkpoint failed" in caplog.text
    assert "disk full" in caplog.text
    assert sl.Table(tmp_path).scan(["id"]).to_arrow().column("id").to_pylist() == [0]


# ── Scale ───────────────────────────────────────────────────────────────────────────────────────────────


def many_files(root: Path, count: int) -> None:
    """A table whose checkpoint holds so many files, none of which exists."""
    properties = SHREDDED | {"delta.checkpoint.writeStatsAsJson": "false"}
    table = sl.Table.create(root, ID_AND_VARIANT, properties=properties)

    def stats(number: int) -> str:
        low, high = (
            encode_variant(sl.Variant.of({"$['a']": sl.Int64(value)}))
            for value in (number * 10, number * 10 + 9)
        )
        return json.dumps(
            {"numRecords": 10, "minValues": {"v": low}, "maxValues": {"v": high}, "nullCount": {"v": 0}}
        )

    columns = {
        "path": pa.array([f"part-{n:06}.parquet" for n in range(count)]),
        "partitionValues": pa.array([[]] * count, FILE_SCHEMA.field("partitionValues").type),
        "size": pa.array(np.full(count, 1 << 20)),
        "modificationTime": pa.array(np.full(count, 1)),
        "dataChange": pa.array(np.ones(count, dtype=bool)),
        "stats": pa.array([stats(n) for n in range(count)]),
    }
    arrays = [columns.get(field.name, pa.nulls(count, field.type)) for field in FILE_SCHEMA]
    files = Files([], pa.Table.from_arrays(arrays, schema=FILE_SCHEMA), ())
    write_checkpoint(dataclasses.replace(table.snapshot, files=files))


@pytest.mark.slow
def test_pruning_many_files_makes_no_objects(tmp_path: Path) -> None:
    count = 20_000
    many_files(tmp_path, count)
    tracemalloc.start()
    try:
        table = sl.Table(tmp_path)
        verdict = prune(table.snapshot, parse_predicate("v:a::bigint between 1005 and 1012"))
        chosen = table.snapshot.files.table(["path"], keep=verdict.keep)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert chosen.column("path").to_pylist() == ["part-000100.parquet", "part-000101.parquet"]
    # Arrow's own memory is not counted here; a Python object per file would be 50 bytes and more each.
    assert peak < 40 * count
    columns = table.snapshot.files.parts[0]._statistics
    assert sorted(columns) == [
        "stats_parsed.maxValues.v.typed_value.$['a'].typed_value",
        "stats_parsed.minValues.v.typed_value.$['a'].typed_value",
        "stats_parsed.numRecords",
    ]


def test_commits_on_top_of_many_files(tmp_path: Path) -> None:
    many_files(tmp_path, 1000)
    table = sl.Table(tmp_path)
    table.append(numbered(5000, 5010))
    where = parse_predicate("v:a::bigint between 5000 and 5009")
    verdict = prune(table.snapshot, where)
    assert verdict.keep.sum() == 2
    assert len(paths(table)) == 1001
    assert verdict.by_statistics == 999
    assert python(table.scan(where="v:a::bigint = 99999").to_arrow()) == []
