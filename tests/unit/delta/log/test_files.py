"""The live files of a snapshot: from a checkpoint and the commits after it, in one order of places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from delta_tables import PROTOCOL, add, metadata, remove, write_commit
from shredlake.delta.log.files import FILE_SCHEMA, Files, as_adds, file_rows, key_of, keys_of, logged_key
from shredlake.delta.protocol.actions import DeletionVector
from shredlake.errors import CorruptLog

VECTOR = {"storageType": "u", "pathOrInlineDv": "xy", "offset": 1, "sizeInBytes": 9, "cardinality": 2}


def rows(*adds: dict[str, Any]) -> pa.Table:
    return file_rows([one["add"] for one in adds])


def test_rows_of_actions_have_every_field() -> None:
    assert file_rows([]).schema == FILE_SCHEMA
    [row] = rows(add("a", tags={"t": "1"}, deletionVector=VECTOR, unknown=5)).to_pylist(
        maps_as_pydicts="strict"
    )
    assert row == {
        "path": "a", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True,
        "stats": None,
        "tags": {"t": "1"}, "deletionVector": VECTOR, "baseRowId": None, "defaultRowCommitVersion": None,
        "clusteringProvider": None,
    }  # fmt: skip


ACTIONS = [
    add("a"),
    add("./d//b", deletionVector=VECTOR),
    add("c", deletionVector={name: value for name, value in VECTOR.items() if name != "offset"}),
    add("file:/t/x"),
]
KEYS = ["a", "d/b\0uxy@1", "c\0uxy", "file:///t/x"]


def test_keys_are_the_same_one_by_one_and_by_column() -> None:
    table = rows(*ACTIONS)
    assert keys_of(table["path"], table["deletionVector"]).to_pylist() == KEYS
    assert [logged_key(one["add"]) for one in ACTIONS] == KEYS
    assert [key_of(one.path, one.deletion_vector) for one in as_adds(table)] == KEYS


def test_keys_without_vectors_are_paths() -> None:
    table = rows(add("a"), add("./b"))
    assert keys_of(table["path"], table["deletionVector"]).to_pylist() == ["a", "b"]
    assert keys_of(table["path"][:0], table["deletionVector"][:0]).to_pylist() == []


def test_rows_become_actions_again() -> None:
    table = rows(add("a", partitionValues={"p": None, "q": "1"}, stats="{}", baseRowId=7))
    [found] = as_adds(table)
    assert (found.path, found.partition_values, found.stats) == ("a", {"p": None, "q": "1"}, "{}")
    assert found.extra == {"baseRowId": 7}
    [vector] = as_adds(rows(add("a", deletionVector=VECTOR)))
    assert vector.deletion_vector == DeletionVector("u", "xy", 9, 2, 1)


def test_a_row_that_is_not_an_action_is_named() -> None:
    with pytest.raises(CorruptLog, match=r"the checkpoint's entry for 'a': .* size .*, not -1"):
        as_adds(rows(add("a", size=-1)))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A checkpoint of four files; then `b` is removed, `c` added again, and `e` added."""
    write_commit(tmp_path, 0, [PROTOCOL, metadata(), *(add(name, size=ord(name)) for name in "abcd")])
    sl.Table(tmp_path).checkpoint()
    write_commit(tmp_path, 1, [remove("b"), add("./c", size=1), add("e", size=2)])
    found = sl.Table(tmp_path).snapshot.files
    assert len(found.parts) == 1
    return found


def sizes(table: pa.Table) -> dict[str, int]:
    return dict(zip(table["path"].to_pylist(), table["size"].to_pylist(), strict=True))


def test_replaced_files_keep_their_places_and_are_not_read(files: Files) -> None:
    assert (files.places, len(files)) == (6, 4)
    assert files.live is not None
    assert sorted(files.column("path").to_pylist()) == ["./c", "a", "b", "c", "d", "e"]
    assert sizes(files.table()) == {"a": ord("a"), "d": ord("d"), "./c": 1, "e": 2}
    assert files.table().schema == FILE_SCHEMA


def test_a_mask_chooses_among_the_live_files(files: Files) -> None:
    paths = files.column("path").to_pylist()
    for wanted in (set(), {"a"}, {"e"}, {"a", "b", "c", "e"}):
        keep = np.array([path in wanted for path in paths])
        assert sizes(files.table(["path", "size"], keep)).keys() == wanted - {"b", "c"}
        assert set(files.column("path", keep).to_pylist()) == wanted


def test_without_a_checkpoint_every_place_is_live() -> None:
    files = Files([], rows(add("a"), add("b")), ["a"])
    assert (files.live, len(files), files.places) == (None, 2, 2)
    assert len(Files([], FILE_SCHEMA.empty_table(), ())) == 0


def rewritten(root: Path, change: Any) -> None:
    """Changes the `add` column of the checkpoint, as another writer may have it."""
    [path] = root.glob("_delta_log/*.checkpoint.parquet")
    table = pq.read_table(path)
    adds = table["add"].combine_chunks()
    columns = change(dict(zip([item.name for item in adds.type], adds.flatten(), strict=True)))
    made = pa.StructArray.from_arrays(list(columns.values()), names=list(columns), mask=adds.is_null())
    pq.write_table(table.set_column(table.schema.get_field_index("add"), "add", made), path)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    vector = add("b", deletionVector=VECTOR)
    write_commit(tmp_path, 0, [PROTOCOL, metadata(), add("a", size=5, stats='{"numRecords":1}'), vector])
    sl.Table(tmp_path).checkpoint()
    (tmp_path / "_delta_log" / f"{0:020}.json").unlink()
    return tmp_path


def test_columns_in_the_types_of_other_writers(checkpoint: Path) -> None:
    kept = ("path", "size", "deletionVector", "stats")

    def other(columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
        vector = columns["deletionVector"]
        fields = [
            vector.field(name) for name in ("pathOrInlineDv", "storageType", "sizeInBytes", "cardinality")
        ]
        names = ["pathOrInlineDv", "storageType", "sizeInBytes", "cardinality"]
        return {
            "stats": columns["stats"].cast(pa.large_string()),
            "size": columns["size"].cast(pa.int32()),
            "path": columns["path"].cast(pa.large_string()),
            "deletionVector": pa.StructArray.from_arrays(fields, names=names, mask=vector.is_null()),
        }

    rewritten(checkpoint, other)
    found = sl.Table(checkpoint).snapshot.files.table()
    assert found.schema == FILE_SCHEMA
    by_path = {row["path"]: row for row in found.to_pylist()}
    assert {name: by_path["a"][name] for name in kept} == {
        "path": "a", "size": 5, "deletionVector": None, "stats": '{"numRecords":1}',
    }  # fmt: skip
    assert by_path["b"]["deletionVector"] == VECTOR | {"offset": None}
    assert by_path["b"]["tags"] is None


@pytest.mark.parametrize("name", ["path", "size"])
def test_a_checkpoint_whose_files_lack_what_they_must_have(checkpoint: Path, name: str) -> None:
    rewritten(checkpoint, lambda columns: columns | {name: pa.nulls(len(columns[name]), columns[name].type)})
    with pytest.raises(CorruptLog, match=f"checkpoint.parquet: an add action lacks the field {name}"):
        sl.Table(checkpoint).snapshot.files.table()
