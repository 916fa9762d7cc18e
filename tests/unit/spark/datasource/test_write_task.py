"""Plans of writes, and what one task does, in this process without Spark."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import InvalidSchema, ShredlakeError
from spark_frames import schema_of

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")

from shredlake.spark.datasource.opened import storage_of
from shredlake.spark.datasource.options import WRITE, SourceOptions
from shredlake.spark.datasource.write_task import document_of, ingest_options, plan_write

FRAME = "id bigint, payload string"


def options(place: Path, **given: Any) -> SourceOptions:
    return SourceOptions.of({"path": str(place), **{k.lower(): v for k, v in given.items()}}, WRITE)


def planned(place: Path, frame: str = FRAME, **given: Any) -> Any:
    return plan_write(options(place, **given), schema_of(frame))


def made(place: Path, *variants: str) -> sl.Table:
    fields = [("id", pa.int64()), *((name, sl.variant()) for name in variants)]
    return sl.Table.create(place, pa.schema(fields))


@pytest.mark.parametrize(
    ("frame", "given", "wanted"),
    [
        (FRAME, {}, None),
        ("id bigint, v string", {}, ("v", "v")),
        ("id bigint, V struct<a:int>", {}, ("V", "V")),
        ("id bigint, v bigint", {}, None),
        ("id bigint, v variant", {}, None),
        (FRAME, {"column": "PAYLOAD"}, ("payload", "payload")),
        (FRAME, {"document": "payload"}, ("payload", "v")),
        (FRAME, {"document": "payload", "column": "event"}, ("payload", "event")),
        (FRAME, {"document": "payload", "column": "payload"}, ("payload", "payload")),
    ],
)
def test_documents_of_a_new_table(
    tmp_path: Path, frame: str, given: dict[str, str], wanted: tuple[str, str] | None
) -> None:
    assert document_of(options(tmp_path, **given), schema_of(frame), None) == wanted


@pytest.mark.parametrize(
    ("variants", "frame", "wanted"),
    [
        (["event"], "id bigint, EVENT string", ("EVENT", "event")),
        (["event"], "id bigint, v string", None),
        (["event"], "id bigint, event variant", None),
        (["a", "b"], "id bigint, a variant, b string", ("b", "b")),
        ([], "id bigint, v string", None),
    ],
)
def test_documents_of_a_table(
    tmp_path: Path, variants: list[str], frame: str, wanted: tuple[str, str] | None
) -> None:
    snapshot = made(tmp_path / "t", *variants).snapshot
    assert document_of(options(tmp_path / "t"), schema_of(frame), snapshot) == wanted


@pytest.mark.parametrize(
    ("frame", "given", "message"),
    [
        (FRAME, {"document": "nope"}, "the frame has no column 'nope'; it has id, payload"),
        (FRAME, {"document": "id"}, "'id' is bigint, not documents"),
        ("v bigint, payload string", {"document": "payload"}, "Drop or rename it"),
        ("a string, b string", {}, "several columns hold documents as text or structs: a, b"),
        ("id bigint, other string", {}, "has the column 'other'.*schemaMode"),
        (FRAME, {"partitionBy": "id"}, "is partitioned by"),
        ("id bigint", {"maxRejects": "lots"}, "max_rejects"),
    ],
)
def test_mistakes_are_found_before_any_task(
    tmp_path: Path, frame: str, given: dict[str, str], message: str
) -> None:
    made(tmp_path / "t", "a", "b")
    before = sorted((tmp_path / "t").rglob("*"))
    with pytest.raises(ShredlakeError, match=message):
        planned(tmp_path / "t", frame, **given)
    assert sorted((tmp_path / "t").rglob("*")) == before


def test_options_of_the_ingest(tmp_path: Path) -> None:
    given = options(
        tmp_path,
        column="event",
        shredding="struct<a int>",
        maxRejects="5%",
        partitionBy="day",
        fileBytes="1m",
    )
    found = ingest_options(given, None)
    assert (found.column, found.shredding, found.max_rejects) == ("event", "struct<a int>", 0.05)
    assert (found.partition_by, found.file_bytes) == (("day",), 1 << 20)
    assert ingest_options(given, ("payload", "v")).column == "v"
    plain = ingest_options(options(tmp_path), None)
    assert (plain.column, plain.max_rejects) == ("v", None)


def test_a_new_table_has_the_columns_of_the_frame(tmp_path: Path) -> None:
    task = planned(
        tmp_path / "t", "id bigint, payload string, day date", document="payload", partitionBy="day"
    )
    assert task.table.schema.names == ["id", "v", "day"]
    assert task.table.metadata.partition_columns == ("day",)
    assert task.table.metadata.configuration["delta.enableVariantShredding"] == "true"
    plain = planned(tmp_path / "t", "id bigint")
    assert "delta.enableVariantShredding" not in plain.table.metadata.configuration
    assert not (tmp_path / "t").exists(), "a plan writes nothing"


def run(task: Any, *batches: dict[str, list[Any]]) -> Any:
    """The outcome of a task, as a worker gets it."""
    return pickle.loads(pickle.dumps(task)).run(iter([pa.RecordBatch.from_pydict(one) for one in batches]))


def test_rows_and_rejects(tmp_path: Path) -> None:
    task = planned(tmp_path / "t", document="payload")
    texts = ['{"a": 1}', '{"a":', None, "[2]"]
    found = run(task, {"id": [1, 2, 3, 4], "payload": texts}, {"id": [5], "payload": ['{"a": 5}']})
    assert (found.documents, found.written, found.rejected, len(found.adds)) == (5, 4, 1, 1)
    assert not (tmp_path / "t" / "_delta_log").exists(), "a task commits nothing"


def test_no_rows_are_no_files(tmp_path: Path) -> None:
    task = planned(tmp_path / "t", document="payload")
    nothing = run(task)
    assert (nothing.documents, nothing.written, list(nothing.adds)) == (0, 0, [])
    only_rejects = run(task, {"id": [1], "payload": ["{"]})
    assert (only_rejects.documents, only_rejects.rejected, list(only_rejects.adds)) == (1, 1, [])


def test_rows_outside_of_the_condition_are_refused(tmp_path: Path) -> None:
    made(tmp_path / "t")
    task = plan_write(options(tmp_path / "t", replaceWhere="id > 2"), schema_of("id bigint"))
    assert len(run(task, {"id": [3, 4]}).adds) == 1
    with pytest.raises(ShredlakeError, match="row 1 does not match the predicate"):
        run(task, {"id": [3]}, {"id": [1]})


def test_a_type_that_the_table_lacks(tmp_path: Path) -> None:
    made(tmp_path / "t")
    with pytest.raises(InvalidSchema, match="id"):
        planned(tmp_path / "t", "id date")
    assert storage_of(options(tmp_path / "t")).uri == (tmp_path / "t").as_uri()
