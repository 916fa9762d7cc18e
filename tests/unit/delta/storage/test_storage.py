"""Storage: files are created once, listed, and found by the paths of a log."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import (
    ID_AND_VARIANT,
    ids,
    numbered,
    write_commit,
)
from shredlake.delta.storage.storage import Storage, decode_path, encode_path


@pytest.fixture(params=["local", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return Storage(str(tmp_path / "t x%") if request.param == "local" else f"memory://care/{tmp_path.name}")


def test_put_if_absent(storage: Storage) -> None:
    storage.create("a/b.json", b"1")
    with pytest.raises(FileExistsError):
        storage.create("a/b.json", b"2")
    assert storage.get("a/b.json") == b"1"
    storage.put("a/b.json", b"3")
    assert (storage.get("a/b.json"), storage.get_range("a/b.json", 0, 1)) == (b"3", b"3")


def test_lists_heads_and_deletes(storage: Storage) -> None:
    assert storage.list() == []
    assert storage.head("x") is None
    for name in ("b", "a%41", "a/ü x", "a/c"):
        storage.put(name, name.encode())
    assert [entry.path for entry in storage.list()] == ["a%41", "a/c", "a/ü x", "b"]
    assert [entry.path for entry in storage.list("a")] == ["a/c", "a/ü x"]
    assert [entry.path for entry in storage.list(start_after="a/c")] == ["a/ü x", "b"]
    assert storage.head("b").size == 1
    storage.delete(["b", "not there"])
    assert storage.head("b") is None
    for missing in (storage.get, storage.open_input, lambda name: storage.get_range(name, 0, 1)):
        with pytest.raises(FileNotFoundError):
            missing("b")


def test_storage_travels(storage: Storage) -> None:
    storage.put("a", b"1")
    assert pickle.loads(pickle.dumps(storage)).get("a") == b"1"


@pytest.mark.parametrize(
    "name", ["plain.parquet", "a b.parquet", "100%.parquet", "ü/x=1/#?.parquet", "a+b&c.parquet"]
)
def test_paths_of_the_log(name: str) -> None:
    assert decode_path(encode_path(name)) == name


def test_absolute_paths(tmp_path: Path) -> None:
    """A shallow copy names the files of another table by their full address."""
    source = sl.Table.create(tmp_path / "source x", ID_AND_VARIANT)
    source.append(numbered(0, 3))
    source.append(numbered(3, 6))
    allowed = {"allow_paths": [tmp_path / "source x"]}
    copy = sl.Table.create(tmp_path / "copy", ID_AND_VARIANT, storage_options=allowed)
    for version, (row, scheme) in enumerate(
        zip(source.files().to_pylist(), ("file://", "file:"), strict=True), start=1
    ):
        add = {
            "path": (tmp_path / "source x" / row["path"]).as_uri().replace("file://", scheme),
            "partitionValues": {},
            "size": row["size"],
            "modificationTime": 1,
            "dataChange": True,
        }
        write_commit(tmp_path / "copy", version, [{"add": add}])
    assert ids(copy.refresh()) == [0, 1, 2, 3, 4, 5]
    copy.delete("id in (1, 4)")
    assert ids(copy) == [0, 2, 3, 5]
    assert ids(sl.Table(tmp_path / "source x")) == [0, 1, 2, 3, 4, 5]


def test_an_address_that_can_not_be() -> None:
    with pytest.raises(sl.TableError, match="could not be opened"):
        sl.Table("nothing://like/that")


def test_an_address_that_is_not_utf8(tmp_path: Path) -> None:
    with pytest.raises(sl.TableError, match="the address is not UTF-8"):
        sl.Table.create(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"), pa.schema([("id", pa.int64())]))
    assert os.listdir(tmp_path) == []
