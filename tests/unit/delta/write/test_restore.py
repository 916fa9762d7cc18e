"""Restore: the rows of an older version are restored, and no identity value is reused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from deletion_vectors import stored, with_vector
from delta_tables import (
    FEED,
    ID_AND_VARIANT,
    SHREDDED,
    age,
    ids,
    numbered,
)
from shredlake.delta.protocol.actions import Action, CommitInfo, DomainMetadata, dumps
from shredlake.delta.protocol.features import with_features


def test_restore(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    table.append(numbered(0, 3))
    table.append(numbered(3, 6))
    table.delete("id = 1")
    table.add_column(pa.field("extra", pa.int64()))
    table.overwrite(numbered(100, 101))
    assert table.restore(2) == 6
    assert ids(table) == [0, 1, 2, 3, 4, 5]
    assert table.schema.names == ["id", "v"]
    assert table.history(1)[0]["operation"] == "RESTORE"
    assert all(json.loads(text)["minValues"]["v"] for text in table.files().column("stats").to_pylist())
    assert table.restore(version=5) == 7
    assert ids(table) == [100]
    with pytest.raises(sl.TableError, match="needs a version or a timestamp"):
        table.restore()
    with pytest.raises(sl.VersionNotFound):
        table.restore(99)


def test_restore_over_a_checkpoint(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(numbered(0, 3))
    table.append(numbered(3, 6))
    table.checkpoint()
    table.delete("id < 3")
    table.restore(2)
    assert ids(sl.Table(tmp_path)) == [0, 1, 2, 3, 4, 5]


def test_restored_files_bring_rows_back(tmp_path: Path) -> None:
    """Readers of the log must see added rows, even if a checkpoint says that nothing changed."""
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=FEED)
    table.append(numbered(0, 3))
    table.checkpoint()
    table.delete()
    table.restore(1)
    commit = (tmp_path / "_delta_log" / f"{3:020}.json").read_text().splitlines()
    [action] = [json.loads(line)["add"] for line in commit if '"add"' in line]
    assert action["dataChange"] is True
    assert sorted(row["id"] for row in table.changes(3).to_pylist()) == [0, 1, 2]


def test_restore_gives_out_no_column_id_twice(tmp_path: Path) -> None:
    properties = {"delta.columnMapping.mode": "name"}
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=properties)
    table.add_column(pa.field("x", pa.int64()))
    table.restore(0)
    assert table.schema.names == ["id", "v"]
    table.add_column(pa.field("y", pa.int64()))
    assert [field.id for field in table.snapshot.schema.fields] == [1, 2, 4]


def test_restore_what_was_vacuumed(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(numbered(0, 3))
    table.delete()
    age(tmp_path, days=8)
    table.vacuum(retention_hours=0, enforce_retention=False, dry_run=False)
    with pytest.raises(
        sl.TableError, match=r"version 1 can't be restored, 1 of its files are gone \(vacuumed\)"
    ):
        table.restore(1)


def test_restore_needs_the_vectors(tmp_path: Path) -> None:
    table = with_vector(tmp_path, stored(tmp_path, [1]))
    table.delete("id = 5")
    next(tmp_path.rglob("deletion_vector_*.bin")).unlink()
    with pytest.raises(sl.TableError, match="1 of its files are gone"):
        table.restore(2)


COMMIT_TIMES = "delta.enableInCommitTimestamps"
SINCE = "delta.inCommitTimestampEnablementVersion"


def test_restore_leaves_the_times_of_commits_as_they_are(tmp_path: Path) -> None:
    """The commits in between lack their time: a restored property would claim that they have it."""
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={COMMIT_TIMES: "true"})
    table.append(numbered(0, 3))
    table.set_properties({COMMIT_TIMES: "false"})
    table.append(numbered(3, 6))
    table.restore(1)
    assert ids(table) == [0, 1, 2]
    assert table.properties[COMMIT_TIMES] == "false"


def test_restore_does_not_turn_off_the_times_of_commits(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(numbered(0, 3))
    since = {COMMIT_TIMES: "true", SINCE: "2", "delta.inCommitTimestampEnablementTimestamp": "5000000"}
    changed = replace(table.snapshot.metadata, configuration={**table.properties, **since})
    protocol = with_features(table.protocol, {"inCommitTimestamp"})
    info = CommitInfo({"inCommitTimestamp": 5_000_000})
    (tmp_path / "_delta_log" / f"{2:020}.json").write_bytes(dumps([info, protocol, changed]))
    table = sl.Table(tmp_path)
    table.restore(0)
    assert {name: table.properties.get(name) for name in since} == since
    [newest] = table.history(1)
    assert newest["timestamp"].timestamp() > 5000
    first = json.loads((tmp_path / "_delta_log" / f"{3:020}.json").read_text().splitlines()[0])
    assert first["commitInfo"]["inCommitTimestamp"] > 5_000_000


@pytest.mark.parametrize("clustered", [False, True])
def test_restore_brings_the_clustering_columns_back(tmp_path: Path, clustered: bool) -> None:
    """Columns that the restored schema lacks would leave a table that no engine can cluster."""
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, cluster_by=["id"] if clustered else [])
    table.add_column(pa.field("later", pa.int64()))
    protocol = with_features(table.protocol, {"clustering"})
    domain = DomainMetadata("delta.clustering", '{"clusteringColumns":[["later"]]}')
    changes: list[Action] = [domain, *([] if protocol == table.protocol else [protocol])]
    (tmp_path / "_delta_log" / f"{2:020}.json").write_bytes(dumps(changes))
    table = sl.Table(tmp_path)
    assert table.snapshot.clustering_columns == ("later",)
    table.restore(0)
    assert table.snapshot.clustering_columns == (("id",) if clustered else ())


def test_restore_refuses_features_that_it_can_not_keep(tmp_path: Path) -> None:
    """A feature may be dropped from a table; restoring an older version would bring it back."""
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    log = tmp_path / "_delta_log" / f"{0:020}.json"
    current = table.protocol
    log.write_text(log.read_text().replace('"appendOnly"', '"rowTracking"'))
    (tmp_path / "_delta_log" / f"{1:020}.json").write_bytes(dumps([current]))
    table = sl.Table(tmp_path)
    table.append(numbered(0, 3))
    with pytest.raises(sl.UnsupportedFeature, match="writer feature rowTracking"):
        table.restore(0)
    assert sl.Table(tmp_path).version == 2
