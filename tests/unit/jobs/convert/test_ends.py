"""The two ends of a conversion: what can be read, and what table is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.delta.protocol.actions import Metadata, Protocol
from shredlake.delta.schema.types import VARIANT
from shredlake.delta.storage.storage import Storage
from shredlake.errors import InvalidSchema, NotATable, TableError, TableExists
from shredlake.jobs.convert.ends import (
    Source,
    check_columns,
    check_rejects,
    is_converted,
    open_source,
    plan_target,
)
from shredlake.jobs.convert.task import FACTS

SCHEMA = pa.schema([("id", pa.int64()), ("Text", pa.string()), ("p", pa.string())])
ROWS = [{"id": 1, "Text": "[1]", "p": "x"}]


def file(path: Path, *names: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    wanted = pa.schema([SCHEMA.field(name) for name in names or SCHEMA.names])
    pq.write_table(pa.Table.from_pylist(ROWS, wanted), path)
    return path


def opened(path: Path, *columns: str) -> Source:
    return open_source(str(path), columns or ("Text",), {})


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    made = sl.Table.create(tmp_path / "t", SCHEMA, ["p"], properties={"mine": "x"})
    made.append(ROWS)
    return made


# ── What is read ────────────────────────────────────────────────────────────────────────────────────────


def test_a_table_is_read_at_its_latest_version(table: sl.Table) -> None:
    table.append(ROWS)
    source = opened(Path(table.uri.removeprefix("file://")))
    assert (source.is_table, source.is_file, source.snapshot.version, len(source.adds)) == (True, False, 2, 2)
    assert source.address == table.uri


def test_the_files_of_a_folder_without_hidden_ones(tmp_path: Path) -> None:
    names = ("a b%.parquet", "deep/b.parquet", "_tmp/c.parquet", ".d.parquet", "deep/_e.parquet", "f.txt")
    for name in names:
        file(tmp_path / name)
    source = opened(tmp_path)
    assert [add.path for add in source.adds] == ["a%20b%25.parquet", "deep/b.parquet"]
    assert (source.is_table, source.is_file, source.snapshot.schema.names) == (False, False, SCHEMA.names)
    assert all(add.size == (tmp_path / "deep" / "b.parquet").stat().st_size for add in source.adds)
    assert not (tmp_path / "_delta_log").exists()


@pytest.mark.parametrize("name", ["a b.parquet", "100%.parquet", "without ending"])
def test_a_single_file_is_read_from_the_folder_around_it(tmp_path: Path, name: str) -> None:
    file(tmp_path / "other.parquet", "id")
    source = opened(file(tmp_path / "day=1" / name))
    assert (len(source.adds), source.is_file) == (1, True)
    assert source.snapshot.schema.names == SCHEMA.names
    assert source.address.endswith(f"/{name}")


def test_columns_of_folders_are_partition_columns(tmp_path: Path) -> None:
    for day in ("1", "12"):
        file(tmp_path / f"day={day}" / "a.parquet", "id", "Text")
    source = opened(tmp_path)
    assert source.snapshot.metadata.partition_columns == ("day",)
    assert source.snapshot.schema.names == ["id", "Text", "day"]
    assert sorted(add.partition_values["day"] or "" for add in source.adds) == ["1", "12"]
    file(tmp_path / "hour=1" / "a.parquet", "id", "Text")
    with pytest.raises(InvalidSchema, match=r"folders name different columns: day; hour=1/a\.parquet: hour"):
        opened(tmp_path)


def test_files_that_a_conversion_left_are_not_read_again(tmp_path: Path) -> None:
    file(tmp_path / "old.parquet", "id", "Text")
    new = pa.table({"id": [1], "Text": sl.from_json(["[1]"])})
    sl.write_parquet(new, tmp_path / "new.parquet")
    assert [add.path for add in opened(tmp_path).adds] == ["old.parquet"]
    (tmp_path / "old.parquet").unlink()
    assert [add.path for add in opened(tmp_path).adds] == ["new.parquet"]


@pytest.mark.parametrize("name", ["none", "notes.txt", "empty"])
def test_what_has_no_files_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotATable, match=f"{name} is neither a Delta table, a Parquet file nor"):
        opened(tmp_path / name)


# ── Columns ─────────────────────────────────────────────────────────────────────────────────────────────


def test_columns_are_found_in_any_case_and_named_once(table: sl.Table) -> None:
    source = opened(Path(table.uri.removeprefix("file://")))
    assert check_columns(source, ["TEXT", "text"]) == ("Text",)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("Text", "as a list"),
        ([], "as a list"),
        (["x"], "has no column 'x'; it has id, Text, p"),
        (["P"], "is partitioned by 'p', so it can't become a Variant"),
        (["Text", "id"], "column 'id' of .* is long; only strings hold JSON"),
    ],
)
def test_columns_that_can_not_be_converted(table: sl.Table, columns: Any, message: str) -> None:
    with pytest.raises(InvalidSchema, match=message):
        check_columns(opened(Path(table.uri.removeprefix("file://"))), columns)


def test_converted_columns_are_known(tmp_path: Path) -> None:
    sl.Table.create(tmp_path, pa.schema([("a", pa.string()), ("v", sl.variant()), ("w", sl.variant())]))
    source = opened(tmp_path)
    assert [is_converted(source, columns) for columns in (["a"], ["v"], ["v", "w"])] == [False, True, True]
    with pytest.raises(InvalidSchema, match="some of a, v are already Variants; name only the others"):
        is_converted(source, ["a", "v"])


# ── What is written ─────────────────────────────────────────────────────────────────────────────────────


def test_a_table_in_place_is_redefined(table: sl.Table, tmp_path: Path) -> None:
    target = plan_target(opened(tmp_path / "t"), ["Text"], None, True, {})
    assert {type(action) for action in target.redefinition} == {Metadata, Protocol}
    assert target.snapshot.version == 1
    found = target.snapshot.schema.get("Text")
    assert found is not None
    assert found.type == VARIANT
    assert target.snapshot.properties["mine"] == "x"
    plain = plan_target(opened(tmp_path / "t"), ["Text"], None, False, {})
    assert "variantShredding" not in (plain.snapshot.protocol.reader_features or ())


def test_a_copy_is_a_new_table_like_the_source(table: sl.Table, tmp_path: Path) -> None:
    target = plan_target(opened(tmp_path / "t"), ["Text"], str(tmp_path / "copy"), True, {})
    assert (target.redefinition, target.snapshot.version) == ((), -1)
    assert target.snapshot.metadata.partition_columns == ("p",)
    assert target.snapshot.properties["mine"] == "x"
    assert target.snapshot.storage.uri == Storage(str(tmp_path / "copy")).uri
    with pytest.raises(TableExists, match="name another address for the copy"):
        plan_target(opened(tmp_path / "t"), ["Text"], table.uri, True, {})


def test_files_become_a_table_where_they_are_but_a_single_file_does_not(tmp_path: Path) -> None:
    path = file(tmp_path / "in" / "a.parquet")
    target = plan_target(opened(tmp_path / "in"), ["Text"], None, True, {})
    assert (target.snapshot.version, target.redefinition) == (-1, ())
    with pytest.raises(InvalidSchema, match="a single file can't be converted in place"):
        plan_target(opened(path), ["Text"], None, True, {})


def test_an_append_only_table_is_not_converted_in_place(tmp_path: Path) -> None:
    sl.Table.create(tmp_path, SCHEMA, properties={"delta.appendOnly": "true"})
    with pytest.raises(TableError, match="append-only"):
        plan_target(opened(tmp_path), ["Text"], None, True, {})


def test_a_comment_is_kept_and_what_is_about_strings_is_not(tmp_path: Path) -> None:
    about = {"comment": "the body", "__CHAR_VARCHAR_TYPE_STRING": "varchar(9)"}
    sl.Table.create(tmp_path, pa.schema([pa.field("Text", pa.string(), metadata=about)]))
    found = plan_target(opened(tmp_path), ["Text"], None, True, {}).snapshot.schema.get("Text")
    assert found is not None
    assert found.metadata == {"comment": "the body"}


ROWS_OF_REJECTS = pa.schema([*FACTS, ("id", pa.int64())])


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (ROWS_OF_REJECTS, None),
        (FACTS, None),
        (ROWS_OF_REJECTS.append(pa.field("more", pa.string())), None),
        (pa.schema([("id", pa.int64())]), "is not a rejects table of a conversion: it has id"),
        (pa.schema([*FACTS, ("id", pa.string())]), "its column 'id' does not fit"),
        (ROWS_OF_REJECTS.append(pa.field("more", pa.string(), nullable=False)), "its column 'more' does not"),
    ],
)
def test_a_table_of_rejects_must_take_the_rows(
    tmp_path: Path, schema: pa.Schema, message: str | None
) -> None:
    check_rejects(Storage(str(tmp_path / "none")), ROWS_OF_REJECTS)
    sl.Table.create(tmp_path / "r", schema)
    if message is None:
        check_rejects(Storage(str(tmp_path / "r")), ROWS_OF_REJECTS)
    else:
        with pytest.raises(InvalidSchema, match=message):
            check_rejects(Storage(str(tmp_path / "r")), ROWS_OF_REJECTS)
