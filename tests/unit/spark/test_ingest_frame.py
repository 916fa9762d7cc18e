"""Frames that are ingested: their documents and other columns, and what is refused before the first task."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT
from shredlake.errors import InvalidSchema, ShredlakeError
from shredlake.jobs.ingest.ingest import IngestOptions
from shredlake.spark.ingest_frame import (
    check_files_ingest,
    check_frame_ingest,
    document_column,
    ingest_frame,
)


def frame(**columns: str) -> Any:
    """A frame that only knows its columns."""
    fields = [
        SimpleNamespace(name=name, dataType=SimpleNamespace(typeName=lambda kind=kind: kind))
        for name, kind in columns.items()
    ]
    return SimpleNamespace(columns=list(columns), schema=SimpleNamespace(fields=fields))


@pytest.mark.parametrize(
    ("columns", "given", "found"),
    [
        ({"v": "string", "other": "string"}, None, "v"),
        ({"v": "string", "other": "string"}, "other", "other"),
        ({"id": "long", "body": "struct"}, None, "body"),
        ({"id": "long", "body": "variant"}, None, "body"),
    ],
)
def test_the_column_of_documents(columns: dict[str, str], given: str | None, found: str) -> None:
    assert document_column(frame(**columns), "v", given) == found


@pytest.mark.parametrize(
    ("columns", "given", "message"),
    [
        ({"a": "string"}, "b", "has no column 'b'; it has a"),
        ({"a": "string", "b": "string"}, None, "Candidates: a, b"),
        ({"id": "long"}, None, "Candidates: none"),
    ],
)
def test_a_column_in_doubt(columns: dict[str, str], given: str | None, message: str) -> None:
    with pytest.raises(InvalidSchema, match=message):
        document_column(frame(**columns), "v", given)


@pytest.fixture
def table(tmp_path: Path) -> str:
    sl.Table.create(tmp_path / "t", ID_AND_VARIANT)
    return str(tmp_path / "t")


@pytest.mark.spark
def test_mistakes_are_found_before_the_first_task(spark: Any, table: str, tmp_path: Path) -> None:
    text = spark.range(1).selectExpr("'{}' AS v")
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (text.selectExpr("v", "1 AS more"), {}, r"the column 'more', which the table lacks"),
        (text.selectExpr("v", "'x' AS id"), {}, r"column id is string, but the table's is bigint"),
        (text.selectExpr("v AS text", "v"), {"document": "text"}, r"'text' go to the column 'v'"),
        (text, {"computed": {"id": "nofunction(v)"}}, "'id': .*nofunction"),
        (text, {"computed": {"id": "nothing + 1"}}, "'id': .*`nothing` .* The columns are v$"),
        (text, {"sort_by": ("nothing",)}, "sort_by: .*`nothing` .* The columns are id, v$"),
        (text, {"sort_by": ("upper(nothing)",)}, "sort_by: .*`nothing` .* The columns are id, v$"),
        (text, {"shredding": "struct<a nokind>"}, "nokind"),
    ]
    for given, options, message in cases:
        document = options.pop("document", None)
        chosen = IngestOptions(**options)
        with pytest.raises(ShredlakeError, match=message):
            check_frame_ingest(given, table, chosen, document)
    check_frame_ingest(text.selectExpr("v", "7 AS id"), table, IngestOptions())
    assert sl.Table(table).version == 0
    check_frame_ingest(text, str(tmp_path / "new"), IngestOptions())
    assert not (tmp_path / "new").exists()


@pytest.mark.spark
def test_mistakes_of_an_ingest_of_files(spark: Any, table: str) -> None:
    check_files_ingest(spark, table, IngestOptions())
    with pytest.raises(ShredlakeError, match="nokind"):
        check_files_ingest(spark, table, IngestOptions(shredding="struct<a nokind>"))
    with pytest.raises(ShredlakeError, match="nothing"):
        check_files_ingest(spark, table, IngestOptions(sort_by=("nothing",)))


@pytest.mark.spark
def test_rows_of_a_frame(spark: Any, tmp_path: Path) -> None:
    """With other columns and computed ones, in one commit; the same job id ingests once."""
    place = str(tmp_path / "t")
    given = spark.createDataFrame([(1, '{"a": 1}'), (2, '{"a":'), (3, '{"a": 3}')], "id bigint, text string")
    options = IngestOptions(job_id="once", computed={"twice": "v:a::bigint * 2"})
    report = ingest_frame(given, place, options)
    assert (report.documents, report.rows, report.rejects) == (3, 2, 1)
    rows = sl.Table(place).scan(["id", "twice", "v:a::bigint AS a"]).to_arrow().sort_by("id").to_pylist()
    assert rows == [{"id": 1, "twice": 2, "a": 1}, {"id": 3, "twice": 6, "a": 3}]
    version = sl.Table(place).version
    ingest_frame(given, place, options)
    assert sl.Table(place).version == version
    assert sl.Table(place).scan(["id"]).schema.field("id").type == pa.int64()
