"""The two steps of an ingest through Spark SQL, run here: parsing documents, and writing completed rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from delta_tables import SHREDDED, variants
from shredlake.delta.storage.storage import Storage
from shredlake.errors import ConstraintViolation, ShredlakeError
from shredlake.jobs.ingest.ingest import IngestOptions
from shredlake.jobs.ingest.parse_task import Parsing, TaskResult, WriteJob
from shredlake.jobs.ingest.rejects import REJECTS_SCHEMA
from shredlake.jobs.ingest.sources import Split, find_files
from shredlake.spark.arrow import spark_batch
from shredlake.spark.frame_tasks import DOCUMENT, HELD, REJECT, REJECT_COLUMNS, Parse, ParseText, Write

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", sl.variant())])


def documents(batch: pa.RecordBatch) -> list[Any]:
    return [
        None if row is None else sl.Variant(row["metadata"], row["value"]).to_python()
        for row in batch.column(DOCUMENT).to_pylist()
    ]


def test_documents_of_a_frame() -> None:
    given = pa.record_batch({"n": [1, 2, 3, 4], "text": ['{"a": 1}', "{", None, "5"]})
    [batch] = Parse("text", ("n",), Parsing())([given])
    assert batch.schema.names == ["n", DOCUMENT, *REJECT_COLUMNS]
    assert batch.column("n").to_pylist() == [1, 2, 3, 4]
    assert documents(batch)[0] == {"a": 1}
    assert documents(batch)[3] == 5
    reasons = batch.column(REJECT + "reason").to_pylist()
    assert [reason is not None for reason in reasons][:2] == [False, True]
    assert batch.column(REJECT + "raw").to_pylist()[1] == b"{"
    assert list(Parse("text", ("n",), Parsing())([])) == []


def test_splits_of_text(tmp_path: Path) -> None:
    """A task finds its splits by number; every row knows the columns of its folder."""
    text = b'{"a": 1}\n{\n{"a": 2}\n'
    place = tmp_path / "day=2026-01-31"
    place.mkdir()
    (place / "a.ndjson").write_bytes(text)
    [file] = find_files(str(place / "a.ndjson"), {})
    split = Split(file, 0, len(text), 0)
    tasks = [[], [split]]
    parse = ParseText(tasks.__getitem__, Parsing(), {"day": "string"})
    batches = list(parse([pa.record_batch({"id": [1]}), pa.record_batch({"id": [0]})]))
    assert {day for batch in batches for day in batch.column("day").to_pylist()} == {"2026-01-31"}
    made = [one for batch in batches for one in documents(batch) if one is not None]
    assert made == [{"a": 1}, {"a": 2}]
    [bad] = [batch for batch in batches if batch.column(REJECT + "reason").null_count < batch.num_rows]
    assert bad.column(REJECT + "file").to_pylist() == [str(place / "a.ndjson")]
    assert bad.column(REJECT + "offset").to_pylist() == [9]
    assert bad.column(REJECT + "raw").to_pylist() == [b"{\n"]


def completed(
    ids: list[int | None], reasons: list[str | None], held: list[bool] | None = None
) -> pa.RecordBatch:
    """Rows between the two steps."""
    count = len(ids)
    nothing = {field.name: pa.nulls(count, field.type) for field in REJECTS_SCHEMA}
    reject = {**nothing, "reason": pa.array(reasons, pa.string())}
    reject["raw"] = pa.array([None if one is None else b"{" for one in reasons], pa.binary())
    columns = {"id": pa.array(ids, pa.int64()), "v": variants([{"a": n} for n in range(count)])}
    columns |= {REJECT + name: values for name, values in reject.items()}
    if held is not None:
        columns[f"{HELD}0"] = pa.array(held)
    return spark_batch(list(columns.values()), list(columns))


@pytest.fixture
def job(tmp_path: Path) -> WriteJob:
    snapshot = sl.Table.create(tmp_path / "t", SCHEMA, properties=SHREDDED).snapshot
    return WriteJob(IngestOptions().file_job(snapshot), "v", Storage(str(tmp_path / "rejects")))


def test_rows_are_written_and_rejects_staged(job: WriteJob, tmp_path: Path) -> None:
    batches = [completed([1, 2, None], [None, None, "no JSON"]), completed([], []), completed([3], [None])]
    [answer] = Write(job, ())(batches)
    result = TaskResult.from_json(answer.column("result")[0].as_py())
    assert (result.documents, result.written, result.rejected) == (4, 3, 1)
    assert len(result.adds) == 1
    assert result.staged
    [staged] = (tmp_path / "rejects").rglob("*.parquet")
    assert pq.read_table(staged).to_pylist() == [
        {"file": None, "line": None, "offset": None, "reason": "no JSON", "raw": b"{"}
    ]


def test_no_rows_make_no_file(job: WriteJob, tmp_path: Path) -> None:
    [answer] = Write(job, ())([])
    result = TaskResult.from_json(answer.column("result")[0].as_py())
    assert (result.adds, result.documents, result.staged) == ((), 0, None)
    assert list(tmp_path.rglob("*.parquet")) == []


def test_a_row_that_breaks_a_constraint_fails(job: WriteJob) -> None:
    write = Write(job, ("the CHECK constraint positive (id > 0)",))
    with pytest.raises(ConstraintViolation, match=r"a row breaks the CHECK constraint positive.*Nothing was"):
        list(write([completed([1, -7], [None, None], [True, False])]))
    [answer] = write([completed([1, -7], [None, "bad"], [True, False])])
    assert TaskResult.from_json(answer.column("result")[0].as_py()).written == 1, (
        "a rejected row is not checked"
    )
    with pytest.raises(ShredlakeError, match="NOT NULL"):
        list(Write(job, ())([completed([None], [None])]))
