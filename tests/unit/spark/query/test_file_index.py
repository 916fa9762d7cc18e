"""Lists of files as relations of Spark: partition values by folder, and no folder is listed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import PROTOCOL, add, metadata, write_commit
from shredlake.spark.query.data_files import DataFiles, value_name
from shredlake.spark.query.file_index import has_values, partition_schema, partitions_by_folder, relation

DAY = value_name("day")


def listed(place: Path, *files: tuple[str, str | None]) -> DataFiles:
    """Files of a table with these paths and partition values."""
    fields = [
        {"name": n, "type": k, "nullable": True, "metadata": {}} for n, k in (("id", "long"), ("day", "date"))
    ]
    schema = __import__("json").dumps({"type": "struct", "fields": fields})
    adds = [add(path, partitionValues={"day": day}) for path, day in files]
    write_commit(place, 0, [PROTOCOL, metadata(schema, partitionColumns=["day"]), *adds])
    return DataFiles.of(sl.Table(place).snapshot, np.ones(len(files), dtype=bool))


def test_folders_that_tell_partitions_apart(tmp_path: Path) -> None:
    found = partitions_by_folder(
        listed(tmp_path, ("x/a", "2026-01-31"), ("x/b", "2026-01-31"), ("y/c", None), ("d", "2026-02-01"))
    )
    assert found is not None
    rows = {row["folder"].removeprefix(f"file://{tmp_path}"): row[DAY] for row in found.to_pylist()}
    assert {folder: str(day) for folder, day in rows.items()} == {
        "/x": "2026-01-31", "/y": "None", "": "2026-02-01",
    }  # fmt: skip


def test_folders_that_do_not(tmp_path: Path) -> None:
    assert partitions_by_folder(listed(tmp_path, ("x/a", "2026-01-31"), ("x/b", None))) is None


def test_partition_columns_have_the_types_of_the_table(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")
    assert [
        (one.name, one.dataType.simpleString()) for one in partition_schema(listed(tmp_path, ("a", None)))
    ] == [(DAY, "date")]


@pytest.mark.spark
def test_only_listed_files_are_read(spark: Any, tmp_path: Path) -> None:
    """Also with odd names, and although the folder holds another file."""
    from pyspark.sql.types import StructType

    table = sl.Table.create(tmp_path / "a b%{x}", pa.schema([("id", pa.int64()), ("p", pa.string())]), ["p"])
    table.append(pa.table({"id": [1, 2, 3], "p": ["*", "b=c", None]}))
    snapshot = table.snapshot
    table.append(pa.table({"id": [4], "p": ["*"]}))
    files = DataFiles.of(snapshot, np.ones(3, dtype=bool))
    found = relation(spark, files, StructType.fromDDL("id bigint not null"), declare=True)
    assert found is not None
    assert has_values(found, files)
    assert {row["id"]: row[value_name("p")] for row in found.collect()} == {1: "*", 2: "b=c", 3: None}
    assert not found.schema["id"].nullable
    nullable = relation(spark, files, StructType.fromDDL("id bigint not null"), declare=False)
    assert nullable is not None
    assert nullable.schema["id"].nullable
    assert nullable.where(nullable[f"`{value_name('p')}`"] == "b=c").inputFiles()
    nothing = relation(
        spark, files.filter(pa.array([False] * 3)), StructType.fromDDL("id bigint"), declare=False
    )
    assert nothing is not None
    assert nothing.count() == 0
