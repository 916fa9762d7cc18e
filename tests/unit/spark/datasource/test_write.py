"""A writer in this process, without Spark: what it refuses, and what an abort may remove."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import ShredlakeError

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")


def frame(**columns: str) -> Any:
    from pyspark.sql.types import StructType

    fields = [{"name": n, "type": k, "nullable": True, "metadata": {}} for n, k in columns.items()]
    return StructType.fromJson({"type": "struct", "fields": fields})


def writer(place: Path, schema: Any, overwrite: bool = False, **options: Any) -> Any:
    from shredlake.spark.datasource.options import WRITE, SourceOptions
    from shredlake.spark.datasource.write import TableWriter

    given = {name.lower(): value for name, value in options.items()}
    return TableWriter(SourceOptions.of({"path": str(place), **given}, WRITE), schema, overwrite)


def batch(*ids: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"id": list(ids)})


def test_only_messages_that_reach_the_commit_are_committed(tmp_path: Path) -> None:
    one = writer(tmp_path / "t", frame(id="long"))
    first, copy = one.write(iter([batch(1, 2)])), one.write(iter([batch(1, 2)]))
    assert first.result != copy.result
    one.commit([first])
    assert sl.Table(tmp_path / "t").scan().count() == 2
    assert len(list((tmp_path / "t").glob("*.parquet"))) == 2  # the copy's file is left to vacuum


def test_an_abort_removes_files_only_if_nothing_can_be_committed(tmp_path: Path) -> None:
    one = writer(tmp_path / "t", frame(id="long"))
    message = one.write(iter([batch(1)]))
    one.commit([message])
    one.abort([message])  # Spark aborts after a commit whose answer was lost
    assert sl.Table(tmp_path / "t").scan(["id"]).to_arrow().column("id").to_pylist() == [1]
    other = writer(tmp_path / "t", frame(id="long"))
    other.abort([other.write(iter([batch(2)])), None])  # a task failed, so there was no commit
    assert len(list((tmp_path / "t").glob("*.parquet"))) == 1


def test_a_schema_change_during_an_overwrite_is_a_conflict(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]))
    one = writer(tmp_path / "t", frame(id="long"), overwrite=True)
    message = one.write(iter([batch(1)]))
    table.add_column(pa.field("note", pa.string()))
    with pytest.raises(ShredlakeError, match="changed while the new rows were written"):
        one.commit([message])
    assert not list((tmp_path / "t").glob("*.parquet"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shreding": "infer"}, "did you mean 'shredding'"),
        ({"replaceWhere": "id = 1"}, 'replaceWhere needs mode("overwrite")'),
        ({"partitionBy": "nope"}, "partitioned by"),
        ({"document": "nope"}, "has no column 'nope'"),
        ({"document": "id"}, r"'id' is bigint, not documents: text, structs or Variants. Name another one"),
        ({"txnAppId": "a"}, "go together"),
        ({"maxFilesPerTrigger": "5"}, "an option of a stream read"),
        ({"version": "1"}, "can't have the option version"),
        ({"maxRejects": "lots"}, "max_rejects is 'lots'"),
        ({"shredding": "struct<a int>"}, "there are no Variants"),
    ],
)
def test_mistakes_are_explained(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    sl.Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]))
    with pytest.raises(ShredlakeError) as error:
        writer(tmp_path / "t", frame(id="long"), **options)
    assert message in str(error.value)


def test_columns_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    sl.Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]))
    with pytest.raises(ShredlakeError, match="the frame has the column 'other'"):
        writer(tmp_path / "t", frame(id="long", other="long"))
    with pytest.raises(ShredlakeError, match="id"):
        writer(tmp_path / "t", frame(id="string"))
    sl.Table.create(tmp_path / "p", pa.schema([("id", pa.int64()), ("day", pa.date32())]), ["day"])
    with pytest.raises(ShredlakeError, match="partitioned by 'day'"):
        writer(tmp_path / "p", frame(id="long"))


@pytest.mark.parametrize("overwrite", [False, True])
def test_new_columns_are_added_where_asked_for(tmp_path: Path, overwrite: bool) -> None:
    one = writer(tmp_path / "t", frame(id="long"))
    one.commit([one.write(iter([batch(1)]))])
    rows = pa.RecordBatch.from_pydict({"id": [2], "note": ["new"]})
    with pytest.raises(ShredlakeError, match="schemaMode"):
        writer(tmp_path / "t", frame(id="long", note="string"), overwrite)
    merging = writer(tmp_path / "t", frame(id="long", note="string"), overwrite, schemaMode="merge")
    merging.commit([merging.write(iter([rows]))])
    old = [] if overwrite else [{"id": 1, "note": None}]
    found = sl.Table(tmp_path / "t")
    assert found.scan().to_arrow().sort_by("id").to_pylist() == [*old, {"id": 2, "note": "new"}]
    late = writer(tmp_path / "t", frame(id="long", x="long"), overwrite, schemaMode="merge")
    message = late.write(iter([pa.RecordBatch.from_pydict({"id": [3], "x": [1]})]))
    found.add_column(pa.field("y", pa.string()))
    with pytest.raises(ShredlakeError, match="changed"):
        late.commit([message])
    assert sl.Table(tmp_path / "t").schema.names == ["id", "note", "y"]


def test_files_are_as_large_as_asked_for(tmp_path: Path) -> None:
    numbers = np.random.default_rng(1).integers(0, 1 << 62, (80, 2_000))  # 16 kB each, which do not compress

    def sizes(place: Path, **options: Any) -> list[int]:
        one = writer(place, frame(id="long"), **options)
        one.commit([one.write(batch(*some) for some in numbers)])
        assert sl.Table(place).scan().count() == numbers.size
        return sorted(sl.Table(place).files().column("size").to_pylist())

    assert len(sizes(tmp_path / "whole")) == 1
    *others, _ = sizes(tmp_path / "parts", fileBytes="128k")  # only the first tells how well rows compress
    assert len(others) >= 5
    assert others[-1] < 160 << 10


def test_rejects_go_to_the_table_asked_for(tmp_path: Path) -> None:
    one = writer(tmp_path / "t", frame(body="string"), document="body", rejects=str(tmp_path / "bad"))
    one.commit([one.write(iter([pa.RecordBatch.from_pydict({"body": ['{"a": 1}', '{"a": ']})]))])
    assert sl.Table(tmp_path / "t").scan().count() == 1
    assert sl.Table(tmp_path / "bad").scan(["raw"]).to_arrow().to_pylist() == [{"raw": b'{"a": '}]
    assert {found.name for found in tmp_path.iterdir()} == {"t", "bad"}
