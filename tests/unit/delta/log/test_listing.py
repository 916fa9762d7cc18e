"""Logs: which files make up a version, and how hostile logs are refused."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from delta_tables import PROTOCOL, add, metadata, paths, remove, write_commit
from shredlake.delta.log.listing import list_log
from shredlake.delta.storage.storage import Entry, Storage
from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.unshred import unshred_table


def simple_log(root: Path, versions: int = 4) -> None:
    """Version n adds file n; version 2 also removes file 0."""
    write_commit(root, 0, [PROTOCOL, metadata(), add("0")])
    for version in range(1, versions):
        actions = [add(str(version))]
        if version == 2:
            actions.append(remove("0"))
        write_commit(root, version, actions)


def checkpoint_rows(actions: list[dict[str, Any]]) -> pa.Table:
    """Actions as other engines' checkpoints hold them: one struct column each."""
    maps = pa.map_(pa.string(), pa.string())
    texts = pa.list_(pa.string())
    kinds = {
        "protocol": pa.struct(
            [
                ("minReaderVersion", pa.int32()),
                ("minWriterVersion", pa.int32()),
                ("readerFeatures", texts),
                ("writerFeatures", texts),
            ]
        ),
        "metaData": pa.struct(
            [
                ("id", pa.string()),
                ("format", pa.struct([("provider", pa.string()), ("options", maps)])),
                ("schemaString", pa.string()),
                ("partitionColumns", texts),
                ("configuration", maps),
            ]
        ),
        "add": pa.struct(
            [
                ("path", pa.string()),
                ("partitionValues", maps),
                ("size", pa.int64()),
                ("modificationTime", pa.int64()),
                ("dataChange", pa.bool_()),
                ("stats", pa.string()),
            ]
        ),
        "remove": pa.struct(
            [("path", pa.string()), ("deletionTimestamp", pa.int64()), ("dataChange", pa.bool_())]
        ),
        "txn": pa.struct([("appId", pa.string()), ("version", pa.int64())]),
        "checkpointMetadata": pa.struct([("version", pa.int64())]),
        "sidecar": pa.struct(
            [("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())]
        ),
    }

    def shaped(value: Any, kind: pa.DataType) -> Any:
        if value is None:
            return None
        if pa.types.is_map(kind):
            return list(value.items())
        if pa.types.is_struct(kind):
            return {field.name: shaped(value.get(field.name), field.type) for field in kind}
        return value

    return pa.table(
        {
            name: pa.array([shaped(action.get(name), kind) for action in actions], kind)
            for name, kind in kinds.items()
        }
    )


def write_checkpoint(root: Path, name: str, actions: list[dict[str, Any]]) -> None:
    target = root / "_delta_log" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(checkpoint_rows(actions), target)


STATE_AT_2 = [PROTOCOL, metadata(), add("1"), add("2"), remove("0")]


def test_commits_replay_in_order(tmp_path: Path) -> None:
    simple_log(tmp_path)
    table = sl.Table(tmp_path)
    assert (table.version, paths(table)) == (3, ["1", "2", "3"])
    assert paths(sl.Table(tmp_path, version=1)) == ["0", "1"]
    assert table.snapshot.tombstones().column("path").to_pylist() == ["0"]


@pytest.mark.parametrize(
    "names",
    [
        ["00000000000000000002.checkpoint.parquet"],
        ["00000000000000000002.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet"],
        [
            "00000000000000000002.checkpoint.0000000001.0000000002.parquet",
            "00000000000000000002.checkpoint.0000000002.0000000002.parquet",
        ],
    ],
    ids=["classic", "v2", "multi-part"],
)
@pytest.mark.parametrize("hinted", [True, False])
def test_checkpoints_stand_for_the_commits_before(tmp_path: Path, names: list[str], hinted: bool) -> None:
    simple_log(tmp_path)
    share = -(-len(STATE_AT_2) // len(names))
    for number, name in enumerate(names):
        write_checkpoint(tmp_path, name, STATE_AT_2[number * share : (number + 1) * share])
    for version in range(3):
        (tmp_path / "_delta_log" / f"{version:020}.json").unlink()
    if hinted:
        (tmp_path / "_delta_log" / "_last_checkpoint").write_text('{"version": 2, "size": 5}')
    table = sl.Table(tmp_path)
    assert (table.version, paths(table)) == (3, ["1", "2", "3"])
    assert paths(sl.Table(tmp_path, version=2)) == ["1", "2"]
    assert table.snapshot.tombstones().column("path").to_pylist() == ["0"]


@pytest.mark.parametrize("form", ["json", "parquet"])
@pytest.mark.parametrize("inline", [True, False], ids=["inline", "sidecars"])
def test_v2_manifests(tmp_path: Path, form: str, inline: bool) -> None:
    write_commit(tmp_path, 3, [add("3"), remove("1")])
    files = [action for action in STATE_AT_2 if "add" in action or "remove" in action]
    rest = [action for action in STATE_AT_2 if action not in files]
    actions: list[dict[str, Any]] = [{"checkpointMetadata": {"version": 2}}, *rest]
    if inline:
        actions += files
    else:
        for number, file in enumerate(files):
            write_checkpoint(tmp_path, f"_sidecars/part%20{number}.parquet".replace("%20", " "), [file])
            sidecar = {"path": f"part%20{number}.parquet", "sizeInBytes": 1, "modificationTime": 1}
            actions.append({"sidecar": sidecar})
    name = f"00000000000000000002.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.{form}"
    if form == "json":
        text = "".join(json.dumps(action) + "\n" for action in actions)
        (tmp_path / "_delta_log" / name).write_text(text)
    else:
        write_checkpoint(tmp_path, name, actions)
    table = sl.Table(tmp_path)
    assert (table.version, paths(table)) == (3, ["2", "3"])
    assert sorted(table.snapshot.tombstones().column("path").to_pylist()) == ["0", "1"]


def test_a_checkpoint_with_missing_parts_is_passed_over(tmp_path: Path) -> None:
    simple_log(tmp_path)
    write_checkpoint(tmp_path, "00000000000000000002.checkpoint.0000000001.0000000002.parquet", STATE_AT_2)
    table = sl.Table(tmp_path)
    assert table.snapshot.segment.checkpoint is None
    assert paths(table) == ["1", "2", "3"]


def test_a_wrong_hint_is_passed_over(tmp_path: Path) -> None:
    simple_log(tmp_path)
    for text in ('{"version": 2}', "{", '{"version": "x"}', "[]"):
        (tmp_path / "_delta_log" / "_last_checkpoint").write_text(text)
        assert paths(sl.Table(tmp_path)) == ["1", "2", "3"]


def test_compactions_replace_the_commits_they_cover(tmp_path: Path) -> None:
    simple_log(tmp_path, versions=6)
    compacted = [add("2"), add("3"), add("1"), remove("0")]
    name = f"{1:020}.{3:020}.compacted.json"
    (tmp_path / "_delta_log" / name).write_text("".join(json.dumps(a) + "\n" for a in compacted))
    for version in (1, 2, 3):
        (tmp_path / "_delta_log" / f"{version:020}.json").write_text("not read")
    assert paths(sl.Table(tmp_path)) == ["1", "2", "3", "4", "5"]
    with pytest.raises(sl.CorruptLog, match="line 1: not JSON"):
        sl.Table(tmp_path, version=2)  # the compaction reaches too far


def test_newest_protocol_metadata_transaction_and_domain_win(tmp_path: Path) -> None:
    txn = {"txn": {"appId": "app", "version": 1}}
    write_commit(
        tmp_path, 0, [PROTOCOL, metadata(), txn, {"domainMetadata": {"domain": "d", "configuration": "1"}}]
    )
    write_commit(tmp_path, 1, [metadata(name="new"), {"txn": {"appId": "app", "version": 7}}])
    write_commit(tmp_path, 2, [{"domainMetadata": {"domain": "d", "configuration": "", "removed": True}}])
    snapshot = sl.Table(tmp_path).snapshot
    assert snapshot.metadata.name == "new"
    assert snapshot.transactions["app"].version == 7
    assert snapshot.domains == {}
    assert sl.Table(tmp_path, version=1).snapshot.domains["d"].configuration == "1"


def test_adding_a_file_again_replaces_what_is_known_of_it(tmp_path: Path) -> None:
    write_commit(tmp_path, 0, [PROTOCOL, metadata(), add("f", size=1)])
    write_commit(tmp_path, 1, [add("f", size=2)])
    assert sl.Table(tmp_path).files().column("size").to_pylist() == [2]
    write_commit(tmp_path, 2, [remove("f")])
    write_commit(tmp_path, 3, [add("f", size=3)])
    assert sl.Table(tmp_path).files().column("size").to_pylist() == [3]


def test_deletion_vectors_tell_logical_files_apart(tmp_path: Path) -> None:
    vector = {"storageType": "u", "pathOrInlineDv": "x" * 20, "offset": 1, "sizeInBytes": 1, "cardinality": 1}
    write_commit(tmp_path, 0, [PROTOCOL, metadata(), add("f")])
    write_commit(tmp_path, 1, [remove("f"), add("f", deletionVector=vector)])
    table = sl.Table(tmp_path)
    assert [row["deletionVector"]["cardinality"] for row in table.files().to_pylist()] == [1]
    write_checkpoint(tmp_path, f"{0:020}.checkpoint.parquet", [PROTOCOL, metadata(), add("f")])
    assert len(sl.Table(tmp_path).files()) == 1
    write_commit(tmp_path, 2, [remove("f", deletionVector=vector), add("f")])
    assert [row["deletionVector"] for row in sl.Table(tmp_path).files().to_pylist()] == [None]


def test_unknown_actions_and_fields_are_ignored(tmp_path: Path) -> None:
    write_commit(tmp_path, 0, [PROTOCOL, metadata(), add("f", future={"x": 1}), {"novelty": {"a": 1}}])
    assert paths(sl.Table(tmp_path)) == ["f"]


# ── Time ────────────────────────────────────────────────────────────────────────────────────────────────


def test_time_travel_by_file_time(tmp_path: Path) -> None:
    simple_log(tmp_path)
    for version, seconds in enumerate((100, 200, 150, 300)):  # the clock of version 2 went back
        os.utime(tmp_path / "_delta_log" / f"{version:020}.json", (seconds, seconds))
    at = lambda seconds: sl.Table(tmp_path, timestamp=datetime.fromtimestamp(seconds, UTC)).version  # noqa: E731
    assert [at(seconds) for seconds in (100, 199.9, 200, 200.002, 299, 300, 999)] == [0, 0, 1, 2, 2, 3, 3]
    assert sl.Table(tmp_path, timestamp="1970-01-01T00:03:20").version == 1
    with pytest.raises(sl.VersionNotFound, match=r"its oldest commit, 0, is from 1970-01-01T00:01:40"):
        at(99)
    with pytest.raises(sl.VersionNotFound, match="not a time"):
        sl.Table(tmp_path, timestamp="yesterday")


def test_time_travel_by_the_commits_own_time(tmp_path: Path) -> None:
    enabled = {"delta.enableInCommitTimestamps": "true", "delta.inCommitTimestampEnablementVersion": "1"}
    write_commit(tmp_path, 0, [PROTOCOL, metadata()])
    for version, moment in ((1, 5_000_000), (2, 6_000_000)):
        info = {"commitInfo": {"inCommitTimestamp": moment, "operation": "X"}}
        write_commit(tmp_path, version, [info, metadata(configuration=enabled)])
    os.utime(tmp_path / "_delta_log" / f"{0:020}.json", (100, 100))
    assert sl.Table(tmp_path, timestamp=100_000).version == 0
    assert sl.Table(tmp_path, timestamp=5_999_999).version == 1
    assert sl.Table(tmp_path, timestamp=6_000_000).version == 2
    assert [entry["timestamp"].timestamp() for entry in sl.Table(tmp_path).history()] == [6000, 5000, 100]


def test_a_copy_of_a_table_keeps_the_commits_own_time(tmp_path: Path) -> None:
    """The files of a copy are new, those from before the commits recorded their time too."""
    enabled = {"delta.enableInCommitTimestamps": "true", "delta.inCommitTimestampEnablementVersion": "1"}
    write_commit(tmp_path, 0, [PROTOCOL, metadata()])
    for version, moment in ((1, 5_000_000), (2, 6_000_000)):
        info = {"commitInfo": {"inCommitTimestamp": moment, "operation": "X"}}
        write_commit(tmp_path, version, [info, metadata(configuration=enabled)])
    assert [entry["timestamp"].timestamp() for entry in sl.Table(tmp_path).history(2)] == [6000, 5000]
    assert sl.Table(tmp_path, timestamp=5_500_000).version == 1
    assert sl.Table(tmp_path, timestamp=datetime.now(UTC)).version == 2


# ── Hostile logs ────────────────────────────────────────────────────────────────────────────────────────


def test_not_a_table(tmp_path: Path) -> None:
    with pytest.raises(sl.NotATable, match="is not a Delta table"):
        sl.Table(tmp_path)
    with pytest.raises(sl.NotATable, match="is not a Delta table"):
        sl.Table(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_a_missing_commit(tmp_path: Path) -> None:
    simple_log(tmp_path)
    (tmp_path / "_delta_log" / f"{2:020}.json").unlink()
    with pytest.raises(sl.CorruptLog, match=r"commit 2 is missing from the log, which has commits up to 3"):
        sl.Table(tmp_path)
    assert sl.Table(tmp_path, version=1).version == 1


def test_the_start_was_cleaned_up(tmp_path: Path) -> None:
    simple_log(tmp_path)
    (tmp_path / "_delta_log" / f"{0:020}.json").unlink()
    with pytest.raises(sl.VersionNotFound, match="cleaned up before commit 1"):
        sl.Table(tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"add": {"path": "x"',
            r"0001.json, line 1: not JSON .* stopped while the file was written",
        ),
        ("[1]", "line 1: an action is a JSON object, found list"),
        ('{"add": {"size": 1}}', "line 1: an add action lacks the field path"),
        (
            '{"add": {"path": "a", "size": "many", "partitionValues": {}}}',
            "line 1: the field (size|partitionValues) of an add action",
        ),
        (
            '{"add": {"path": "a", "partitionValues": [1], "size": 1}}',
            "line 1: the field (size|partitionValues) of an add action",
        ),
        ('{"remove": {"path": "a"}}\n{"remove": {"path": "a"}}', "has two remove actions for a"),
        ('{"add": {"path": "a", "size": 1}}\n{"remove": {"path": "a"}}', "both adds and removes 'a'"),
        ('{"protocol": {"minReaderVersion": 1}}', "a protocol action lacks the field minWriterVersion"),
        ('{"metaData": {"id": "x"}}', "a metaData action lacks the field schemaString"),
        ('{"txn": {"version": 1}}', "a txn action lacks the field appId"),
    ],
)
def test_broken_commits(tmp_path: Path, line: str, message: str) -> None:
    write_commit(tmp_path, 0, [PROTOCOL, metadata()])
    (tmp_path / "_delta_log" / f"{1:020}.json").write_text(line + "\n")
    with pytest.raises(sl.CorruptLog, match=message):
        sl.Table(tmp_path)


def test_two_metadata_actions_in_one_commit(tmp_path: Path) -> None:
    write_commit(tmp_path, 0, [PROTOCOL, metadata(), metadata()])
    with pytest.raises(sl.CorruptLog, match="has two metaData actions; a commit may hold one"):
        sl.Table(tmp_path)


@pytest.mark.parametrize("missing", ["protocol", "metaData"])
def test_a_log_without_protocol_or_metadata(tmp_path: Path, missing: str) -> None:
    write_commit(tmp_path, 0, [action for action in (PROTOCOL, metadata()) if missing not in action])
    with pytest.raises(sl.CorruptLog, match=f"has no {missing} action"):
        sl.Table(tmp_path)


@pytest.mark.parametrize(
    "text", ["{", '"long"', '{"type":"struct"}', '{"type":"struct","fields":[{"name":"x"}]}']
)
def test_a_schema_that_does_not_parse(tmp_path: Path, text: str) -> None:
    write_commit(tmp_path, 0, [PROTOCOL, metadata(schema=text)])
    with pytest.raises(sl.CorruptLog, match="schemaString"):
        _ = sl.Table(tmp_path).schema


def test_an_unknown_type(tmp_path: Path) -> None:
    schema = '{"type":"struct","fields":[{"name":"x","type":"geometry","nullable":true,"metadata":{}}]}'
    write_commit(tmp_path, 0, [PROTOCOL, metadata(schema=schema)])
    with pytest.raises(sl.InvalidSchema, match="column x has the type 'geometry'"):
        _ = sl.Table(tmp_path).schema


@pytest.mark.parametrize(
    "path", ["../other/f.parquet", "a/../../f.parquet", "%2e%2e/f.parquet", "a/%2E%2E/%2E%2E/f"]
)
def test_paths_that_climb_out_of_the_table(tmp_path: Path, path: str) -> None:
    write_commit(tmp_path / "t", 0, [PROTOCOL, metadata(), add(path)])
    with pytest.raises(sl.CorruptLog, match="lies outside the table"):
        sl.Table(tmp_path / "t").scan().to_arrow()


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    write_commit(tmp_path, 0, [PROTOCOL, metadata(), add("gone.parquet")])
    with pytest.raises(sl.FileMissing, match=r"the data file gone\.parquet does not exist"):
        sl.Table(tmp_path).scan().to_arrow()


def test_a_checkpoint_that_is_no_parquet(tmp_path: Path) -> None:
    simple_log(tmp_path)
    (tmp_path / "_delta_log" / f"{2:020}.checkpoint.parquet").write_text("nonsense")
    (tmp_path / "_delta_log" / f"{0:020}.json").unlink()
    with pytest.raises(sl.CorruptLog, match=r"checkpoint.parquet is not a Parquet file"):
        sl.Table(tmp_path)


def test_a_missing_sidecar(tmp_path: Path) -> None:
    actions = [
        PROTOCOL,
        metadata(),
        {"sidecar": {"path": "x.parquet", "sizeInBytes": 1, "modificationTime": 1}},
    ]
    name = f"{0:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / name).write_text("".join(json.dumps(a) + "\n" for a in actions))
    with pytest.raises(sl.CorruptLog, match=r"_sidecars/x.parquet, which is not there"):
        sl.Table(tmp_path).files()


def test_other_files_in_the_log_are_ignored(tmp_path: Path) -> None:
    simple_log(tmp_path)
    for name in ("x.json", f"{9:020}.crc", f"{9:020}.json.tmp", "_staged_commits/" + f"{9:020}.abc.json"):
        target = tmp_path / "_delta_log" / name
        target.parent.mkdir(exist_ok=True)
        target.write_text("{}")
    assert sl.Table(tmp_path).version == 3
    assert sorted(list_log(sl.Table(tmp_path).snapshot.storage).commits) == [0, 1, 2, 3]


# ── A listing that lags ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def lagging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of small files. Listings of its log do not show commits after version 2."""
    table = sl.Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1, 2]}))
    real = Storage.entries

    def entries(storage: Storage, prefix: str = "", start_after: str | None = None) -> Iterator[Entry]:
        commits = [f"_delta_log/{version:020}.json" for version in range(3, 20)]
        return (entry for entry in real(storage, prefix, start_after) if entry.path not in commits)

    table.append(pa.table({"id": [3]}))
    monkeypatch.setattr(Storage, "entries", entries)
    return tmp_path / "t"


def test_writes_find_commits_that_a_listing_lacks(lagging: Path) -> None:
    table = sl.Table(lagging)
    assert table.append(pa.table({"id": [4]})) == 3
    assert table.version == 3, "a table moves to its own commit"
    stale = sl.Table(lagging)
    assert stale.version == 2
    assert stale.delete("id = 4") == 4, "the row is in a commit that the listing lacks"
    assert stale.append(pa.table({"id": [5]})) == 5
    report = sl.Table(lagging).optimize(threads=1)
    assert (report.version, report.files_before) == (6, 3)
    assert sl.Table(lagging).optimize(threads=1).version == 6, "nothing is left to do"
    assert table.version == 3
    assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == [1, 2, 3, 5]


def test_a_conflict_behind_a_listing_that_lags_is_seen(lagging: Path) -> None:
    first, second = sl.Table(lagging), sl.Table(lagging)
    first.overwrite(pa.table({"id": [9]}))
    second.overwrite(pa.table({"id": [8]}))
    assert second.version == 4
    assert second.scan().to_arrow()["id"].to_pylist() == [8]


def test_checks_and_copies_find_commits_that_a_listing_lacks(lagging: Path, tmp_path: Path) -> None:
    """A repair of an older version would report success without doing anything, and a copy lacked rows."""
    sl.Table(lagging).append([{"id": 4}])
    more = pa.table({"id": [5], "v": sl.from_json(["1"])})
    sl.Table(lagging).append(more, schema_mode="merge")
    found = sl.check_table(lagging)
    assert (found.version, found.rows, found.ok) == (4, 5, True)
    report = unshred_table(LocalEngine(1), lagging, tmp_path / "copy")
    assert report.rows == 5
