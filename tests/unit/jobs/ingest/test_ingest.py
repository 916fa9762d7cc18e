"""Ingest without Spark: the same task, the same rejects, the same rules of once and nothing lost."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard

import shredlake as sl
from shredlake.errors import (
    CommitConflict,
    ConstraintViolation,
    InvalidSchema,
    NotJson,
    PipelineError,
    ShredlakeError,
    TooManyRejects,
    UnsupportedExpression,
)
from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.ingest.ingest import IngestOptions, ingest_text
from shredlake.jobs.ingest.ingest_arrow import ingest_batches
from shredlake.jobs.ingest.parse_task import Parsing, TaskResult
from shredlake.jobs.report import IngestReport
from shredlake.parquet.write.encodings import LEVELS, QUICK_LEVELS, choose_encodings

Ingest = Callable[..., IngestReport]


@pytest.fixture
def ingest(tmp_path: Path) -> Ingest:
    def run(source: Any, table: str = "table", **options: Any) -> IngestReport:
        places = str(source) if isinstance(source, Path) else source
        return ingest_text(LocalEngine(2), places, str(tmp_path / table), IngestOptions(**options))

    return run


def documents(table: Path, column: str = "v") -> list[Any]:
    rows = sl.Table(table).scan(columns=[column]).to_arrow().column(column)
    return [json.loads(text) for text in sl.to_json(rows).to_pylist()]


def rejects(table: Path) -> list[dict[str, Any]]:
    rows = sl.Table(str(table) + "_rejects").scan().to_arrow().to_pylist()
    return sorted(rows, key=lambda row: (row["file"], row["line"]))


LINES = b"".join(b'{"id": %d}\n' % n for n in range(10))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("array", [False, True])
def test_sources(tmp_path: Path, ingest: Ingest, ending: str, array: bool) -> None:
    source = tmp_path / (f"a.json{ending}" if array else f"a.ndjson{ending}")
    source.write_bytes(PACKERS[ending](b"[" + b",\n".join(LINES.splitlines()) + b"]" if array else LINES))
    report = ingest(source, task_bytes=30)
    assert (report.documents, report.rows, report.rejects) == (10, 10, 0)
    assert sorted(row["id"] for row in documents(tmp_path / "table")) == list(range(10))


def test_a_folder_a_glob_and_a_list(tmp_path: Path, ingest: Ingest) -> None:
    for name in ("in/a.ndjson", "in/deep/b.ndjson", "in/_skipped.ndjson", "c.ndjson"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(json.dumps({"name": name}) + "\n")
    assert ingest(tmp_path / "in", "folder").rows == 2
    assert ingest(str(tmp_path / "in" / "*.ndjson"), "glob").rows == 2
    assert ingest([str(tmp_path / "in"), str(tmp_path / "c.ndjson")], "list").rows == 3
    with pytest.raises(PipelineError, match="nothing to ingest"):
        ingest(tmp_path / "nowhere")


@pytest.mark.skipif(
    not os.path.exists("/proc/self/mem"), reason="needs Linux, where this file fails when it is read"
)
def test_a_source_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"/proc/self/mem can't be read: .*Nothing was committed"):
        sl.ingest("/proc/self/mem", tmp_path / "t")
    assert not (tmp_path / "t" / "_delta_log").exists()


def test_small_files_are_written_together(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "in").mkdir()
    for number in range(50):
        (tmp_path / "in" / f"{number}.ndjson").write_text(json.dumps({"id": number}) + "\n")
    report = ingest(tmp_path / "in")
    assert (report.rows, report.files) == (50, 1)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".zst"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_bad_lines_end_among_the_rejects_with_their_places(
    tmp_path: Path, ingest: Ingest, ending: str, newline: bytes
) -> None:
    lines = [
        b'\xef\xbb\xbf{"id": 1}',
        b'{"id": 2',  # truncated
        b'{"id": 3}',
        b"",
        b"\x00\x01\xfe\xff",  # binary
        b'{"id": "\xff"}',  # not UTF-8
        b'{"id": 4, "id": 5}',  # a key twice
        b"[" * 2000 + b"]" * 2000,
        b'{"id": "' + b"x" * 5_000_000 + b'"',
        b'{"id": 6}',
        b"   ",
        b'\xef\xbb\xbf{"id": 7}',  # a byte order mark where no file begins
        b"null",
    ]
    text = newline.join(lines)
    source = tmp_path / f"a.ndjson{ending}"
    source.write_bytes(PACKERS[ending](text))
    report = ingest(source, task_bytes=1000)
    assert (report.documents, report.rows, report.rejects) == (13, 4, 9)
    found = sorted(str(row) for row in documents(tmp_path / "table"))
    assert found == ["None", "{'id': 1}", "{'id': 3}", "{'id': 6}"]
    bad = rejects(tmp_path / "table")
    assert [row["line"] for row in bad] == [2, 4, 5, 6, 7, 8, 9, 11, 12]
    for row in bad:
        offset = row["offset"]
        assert text[offset : offset + len(row["raw"])] == row["raw"]
        assert row["raw"].rstrip(b"\r\n") == lines[row["line"] - 1]
        assert row["file"] == str(source)
        assert row["reason"]
    reasons = {row["line"]: row["reason"] for row in bad}
    assert "id" in reasons[7]
    assert "1000" in reasons[8] or "deep" in reasons[8]


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".zst"])
def test_bad_elements_of_an_array(tmp_path: Path, ingest: Ingest, ending: str) -> None:
    elements = [b'{"id": 1}', b'{"id": 2, "id": 3}', b"[[]]", b"nul", b'"\xff"', b'{"id": 4}']
    text = b"\xef\xbb\xbf[\r\n" + b",\r\n".join(elements) + b"\r\n]\r\n"
    (tmp_path / f"a.json{ending}").write_bytes(PACKERS[ending](text))
    report = ingest(tmp_path / f"a.json{ending}")
    assert (report.documents, report.rows, report.rejects) == (6, 3, 3)
    bad = rejects(tmp_path / "table")
    assert [row["line"] for row in bad] == [2, 4, 5]
    assert [row["raw"] for row in bad] == [elements[1], elements[3], elements[4]]
    assert all(text[row["offset"] :].startswith(row["raw"]) for row in bad)


@pytest.mark.slow
def test_a_line_longer_than_allowed_is_a_reject_of_its_own(
    tmp_path: Path, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shredlake.jobs.ingest.text.READ_SIZE", 10_000)
    (tmp_path / "a.ndjson").write_bytes(b'{"a": 1}\n{"b": "' + b"x" * 300_000 + b'"}\n{"a": 2}\n')
    report = ingest(tmp_path / "a.ndjson", parsing=Parsing(max_document=100_000), task_bytes=50)
    [row] = rejects(tmp_path / "table")
    assert (report.rows, row["line"], row["offset"]) == (2, 2, 9)
    assert row["reason"] == "the line has 300,010 bytes, more than the allowed 100,000"


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_fifty_megabytes_in_a_line(tmp_path: Path, ingest: Ingest, ending: str) -> None:
    text = b'{"a": 1}\n{"b": "' + b"x" * 50_000_000 + b'\n{"b": "' + b"y" * 50_000_000 + b'"}\n{"a": 2}\n'
    (tmp_path / f"a.ndjson{ending}").write_bytes(PACKERS[ending](text))
    report = ingest(tmp_path / f"a.ndjson{ending}")
    assert (report.rows, report.rejects) == (3, 1)
    [row] = rejects(tmp_path / "table")
    assert (row["line"], row["offset"], len(row["raw"])) == (2, 9, 50_000_008)
    [long] = (
        sl.Table(tmp_path / "table")
        .scan(columns=["v:b::string AS b"], where="v:b IS NOT NULL")
        .to_arrow()["b"]
    )
    assert len(long.as_py()) == 50_000_000


def test_max_rejects(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "a.ndjson").write_text('{"a": 1}\n' * 8 + "x\ny\n")
    for allowed in (0, 1, 0.1):
        with pytest.raises(TooManyRejects, match="2 of 10 documents are invalid"):
            ingest(tmp_path / "a.ndjson", max_rejects=allowed)
        assert not (tmp_path / "table" / "_delta_log").exists()
        assert not list((tmp_path / "table").glob("*.parquet"))
    assert not (tmp_path / "table_rejects" / "_delta_log").exists()
    assert ingest(tmp_path / "a.ndjson", max_rejects=0.2).rows == 8
    assert ingest(tmp_path / "a.ndjson", max_rejects=1.0, job_id="all").rows == 8  # all of them may be bad


def test_a_job_that_is_run_again_does_nothing(tmp_path: Path, ingest: Ingest) -> None:
    source = tmp_path / "a.ndjson"
    source.write_text('{"a": 1}\nbad\n')
    first, again = ingest(source), ingest(source)
    assert (first.already_done, again.already_done) == (False, True)
    assert sl.Table(tmp_path / "table").scan().count() == 1
    assert len(rejects(tmp_path / "table")) == 1
    source.write_text('{"a": 1}\nbad\n{"a": 2}\n')  # other text, other job
    assert ingest(source).rows == 2
    assert sl.Table(tmp_path / "table").scan().count() == 3
    assert ingest(source, job_id="again").rows == 2
    assert ingest(source, job_id="again").already_done


def test_a_crash_between_rejects_and_commit(
    tmp_path: Path, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["shredlake.jobs.ingest.ingest"]
    (tmp_path / "a.ndjson").write_text('{"a": 1}\nbad\n')

    def crash(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "commit_adds", crash)
        with pytest.raises(KeyboardInterrupt):
            ingest(tmp_path / "a.ndjson")
    assert not (tmp_path / "table" / "_delta_log").exists()
    assert len(rejects(tmp_path / "table")) == 1
    assert ingest(tmp_path / "a.ndjson").rows == 1
    assert len(rejects(tmp_path / "table")) == 1
    assert sl.Table(tmp_path / "table").scan().count() == 1
    assert not list((tmp_path / "table_rejects" / "_staging").rglob("*.parquet"))


@pytest.mark.parametrize("name", ["", "\ud800"])
def test_a_job_id_that_names_no_job(name: str) -> None:
    with pytest.raises(PipelineError, match="names no job: give it a text that is not empty"):
        IngestOptions(job_id=name)


@pytest.mark.parametrize("name", ["2026/11/18", "../../../elsewhere"])
def test_a_job_id_names_no_folder(tmp_path: Path, ingest: Ingest, name: str) -> None:
    """It may be any text. Rejects are staged inside of their table, and the folder is gone afterwards."""
    (tmp_path / "a.ndjson").write_text('{"a": 1}\n{"a":\n')
    assert ingest(tmp_path / "a.ndjson", job_id=name).rejects == 1
    assert ingest(tmp_path / "a.ndjson", job_id=name).already_done
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ndjson", "table", "table_rejects"]
    assert not (tmp_path / "table_rejects" / "_staging").exists()


def test_the_same_job_twice_at_a_time(
    tmp_path: Path, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = sys.modules["shredlake.jobs.ingest.ingest"]
    (tmp_path / "a.ndjson").write_text('{"a": 1}\n')
    real = module.commit_adds

    def overtaken(*arguments: Any) -> int:
        monkeypatch.setattr(module, "commit_adds", real)
        assert ingest(tmp_path / "a.ndjson").rows == 1
        return int(real(*arguments))

    monkeypatch.setattr(module, "commit_adds", overtaken)
    assert ingest(tmp_path / "a.ndjson").already_done
    assert sl.Table(tmp_path / "table").scan().count() == 1
    assert len(list((tmp_path / "table").glob("*.parquet"))) == 1


def test_two_jobs_make_the_table_at_a_time(
    tmp_path: Path, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = sys.modules["shredlake.jobs.ingest.ingest"]
    (tmp_path / "a.ndjson").write_text('{"a": 1}\n')
    real = module.commit_adds

    def overtaken_by(**options: Any) -> Callable[..., int]:
        def commit(*arguments: Any) -> int:
            monkeypatch.setattr(module, "commit_adds", real)
            assert ingest(tmp_path / "a.ndjson", options["table"], job_id="other", **options["options"]).rows
            return int(real(*arguments))

        return commit

    monkeypatch.setattr(module, "commit_adds", overtaken_by(table="same", options={}))
    assert ingest(tmp_path / "a.ndjson", "same").version == 1
    assert sl.Table(tmp_path / "same").scan().count() == 2
    monkeypatch.setattr(
        module, "commit_adds", overtaken_by(table="other", options={"computed": {"a": "v:a::int"}})
    )
    with pytest.raises(CommitConflict, match="created by another writer meanwhile"):
        ingest(tmp_path / "a.ndjson", "other")
    assert sl.Table(tmp_path / "other").scan().count() == 1
    assert len(list((tmp_path / "other").glob("*.parquet"))) == 1


def test_computed_columns_partitions_and_order(tmp_path: Path, ingest: Ingest) -> None:
    lines: list[dict[str, Any]] = [
        {"kind": "ab"[n % 2], "t": (n * 7) % 20, "day": f"2026-01-0{1 + n % 3}"} for n in range(20)
    ]
    (tmp_path / "a.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = ingest(
        tmp_path / "a.ndjson",
        computed={"kind": "v:kind::string", "day": "v:day::date"},
        partition_by=("kind",),
        sort_by=("v:t::bigint",),
    )
    assert (report.rows, report.files) == (20, 2)
    table = sl.Table(tmp_path / "table")
    assert table.partition_columns == ("kind",)
    assert table.schema.field("day").type == pa.date32()
    for kind in "ab":
        rows = table.scan(columns=["v:t::bigint AS t"], where=f"kind = '{kind}'").to_arrow()
        assert rows.column("t").to_pylist() == sorted(row["t"] for row in lines if row["kind"] == kind)
    with pytest.raises(InvalidSchema, match=r"partitioned by kind, so it can't be partitioned by day"):
        ingest(tmp_path / "a.ndjson", partition_by=("day",), job_id="other")
    with pytest.raises(InvalidSchema, match="no column 'more' to compute"):
        ingest(tmp_path / "a.ndjson", computed={"more": "v:x::int"}, job_id="other")


def layouts(table: Path) -> set[str]:
    tags = sl.Table(table).files().column("tags").to_pylist()
    return {json.loads(dict(tag)["shredlake.layout"]).get("v", {}).get("shredding", "none") for tag in tags}


def test_layouts(tmp_path: Path, ingest: Ingest, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.ndjson").write_text(
        "".join(json.dumps({"id": n, "name": f"n{n}"}) + "\n" for n in range(200))
    )
    source = tmp_path / "a.ndjson"
    inferred = ingest(source, "inferred", task_bytes=700)
    assert inferred.files > 3
    assert layouts(tmp_path / "inferred") == {"struct<id bigint, name string>"} == {inferred.layout}
    assert inferred.typed_share is not None
    assert 0.2 < inferred.typed_share < 1
    ingest(source, "given", shredding="struct<id int>")
    assert layouts(tmp_path / "given") == {"struct<id int>"}
    ingest(source, "none", shredding=None)
    assert layouts(tmp_path / "none") == {"none"}
    ingest(source, "pinned", properties={"shredlake.shredding.v": "struct<name string>"})
    assert layouts(tmp_path / "pinned") == {"struct<name string>"}
    monkeypatch.setattr(sys.modules["shredlake.delta.write.layout"], "WELL_KNOWN", 100)
    kept = ingest(source, "given", job_id="second", keep_layout=True)
    assert kept.layout == "struct<id int>"


def test_files_of_the_wanted_size(tmp_path: Path, ingest: Ingest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shredlake.jobs.ingest.text.READ_SIZE", 10_000)
    (tmp_path / "a.ndjson").write_text("".join('{"id": "%032x"}\n' % (n * 7919**5) for n in range(4000)))
    assert ingest(tmp_path / "a.ndjson", "one").files == 1
    many = ingest(tmp_path / "a.ndjson", "many", file_bytes=10_000)
    assert 3 <= many.files <= 8
    assert many.rows == 4000


def test_what_the_table_demands(tmp_path: Path, ingest: Ingest) -> None:
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("twice", pa.int64(), metadata={"delta.generationExpression": "id * 2"}),
            pa.field("v", sl.variant()),
        ]
    )
    properties = {"delta.constraints.positive": "id > 0"}
    sl.Table.create(tmp_path / "table", schema, properties=properties)
    (tmp_path / "good.ndjson").write_text('{"id": 4}\n')
    (tmp_path / "bad.ndjson").write_text('{"id": 4}\n{"id": -4}\n')
    (tmp_path / "null.ndjson").write_text('{"id": null}\n')
    computed = {"id": "v:id::bigint"}
    assert ingest(tmp_path / "good.ndjson", computed=computed).rows == 1
    with pytest.raises(
        ConstraintViolation, match=r'bad.ndjson: a row breaks .* positive \(id > 0\): id=-4, .*v=\{"id":-4\}'
    ):
        ingest(tmp_path / "bad.ndjson", computed=computed)
    with pytest.raises(ConstraintViolation, match="id, which is NOT NULL"):
        ingest(tmp_path / "null.ndjson", computed=computed)
    rows = sl.Table(tmp_path / "table").scan(columns=["id", "twice"]).to_arrow().to_pylist()
    assert rows == [{"id": 4, "twice": 8}]


def test_what_only_spark_can_evaluate_is_said_before_any_work(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "a.ndjson").write_text('{"id": 4}\n')
    with pytest.raises(UnsupportedExpression):
        ingest(tmp_path / "a.ndjson", computed={"day": "to_date(v:id::timestamp)"})
    assert not (tmp_path / "table").exists()


def test_nothing_but_rejects_and_nothing_at_all(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "bad.ndjson").write_text("x\n")
    (tmp_path / "empty.ndjson").write_text("")
    report = ingest(tmp_path / "bad.ndjson", max_rejects=1.0)
    assert (report.rows, len(rejects(tmp_path / "table"))) == (0, 1)
    assert ingest(tmp_path / "empty.ndjson").documents == 0
    assert sl.Table(tmp_path / "table").scan().count() == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"id,name\n1,ada\n", "may be CSV"),
        ('{"a": 1}\n'.encode("utf-16"), "UTF-16"),
        ('{"a": 1}\n'.encode("utf-16-le"), "UTF-16"),
        ('{"a": "é"}\n'.encode("latin-1"), "Latin-1"),
        (b"PAR1\x15\x04\x15PAR1", "Parquet"),
        (b'{"a": ', "truncated"),
        (b"<html>\n</html>\n", "XML or HTML"),
    ],
)
def test_text_without_a_document_is_refused(
    tmp_path: Path, ingest: Ingest, content: bytes, words: str
) -> None:
    (tmp_path / "a.ndjson").write_bytes(content)
    with pytest.raises(NotJson, match=rf"a\.ndjson, line 1, .*{words}.*Nothing was committed"):
        ingest(tmp_path / "a.ndjson")
    assert not (tmp_path / "table" / "_delta_log").exists()
    assert not (tmp_path / "table_rejects" / "_delta_log").exists()
    assert not list(tmp_path.rglob("*.parquet"))


def test_pretty_printed_documents_are_read(tmp_path: Path, ingest: Ingest) -> None:
    texts = [json.dumps({"id": number, "list": [1, 2]}, indent=2) for number in range(10)]
    texts.insert(5, '{\n "id": nothing\n}')
    (tmp_path / "a.json").write_text("\n".join(texts))
    report = ingest(tmp_path / "a.json", task_bytes=50)
    assert (report.rows, report.rejects) == (10, 1)
    [bad] = rejects(tmp_path / "table")
    assert (bad["line"], bad["raw"]) == (6, texts[5].encode())


# ── Computed columns ────────────────────────────────────────────────────────────────────────────────────


def test_the_table_keeps_the_expressions_of_its_columns(tmp_path: Path, ingest: Ingest) -> None:
    computed = {"day": "v:ts::date", "n": "v:n::int + 1"}
    for number in range(4):
        (tmp_path / f"{number}.ndjson").write_text(f'{{"ts": "2024-01-0{number + 1}", "n": {number}}}\n')
    ingest(tmp_path / "0.ndjson", computed=computed, partition_by=("day",))
    assert ingest(tmp_path / "1.ndjson").rows == 1
    assert ingest(tmp_path / "2.ndjson", computed={"day": "v:ts :: date"}).rows == 1
    assert ingest(str(tmp_path / "*.ndjson")).skipped == 3  # and one is new
    sl.Table(tmp_path / "table").append(
        pa.table({"v": sl.from_json(pa.array(['{"ts": "2024-01-05", "n": 4}']))})
    )
    rows = sl.Table(tmp_path / "table").scan(columns=["day", "n"]).to_arrow().to_pylist()
    assert sorted((str(row["day"]), row["n"]) for row in rows) == [
        (f"2024-01-0{number + 1}", number + 1) for number in range(5)
    ]
    with pytest.raises(InvalidSchema, match="computes column 'day' as"):
        ingest(tmp_path / "3.ndjson", computed={"day": "v:other::date"}, job_id="other")


def test_a_partition_that_nothing_fills_is_refused(tmp_path: Path, ingest: Ingest) -> None:
    schema = pa.schema([("day", pa.date32()), ("v", sl.variant())])
    sl.Table.create(tmp_path / "table", schema, partition_by=["day"])
    (tmp_path / "a.ndjson").write_text('{"ts": "2024-01-01"}\n')
    with pytest.raises(InvalidSchema, match=r"partitioned by 'day'.*--with"):
        ingest(tmp_path / "a.ndjson")
    assert ingest(tmp_path / "a.ndjson", computed={"day": "v:ts::date"}).rows == 1


# ── The sample ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_the_layout_of_many_small_files(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0000.ndjson").write_text('{"boot": "now"}\n')
    for number in range(1, 400):
        (tmp_path / "in" / f"{number:04}.ndjson").write_text(f'{{"id": {number}, "name": "n{number % 7}"}}\n')
    report = ingest(tmp_path / "in")
    assert report.layout is not None
    assert "id " in report.layout
    assert "name string" in report.layout


@pytest.mark.parametrize("name", ["README.txt", "zzz.txt"])
def test_a_readme_beside_the_data_does_not_decide_the_layout(
    tmp_path: Path, ingest: Ingest, name: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_text("These are events.\n" * 100)
    (tmp_path / "in" / "data.ndjson").write_text("".join(f'{{"id": {n}, "kind": "k"}}\n' for n in range(500)))
    report = ingest(tmp_path / "in")
    assert (report.rows, report.rejects) == (500, 100)
    assert report.layout is not None
    assert "id " in report.layout


def test_a_kept_layout_grows_while_the_table_is_small(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "0.ndjson").write_text('{"boot": "now"}\n')
    (tmp_path / "1.ndjson").write_text("".join(f'{{"id": {n}, "kind": "k"}}\n' for n in range(20_000)))
    (tmp_path / "2.ndjson").write_text("".join(f'{{"other": {n}}}\n' for n in range(20_000)))
    first, second, third = (ingest(tmp_path / f"{n}.ndjson", keep_layout=True).layout or "" for n in range(3))
    assert "id " not in first
    assert "id " in second
    assert third == second
    sl.Table(tmp_path / "table").checkpoint()
    (tmp_path / "3.ndjson").write_text('{"other": 1}\n')
    assert ingest(tmp_path / "3.ndjson", keep_layout=True).layout == second


def test_rows_that_wait_are_written_without_the_slowest_level(
    ingest: Ingest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, ...]] = []

    def spy(table: pa.Table, chosen: Any, among: tuple[int, ...]) -> Any:
        asked.append(among)
        return choose_encodings(table, chosen, among)

    monkeypatch.setattr("shredlake.parquet.write.writer.choose_encodings", spy)
    text = tmp_path / "lines.json"
    text.write_bytes(LINES)
    ingest(text, "quick")
    ingest(text, "asked", writing=sl.WriteOptions(compression_levels=(1, 19)))
    sl.write_parquet(pa.table({"n": [1]}), tmp_path / "f.parquet")
    assert asked == [QUICK_LEVELS, (1, 19), LEVELS]


@pytest.mark.parametrize(
    "spelling", ["{0}", "{0}/", "file://{0}", "{0}/../table", "{0}/./", "{1}/link", "{0}/bad"]
)
def test_rejects_may_not_go_to_the_table_itself(tmp_path: Path, ingest: Ingest, spelling: str) -> None:
    (tmp_path / "a.ndjson").write_text('{"id": 1}\n')
    ingest(tmp_path / "a.ndjson")
    (tmp_path / "link").symlink_to(tmp_path / "table")
    (tmp_path / "b.ndjson").write_text('{"id": 2}\n{"id":\n')
    with pytest.raises(PipelineError, match="Rejects need a separate table"):
        ingest(tmp_path / "b.ndjson", rejects=spelling.format(tmp_path / "table", tmp_path))
    assert documents(tmp_path / "table") == [{"id": 1}]
    assert ingest(tmp_path / "b.ndjson").rows == 1


def test_two_tables_share_a_rejects_table(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "a.ndjson").write_text('{"id": 1}\n{"id":\n')
    for table in ("one", "two"):
        assert ingest(tmp_path / "a.ndjson", table, rejects=str(tmp_path / "bad")).rejects == 1
    assert sl.Table(tmp_path / "bad").scan().count() == 2


# ── Once ────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_new_files_of_a_folder_are_ingested(tmp_path: Path, ingest: Ingest) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.ndjson").write_text('{"a": 1}\nbad\n')
    ingest(folder)
    (folder / "b.ndjson").write_text('{"a": 2}\nbad\n')
    report = ingest(folder)
    assert (report.rows, report.rejects, report.skipped) == (1, 1, 1)
    assert sorted(row["a"] for row in documents(tmp_path / "table")) == [1, 2]
    assert len(rejects(tmp_path / "table")) == 2
    again = ingest(folder / "b.ndjson")
    assert (again.already_done, again.skipped) == (True, 1)


def test_what_makes_a_file_the_same(tmp_path: Path, ingest: Ingest) -> None:
    source = tmp_path / "a.ndjson"
    source.write_text('{"a": 1}\n')
    ingest(source)
    os.utime(source, (1, 1))
    assert ingest(source).already_done
    assert ingest(f"file://{source}").already_done
    (tmp_path / "link").symlink_to(tmp_path)
    assert ingest(str(tmp_path / "link" / "a.ndjson"), sort_by=("v:a::int",), shredding=None).already_done
    source.write_text('{"a": 7}\n')  # the same size
    assert ingest(source).rows == 1
    (tmp_path / "copy.ndjson").write_text('{"a": 7}\n')  # another name
    assert ingest(tmp_path / "copy.ndjson").rows == 1
    assert ingest(source, parsing=Parsing(duplicate_keys="last_wins")).rows == 1  # read in another way


def test_large_files_are_known_by_pieces_of_them(
    tmp_path: Path, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shredlake.jobs.ingest.once.SAMPLED", 640)
    source = tmp_path / "a.ndjson"
    lines = [f'{{"a": {number:6}}}\n' for number in range(1000)]
    source.write_text("".join(lines))
    ingest(source)
    os.utime(source, (1, 1))
    assert ingest(source).already_done
    source.write_text("".join(lines[:-1]) + '{"a":      7}\n')
    assert ingest(source).rows == 1000


def test_two_jobs_that_share_a_file_do_not_both_stand(
    tmp_path: Path, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = sys.modules["shredlake.jobs.ingest.ingest"]
    for name in ("a", "b"):
        (tmp_path / f"{name}.ndjson").write_text(f'{{"a": "{name}"}}\nbad\n')
    real = module.commit_adds

    def overtaken(*arguments: Any) -> int:
        monkeypatch.setattr(module, "commit_adds", real)
        assert ingest(tmp_path / "a.ndjson").rows == 1
        return int(real(*arguments))

    (tmp_path / "0.ndjson").write_text("{}\n")
    ingest(tmp_path / "0.ndjson")
    monkeypatch.setattr(module, "commit_adds", overtaken)
    both = [str(tmp_path / "a.ndjson"), str(tmp_path / "b.ndjson")]
    with pytest.raises(CommitConflict, match=r"another job ingested .*a\.ndjson meanwhile"):
        ingest(both)
    assert ingest(both).rows == 1
    assert sorted(str(row) for row in documents(tmp_path / "table")) == ["{'a': 'a'}", "{'a': 'b'}", "{}"]
    assert len(rejects(tmp_path / "table")) == 2


def test_other_engines_keep_the_record_of_files(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "a.ndjson").write_text('{"a": 1}\n')
    ingest(tmp_path / "a.ndjson")
    sl.Table(tmp_path / "table").checkpoint()
    for entry in (tmp_path / "table" / "_delta_log").glob("*.json"):
        entry.unlink()
    assert ingest(tmp_path / "a.ndjson").already_done


# ── Options and sources ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "options",
    [
        {"file_bytes": -1},
        {"task_bytes": 0},
        {"max_rejects": -1},
        {"max_rejects": 1.5},
        {"max_rejects": float("nan")},
        {"column": ""},
        {"computed": {"": "v:a::int"}},
        {"range_partition": True},
        {"parsing": Parsing(max_depth=0)},
    ],
    ids=str,
)
def test_options_that_make_no_sense(options: dict[str, Any]) -> None:
    with pytest.raises(PipelineError):
        IngestOptions(**options)


def test_rows_sorted_over_all_files_without_spark(
    tmp_path: Path, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    for number in range(5):
        lines = "".join(f'{{"n": {n * 5 + number}, "text": "{n:0200}"}}\n' for n in range(2000))
        (tmp_path / "in" / f"{number}.ndjson").write_text(lines)
    monkeypatch.setattr("shredlake.jobs.data_files.ROWS_AT_ONCE", 500)
    report = ingest(
        tmp_path / "in", sort_by=("v:n::int",), range_partition=True, task_bytes=10_000, file_bytes=20_000
    )
    assert report.files > 2
    table = sl.Table(tmp_path / "table")
    bounds = sorted(
        (min(found), max(found))
        for path in (tmp_path / "table").glob("*.parquet")
        for found in [sl.read_parquet(path, columns=["v:n::int AS n"]).column("n").to_pylist()]
    )
    assert all(before[1] < after[0] for before, after in pairwise(bounds))
    assert table.scan().count() == 10_000
    monkeypatch.setattr(sys.modules["shredlake.jobs.ingest.ingest"], "LARGEST_SORT", 1000)
    with pytest.raises(PipelineError, match="Use Spark"):
        ingest(tmp_path / "in", sort_by=("v:n::int",), range_partition=True, job_id="again")


def test_a_pipe(tmp_path: Path, ingest: Ingest) -> None:
    os.mkfifo(tmp_path / "pipe")
    for count in (1, 2):
        writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=('{"a": 1}\nbad\n',))
        writer.start()
        report = ingest(tmp_path / "pipe")
        writer.join()
        assert (report.rows, report.rejects) == (1, 1)
        assert sl.Table(tmp_path / "table").scan().count() == count
    assert {row["file"] for row in rejects(tmp_path / "table")} == {str(tmp_path / "pipe")}


@pytest.mark.slow
@pytest.mark.parametrize("source", ["-", "/dev/stdin"])
def test_standard_input(tmp_path: Path, source: str) -> None:
    command = [sys.executable, "-m", "shredlake.cli.app", "ingest", source, str(tmp_path / "table")]
    text = b"".join(b'{"id": %d}\n' % n for n in range(1000))
    done = subprocess.run(command, input=text, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sl.Table(tmp_path / "table").scan().count() == 1000


def test_web_addresses_are_refused(tmp_path: Path, ingest: Ingest) -> None:
    with pytest.raises(PipelineError, match=r"Download the file first"):
        ingest("https://example.org/a.ndjson")


def test_a_place_that_can_not_be_written(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "a.ndjson").write_text("{}\n")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ShredlakeError, match="file"):
        ingest(tmp_path / "a.ndjson", "file/table")
    (tmp_path / "a.ndjson").write_text("{}\nbad\n")
    with pytest.raises(ShredlakeError, match="rejects"):
        ingest(tmp_path / "a.ndjson", rejects=str(tmp_path / "file" / "rejects"))


def test_odd_names(tmp_path: Path, ingest: Ingest) -> None:
    for name in ("a%20b.ndjson", "a b.ndjson", "a#1.ndjson", "a?.ndjson", "[x].ndjson", "é.ndjson"):
        (tmp_path / name).write_text("{}\n")
        assert ingest(tmp_path / name).rows == 1, name


@pytest.mark.parametrize("error", [KeyboardInterrupt, PipelineError])
def test_a_job_that_ends_early_leaves_no_files(
    tmp_path: Path, ingest: Ingest, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    (tmp_path / "a.ndjson").write_bytes(LINES * 20 + b"bad\n")
    module: Any = sys.modules["shredlake.jobs.ingest.ingest"]
    real = module.write_splits

    def failing(job: Any, splits: Any) -> Any:
        if splits[0].number == 7:
            raise error("stop")
        return real(job, splits)

    monkeypatch.setattr(module, "write_splits", failing)
    with pytest.raises(error):
        ingest(tmp_path / "a.ndjson", task_bytes=100)
    assert not list(tmp_path.rglob("*.parquet"))


def test_batches_are_not_sorted_over_all_files(tmp_path: Path) -> None:
    data = pa.table({"v": ["{}"]})
    options = IngestOptions(sort_by=("v:a::int",), range_partition=True)
    with pytest.raises(PipelineError, match="only Spark sorts"):
        ingest_batches(data.to_batches(), data.schema, "v", str(tmp_path / "table"), options)


def test_the_result_of_a_task_in_this_process_is_not_parsed(
    tmp_path: Path, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (tmp_path / f"{name}.ndjson").write_text(f'{{"name": "{name}"}}\n')
    parsed: list[str] = []
    real = TaskResult.from_json

    def counted(text: str) -> TaskResult:
        parsed.append(text)
        return real(text)

    monkeypatch.setattr(TaskResult, "from_json", counted)
    report = ingest(tmp_path / "*.ndjson", task_bytes=14)
    assert (report.rows, len(parsed)) == (3, 0)


def test_a_regular_file_in_shared_memory_has_an_identity(tmp_path: Path) -> None:
    """`/dev/shm` is a file system, unlike the other names below `/dev`."""
    if not Path("/dev/shm").is_dir():
        pytest.skip("no /dev/shm")
    with tempfile.NamedTemporaryFile(dir="/dev/shm", suffix=".ndjson") as file:
        file.write(b'{"id": 1}\n')
        file.flush()
        assert sl.ingest(file.name, tmp_path / "t").rows == 1
        assert sl.ingest(file.name, tmp_path / "t").already_done
