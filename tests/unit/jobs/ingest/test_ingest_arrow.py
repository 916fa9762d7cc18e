"""Documents and Arrow batches in this process: every document is once in the table or among the rejects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import InvalidSchema, InvalidValue, PipelineError
from shredlake.jobs.ingest import ingest_arrow
from shredlake.jobs.ingest.ingest import IngestOptions
from shredlake.jobs.ingest.ingest_arrow import document_columns, ingest_batches, ingest_documents
from shredlake.jobs.report import IngestReport


def ingested(data: pa.Table, document: str, table: Path, **options: Any) -> IngestReport:
    return ingest_batches(
        data.to_batches(max_chunksize=2), data.schema, document, str(table), IngestOptions(**options)
    )


def found(table: Path, *columns: str) -> list[dict[str, Any]]:
    rows = sl.Table(table).scan([*columns, "v"]).to_arrow()
    texts = [None if text is None else json.loads(text) for text in sl.to_json(rows["v"]).to_pylist()]
    return [row | {"v": text} for row, text in zip(rows.to_pylist(), texts, strict=True)]


# ── Columns of documents ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ([], []),
        ([{"a": 1}], ["variant 1"]),
        (["1", b"2", bytearray(b"3")], ["text 2", "text 1"]),
        ([1, None, "x", "y", [1]], ["variant 2", "text 2", "variant 1"]),
        (["1"] * 5, ["text 2", "text 2", "text 1"]),
        ([sl.Variant.of(1)] * 2 + [{"a": 1}], ["variant 2", "variant 1"]),
    ],
)
def test_texts_and_objects_come_in_columns_of_their_own(documents: list[Any], expected: list[str]) -> None:
    columns = document_columns(iter(documents), rows_at_once=2)
    shown = [f"{'variant' if sl.is_variant(one.type) else 'text'} {len(one)}" for one in columns]
    assert shown == expected


def test_documents_are_taken_as_they_are_needed() -> None:
    taken: list[int] = []

    def endless() -> Iterator[dict[str, int]]:
        while True:
            taken.append(1)
            yield {"a": len(taken)}

    assert len(next(document_columns(endless(), rows_at_once=3))) == 3
    assert len(taken) <= 4


def test_texts_keep_their_bytes() -> None:
    [column] = document_columns(["é", "\ud800", b"\xff"])
    assert column.to_pylist() == ["é".encode(), b"\xed\xa0\x80", b"\xff"]


def test_what_can_not_be_a_document_is_named_by_its_number() -> None:
    with pytest.raises(InvalidValue, match=r"^document 4: "):
        list(document_columns([{"a": 1}, "x", {"a": 1}, 1, {"a": object()}], rows_at_once=1))


# ── Documents into a table ──────────────────────────────────────────────────────────────────────────────


def test_documents_of_all_kinds(tmp_path: Path) -> None:
    documents = ["{", {"a": 1}, b"\xff", "[2]", sl.Variant.of(3), None]
    report = ingest_documents(
        iter(documents), str(tmp_path / "t"), IngestOptions(max_rejects=5), rows_at_once=1
    )
    assert (report.documents, report.rows, report.rejects) == (6, 4, 2)
    assert sorted((row["v"] for row in found(tmp_path / "t")), key=str) == sorted(
        [{"a": 1}, [2], 3, None], key=str
    )
    raws = sl.Table(f"{tmp_path / 't'}_rejects").scan(["raw"]).to_arrow()["raw"].to_pylist()
    assert sorted(raws) == [b"{", b"\xff"]


def test_no_documents_make_a_table_without_rows(tmp_path: Path) -> None:
    report = ingest_documents([], str(tmp_path / "t"), IngestOptions())
    assert (report.documents, report.rows, report.files) == (0, 0, 0)
    assert sl.Table(tmp_path / "t").scan().count() == 0


def test_a_broken_document_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="document 1"):
        ingest_documents([{"a": 1}, {"a": object()}], str(tmp_path / "t"), IngestOptions())
    assert not list(tmp_path.rglob("*.parquet"))


# ── Batches ─────────────────────────────────────────────────────────────────────────────────────────────

DATA = pa.table({"id": [1, 2, 3, 4], "body": ['{"a":1}', "{", None, '{"a":4}']})


def test_other_columns_stay_beside_their_document(tmp_path: Path) -> None:
    report = ingested(DATA, "body", tmp_path / "t", max_rejects=1)
    assert (report.documents, report.rows, report.rejects) == (4, 3, 1)
    assert sorted(found(tmp_path / "t", "id"), key=lambda row: row["id"]) == [
        {"id": 1, "v": {"a": 1}},
        {"id": 3, "v": None},
        {"id": 4, "v": {"a": 4}},
    ]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([{"a": 1}, None]),
        sl.from_json(['{"a":1}', None]),
        pa.array([b'{"a":1}', None]),
        pa.array(['{"a":1}', None], pa.large_string()),
    ],
    ids=["structs", "variants", "bytes", "large texts"],
)
def test_kinds_of_documents(tmp_path: Path, column: pa.Array) -> None:
    ingested(pa.table({"v": column}), "v", tmp_path / "t")
    assert [row["v"] for row in found(tmp_path / "t")] == [{"a": 1}, None]


def test_the_layout_is_that_of_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sampled batches are not lost, and the others are not read ahead."""
    monkeypatch.setattr(ingest_arrow, "SAMPLE_ROWS", 3)
    data = pa.table({"v": [f'{{"a":{n}}}' if n < 4 else f'{{"b":{n}}}' for n in range(400)]})
    report = ingested(data, "v", tmp_path / "t")
    assert (report.rows, str(report.layout)) == (400, "struct<a bigint>")
    assert sl.Table(tmp_path / "t").scan(where="v:b::int >= 4").count() == 396


def test_a_job_is_done_once(tmp_path: Path) -> None:
    for done in (False, True):
        assert ingested(DATA.slice(0, 1), "body", tmp_path / "t", job_id="x").already_done is done
    assert sl.Table(tmp_path / "t").scan().count() == 1


@pytest.mark.parametrize(
    ("data", "document", "options", "error", "message"),
    [
        (DATA, "text", {}, InvalidSchema, "has no column 'text'; it has id, body"),
        (DATA.rename_columns(["v", "body"]), "body", {}, InvalidSchema, "has a column of that name too"),
        (DATA, "body", {"range_partition": True, "sort_by": ("id",)}, PipelineError, "only Spark sorts"),
        (DATA, "body", {"folder_columns": {"day": "string"}}, PipelineError, "folder"),
        (DATA, "body", {"rejects": "{table}"}, PipelineError, "the table itself"),
    ],
)
def test_what_is_refused_before_any_work(
    tmp_path: Path,
    data: pa.Table,
    document: str,
    options: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    given = {name: str(tmp_path / "t") if one == "{table}" else one for name, one in options.items()}
    with pytest.raises(error, match=message):
        ingested(data, document, tmp_path / "t", **given)
    assert not list(tmp_path.rglob("*.parquet"))
