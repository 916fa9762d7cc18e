"""Values in folder names, documents over many lines, and new columns."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import InvalidSchema, PipelineError, ShredlakeError


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def rows(table: Path, *columns: str) -> list[dict[str, Any]]:
    return sl.Table(table).scan(list(columns)).to_arrow().to_pylist()


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    put(tmp_path / "raw/day=2026-01-01/Hour=07/a.ndjson", '{"n": 1}\n{"n":\n')
    put(tmp_path / "raw/day=2026-01-01/Hour=08/b.ndjson", '{"n": 2}\n')
    put(tmp_path / "raw/day=__HIVE_DEFAULT_PARTITION__/Hour=09/c.ndjson", '{"n": 3}\n')
    return tmp_path / "raw"


def test_folders_become_typed_columns(raw: Path, tmp_path: Path) -> None:
    columns = {"day": "date", "hour": "int"}
    report = sl.ingest(raw, tmp_path / "t", folder_columns=columns, partition_by="day", threads=1)
    assert (report.rows, report.rejects) == (3, 1)
    found = sorted(rows(tmp_path / "t", "day", "hour", "v:n::int AS n"), key=lambda row: row["n"])
    assert found == [
        {"day": date(2026, 1, 1), "hour": 7, "n": 1},
        {"day": date(2026, 1, 1), "hour": 8, "n": 2},
        {"day": None, "hour": 9, "n": 3},
    ]
    assert sl.Table(tmp_path / "t").snapshot.metadata.partition_columns == ("day",)
    assert sl.ingest(raw, tmp_path / "t", folder_columns=columns).already_done
    assert sl.ingest(raw / "day=2026-01-01", tmp_path / "t2", folder_columns={"day": "string"}).rows == 2
    assert rows(tmp_path / "t2", "day")[0] == {"day": "2026-01-01"}


def test_escaped_and_repeated_folders(tmp_path: Path) -> None:
    put(tmp_path / "raw/k=outer/k=a%2Fb%20c/x.ndjson", "{}\n")
    sl.ingest(tmp_path / "raw", tmp_path / "t", folder_columns={"k": "string"})
    assert rows(tmp_path / "t", "k") == [{"k": "a/b c"}]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"month": "int"}, "no folder above the file is named month="),
        ({"day": "int"}, "day=2026-01-01 does not read as int"),
        ({"day": "array<int>"}, "can't have the type array<int>"),
        ({"day": "variant"}, "can't have the type variant"),
        ({"day": "dat"}, "is not a type"),
        ({"": "int"}, "a column needs a name"),
        ({"V": "int"}, "the column 'v' is given twice"),
    ],
)
def test_wrong_folder_columns_commit_nothing(
    raw: Path, tmp_path: Path, columns: dict[str, str], message: str
) -> None:
    with pytest.raises(ShredlakeError, match=message):
        sl.ingest(raw, tmp_path / "t", folder_columns=columns)
    assert not (tmp_path / "t").exists()


def test_options_for_files_are_refused_for_columns_and_objects(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="folder_columns is for text files"):
        sl.ingest([{"a": 1}], tmp_path / "t", folder_columns={"day": "date"})
    with pytest.raises(PipelineError, match="multi_line is for text files"):
        sl.ingest(pa.table({"v": ["{}"]}), tmp_path / "t", multi_line=True)


DOCUMENT = {"n": 1, "text": "a\nb", "deep": {"list": [1, {"x": None}]}}


@pytest.mark.parametrize("multi_line", [None, True])
def test_documents_over_many_lines(tmp_path: Path, multi_line: bool | None) -> None:
    put(tmp_path / "raw/one.json", json.dumps(DOCUMENT, indent=2))
    put(tmp_path / "raw/array.json", json.dumps([DOCUMENT, {"n": 2}], indent=4))
    put(tmp_path / "raw/several.json", json.dumps({"n": 3}, indent=1) + "\n" + json.dumps({"n": 4}, indent=1))
    large = [{"n": number, "pad": "x" * 100} for number in range(5, 3000)]
    put(tmp_path / "raw/large.json", json.dumps(large, indent=2))
    report = sl.ingest(tmp_path / "raw", tmp_path / "t", multi_line=multi_line, task_bytes=10_000)
    assert (report.rows, report.rejects) == (5 + len(large), 0)
    assert sl.Table(tmp_path / "t").scan(["v"], where="v:text IS NOT NULL").count() == 2
    assert sorted(row["n"] for row in rows(tmp_path / "t", "v:n::int AS n")) == [1, 1, 2, *range(3, 3000)]


def test_a_broken_document_is_one_reject_if_documents_span_lines(tmp_path: Path) -> None:
    broken = put(tmp_path / "a.json", '{\n "n": 1,\n "m": oops\n}\n')
    assert sl.ingest(broken, tmp_path / "t", multi_line=True, max_rejects=1.0).rejects == 1
    lines = sl.ingest(broken, tmp_path / "t", multi_line=False, max_rejects=1.0)  # asked for in another way
    assert lines.rejects == 4


def test_a_job_adds_the_columns_that_the_table_lacks(raw: Path, tmp_path: Path) -> None:
    table = tmp_path / "t"
    sl.ingest([{"n": 0}], table)
    with pytest.raises(InvalidSchema, match="schema_mode"):
        sl.ingest(raw, table, computed={"twice": "v:n::int * 2"})
    report = sl.ingest(
        raw,
        table,
        folder_columns={"hour": "int"},
        computed={"twice": "v:n::int * 2"},
        schema_mode="merge",
    )
    assert report.version == 1
    assert sl.Table(table).schema.names == ["v", "hour", "twice"]
    found = sorted(rows(table, "v:n::int AS n", "hour", "twice"), key=lambda row: row["n"])
    assert [tuple(row.values()) for row in found] == [(0, None, None), (1, 7, 2), (2, 8, 4), (3, 9, 6)]
    more = pa.table({"v": ["{}"], "source": ["web"]})
    with pytest.raises(InvalidSchema, match="source"):
        sl.ingest(more, table)
    sl.ingest(more, table, schema_mode="merge")
    assert sl.Table(table).schema.names == ["v", "hour", "twice", "source"]
    with pytest.raises(InvalidSchema, match="strict or merge"):
        sl.ingest(more, table, schema_mode="add")  # type: ignore[arg-type]
