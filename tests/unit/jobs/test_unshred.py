"""Copies for engines that read no shredded files or no Variants: every row once, and no second copy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, numbered, python, rows_of
from shredlake.errors import InvalidSchema, TableExists
from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.report import IngestReport
from shredlake.jobs.unshred import texts_of, unshred_table

ENGINE = LocalEngine(1)


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    made = sl.Table.create(tmp_path / "t", ID_AND_VARIANT)
    made.append(numbered(0, 5))
    made.append(rows_of([5, 6, 7], [[1, None], None, ...]))
    return made


def copied(table: sl.Table, target: Path, **options: Any) -> IngestReport:
    return unshred_table(ENGINE, table.uri, str(target), **options)


def by_id(table: sl.Table) -> list[dict[str, Any]]:
    return sorted(python(table.scan().to_arrow()), key=lambda row: row["id"])


def test_files_of_the_copy_are_not_shredded(table: sl.Table, tmp_path: Path) -> None:
    report = copied(table, tmp_path / "copy")
    assert (report.rows, report.files, report.already_done) == (8, 1, False)
    assert report.input_bytes == sum(table.files()["size"].to_pylist())
    copy = sl.Table(tmp_path / "copy")
    assert by_id(copy) == by_id(table)
    [path] = copy.files()["path"].to_pylist()
    names = [item.name for item in pq.read_schema(tmp_path / "copy" / path).field("v").type]
    assert names == ["metadata", "value"]
    assert "variantShredding" not in (copy.protocol.reader_features or ())


def test_variants_become_json_and_the_rest_stays(table: sl.Table, tmp_path: Path) -> None:
    copied(table, tmp_path / "copy", as_text=True)
    copy = sl.Table(tmp_path / "copy")
    assert copy.schema == pa.schema([("id", pa.int64()), ("v", pa.string())])
    texts = {row["id"]: row["v"] for row in copy.scan().to_arrow().to_pylist()}
    assert json.loads(texts[3]) == {"a": 3, "s": "s3"}
    assert [texts[key] for key in (5, 6, 7)] == ["[1,null]", "null", None]
    assert copy.protocol.reader_features is None


def test_a_second_run_adds_nothing_and_a_new_version_needs_another_table(
    table: sl.Table, tmp_path: Path
) -> None:
    copied(table, tmp_path / "copy")
    again = copied(table, tmp_path / "copy")
    assert again.already_done
    assert sl.Table(tmp_path / "copy").scan().count() == 8
    table.append(numbered(8, 9))
    with pytest.raises(TableExists, match=r"already has rows\. Copy into an empty or new table"):
        copied(table, tmp_path / "copy")
    assert copied(table, tmp_path / "old", version=1).rows == 5


def test_an_empty_table_may_take_the_copy(table: sl.Table, tmp_path: Path) -> None:
    sl.Table.create(tmp_path / "copy", ID_AND_VARIANT)
    copied(table, tmp_path / "copy")
    assert by_id(sl.Table(tmp_path / "copy")) == by_id(table)


def test_partitions_and_properties_are_kept(tmp_path: Path) -> None:
    properties = {
        "mine": "x",
        "delta.enableVariantShredding": "true",
        "shredlake.shredding.v": "struct<a int>",
    }
    table = sl.Table.create(tmp_path / "t", ID_AND_VARIANT, ["id"], properties=properties)
    table.append(numbered(0, 3))
    copied(table, tmp_path / "copy")
    copy = sl.Table(tmp_path / "copy")
    assert (copy.partition_columns, copy.properties["mine"]) == (("id",), "x")
    assert copy.properties.get("delta.enableVariantShredding") != "true"
    assert copy.scan(where="id = 2").count() == 1


def test_a_table_without_rows_is_copied(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path / "t", ID_AND_VARIANT)
    assert copied(table, tmp_path / "copy").rows == 0
    assert sl.Table(tmp_path / "copy").scan().count() == 0


def test_what_can_not_be_copied_leaves_no_table(tmp_path: Path) -> None:
    plain = sl.Table.create(tmp_path / "plain", pa.schema([("id", pa.int64())]))
    with pytest.raises(InvalidSchema, match="has no Variant column, so there is nothing to unshred"):
        copied(plain, tmp_path / "copy")
    schema = pa.schema([("v", sl.variant()), ("s", pa.struct([("x", sl.variant())]))])
    nested = sl.Table.create(tmp_path / "nested", schema)
    with pytest.raises(InvalidSchema, match=r"s\.x is a nested Variant, which can't become text"):
        copied(nested, tmp_path / "copy", as_text=True)
    assert not (tmp_path / "copy").exists()


def test_names_and_order_of_columns_stay() -> None:
    rows = numbered(1, 2).append_column("w", pa.array(["x"])).to_batches()[0]
    assert texts_of(rows).to_pylist() == [{"id": 1, "v": '{"a":1,"s":"s1"}', "w": "x"}]
    assert texts_of(rows[:0]).schema.names == ["id", "v", "w"]
