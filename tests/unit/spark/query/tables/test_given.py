"""The table that a caller names: by an address, or as a `Table`, which keeps its version and options."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import ShredlakeError, VersionNotFound
from shredlake.spark.query.tables.given import snapshot_of, storage_of


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A table of three versions."""
    table = sl.Table.create(tmp_path / "a b%20c", pa.schema([("id", pa.int64())]))
    for number in range(2):
        table.append(pa.table({"id": [number]}))
    return tmp_path / "a b%20c"


def test_an_address_means_the_newest_version(place: Path) -> None:
    for given in (place, str(place), os.fspath(place)):
        assert snapshot_of(given).version == 2
    sl.Table(place).append(pa.table({"id": [2]}))
    assert snapshot_of(place).version == 3


def test_a_table_keeps_its_version(place: Path) -> None:
    pinned, table = sl.Table(place, version=1), sl.Table(place)
    assert (snapshot_of(pinned).version, snapshot_of(table).version) == (1, 2)
    assert snapshot_of(table) is table.snapshot


def test_a_version_or_time_that_is_asked_for_comes_first(place: Path) -> None:
    for given in (place, sl.Table(place), sl.Table(place, version=2)):
        assert snapshot_of(given, version=0).version == 0
        assert snapshot_of(given, timestamp=datetime.now(UTC)).version == 2
    with pytest.raises(VersionNotFound):
        snapshot_of(place, version=7)
    with pytest.raises(ShredlakeError):
        snapshot_of(place.parent / "nothing")


def test_the_options_of_a_table_are_its_own() -> None:
    options = {"aws_region": "eu-west-1"}
    assert storage_of("s3://bucket/t", options).options == options
    assert storage_of("s3://bucket/t").options == {}


def test_a_given_table_ignores_the_options_of_a_call(place: Path) -> None:
    table = sl.Table(place)
    assert storage_of(table, {"aws_region": "eu-west-1"}) == table.snapshot.storage
