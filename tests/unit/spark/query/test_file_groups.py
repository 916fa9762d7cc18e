"""How the files of a scan are grouped, planned without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import variants
from shredlake.delta.protocol.actions import Add
from shredlake.delta.read.bind import condition
from shredlake.expr import references
from shredlake.kernels.cast_options import CastOptions

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")

FILES = 5


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    """Each file has another layout."""
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    made = sl.Table.create(tmp_path / "t", schema, properties={"delta.enableVariantShredding": "true"})
    for number in range(FILES):
        data = {"id": pa.array([number], pa.int64()), "v": variants([{f"a{number}": {"x": 1}}])}
        made.append(pa.table(data), shredding={"v": f"struct<a{number} struct<x bigint>>"})
    return made


def groups(table: sl.Table, where: str) -> list[Any]:
    from shredlake.spark.query.data_files import DataFiles
    from shredlake.spark.query.file_groups import Grouper

    snapshot = table.snapshot
    predicate = condition(where, snapshot.schema)
    assert predicate is not None
    no_spark: Any = None
    grouper = Grouper(no_spark, snapshot, sorted(references(predicate), key=str), CastOptions())
    return grouper.groups(DataFiles.of(snapshot, np.ones(FILES, dtype=bool)))


def strip_layouts(table: sl.Table) -> sl.Table:
    """The same table as another writer makes it: the log does not say how files shred their Variants."""
    for entry in Path(table.uri.removeprefix("file://")).glob("_delta_log/*.json"):
        actions = [json.loads(line) for line in entry.read_text().splitlines()]
        for action in actions:
            action.get("add", {}).pop("tags", None)
        entry.write_text("".join(json.dumps(action) + "\n" for action in actions))
    for other in Path(table.uri.removeprefix("file://")).glob("_delta_log/*"):
        if other.is_file() and other.suffix != ".json":
            other.unlink()
    return sl.Table(table.uri)


def test_no_footer_is_read_for_a_query_without_paths(table: sl.Table) -> None:
    foreign = strip_layouts(table)
    for file in Path(table.uri.removeprefix("file://")).glob("**/*.parquet"):
        file.unlink()
    [group] = groups(foreign, "id = 3")
    assert (len(group.files), group.worker) == (FILES, "")
    with pytest.raises((OSError, sl.ShredlakeError)):
        groups(foreign, "v:a0.x::bigint = 3")


def test_layouts_are_told_apart_for_a_path(table: sl.Table) -> None:
    assert sum(len(group.files) for group in groups(strip_layouts(table), "v:a0.x::bigint = 1")) == FILES
    assert len(groups(table, "v:a0.x::bigint = 1")) == 2


def test_workers_share_the_files_of_all_reasons(table: sl.Table) -> None:
    from shredlake.spark.query.file_groups import worker_tasks

    where = " or ".join(f"v:a{number}::string is null" for number in range(FILES))
    found = groups(table, where)
    assert len({group.worker for group in found}) == FILES
    [task] = worker_tasks(found)
    assert [type(add) for add in task] == [Add] * FILES
    assert {add.path for add in task} == set(table.files().column("path").to_pylist())
