"""The objects below a prefix, in a store: the same answers as a local folder gives."""

from __future__ import annotations

import pytest
from obstore.store import MemoryStore

from shredlake.delta.storage.store_files import StoreFiles


@pytest.fixture(params=["", "deep/t/"])
def files(request: pytest.FixtureRequest) -> StoreFiles:
    """With a neighbour whose name begins as the prefix does."""
    store = MemoryStore()
    StoreFiles(store, "deep/table2/" if request.param else "").put("other" if request.param else "a0", b"x")
    return StoreFiles(store, request.param)


def names(files: StoreFiles, prefix: str = "", start_after: str | None = None) -> list[str]:
    found = [entry.path for entry in files.entries(prefix, start_after)]
    return sorted(name for name in found if name not in ("a0", "other"))


def test_objects_are_named_relative_to_the_prefix(files: StoreFiles) -> None:
    assert names(files) == []
    for name in ("a", "d/b", "d/c", "e%41 ü"):
        files.put(name, name.encode())
    assert names(files) == ["a", "d/b", "d/c", "e%41 ü"]
    assert names(files, "d") == ["d/b", "d/c"]
    assert names(files, start_after="d/b") == ["d/c", "e%41 ü"]
    assert names(files, "nothing") == []
    assert {entry.path: entry.size for entry in files.residents()}["e%41 ü"] == len("e%41 ü".encode())


def test_reads(files: StoreFiles) -> None:
    files.put("a", b"0123456789")
    assert files.get("a") == b"0123456789"
    assert files.get_range("a", 2, 3) == b"234"
    entry = files.head("a")
    assert entry is not None
    assert (entry.path, entry.size) == ("a", 10)


@pytest.mark.parametrize(("start", "length"), [(-1, 2), (2, -1)])
def test_a_range_that_is_none_is_refused_before_the_store_is_asked(
    files: StoreFiles, start: int, length: int
) -> None:
    files.put("a", b"0123456789")
    with pytest.raises(ValueError, match=rf"{length} bytes at {start} is not a range"):
        files.get_range("a", start, length)


def test_what_is_not_there(files: StoreFiles) -> None:
    assert files.head("gone") is None
    files.delete("gone")
    with pytest.raises(FileNotFoundError):
        files.get("gone")


def test_an_object_is_created_once(files: StoreFiles) -> None:
    files.create("a", b"1")
    with pytest.raises(FileExistsError, match="a"):
        files.create("a", b"2")
    assert files.get("a") == b"1"
    files.put("a", b"3")
    assert files.get("a") == b"3"
    files.delete("a")
    files.create("a", b"4")
    assert files.get("a") == b"4"


def test_stores_in_memory_are_shared_by_host() -> None:
    StoreFiles.at("memory://shared-by-host/t", {}).put("a", b"1")
    assert StoreFiles.at("memory://shared-by-host/t/", {}).get("a") == b"1"
    assert [entry.path for entry in StoreFiles.at("memory://shared-by-host", {}).residents()] == ["t/a"]
    assert StoreFiles.at("memory://another-host/t", {}).head("a") is None
    assert StoreFiles.at("memory://shared-by-host/t2", {}).head("a") is None
