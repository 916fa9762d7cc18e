"""Sources that a Python program has at hand: open files, iterables of documents, streams, standard input."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import shredlake as sl

TEXTS = ['{"id": 0}', '{"id": 1, "name": "é"}', '{"id": 2}']
LINES = "".join(text + "\n" for text in TEXTS)


def written(folder: Path, name: str, data: bytes) -> Path:
    (folder / name).write_bytes(data)
    return folder / name


SOURCES: dict[str, Callable[[Path], Any]] = {
    "dicts": lambda _: [{"id": 0}, {"id": 1, "name": "é"}, {"id": 2}],
    "generator": lambda _: ({"id": n} if n != 1 else {"id": 1, "name": "é"} for n in range(3)),
    "texts": lambda _: TEXTS,
    "bytes": lambda _: [text.encode() for text in TEXTS],
    "variants": lambda _: [sl.Variant.from_json(text) for text in TEXTS],
    "mixed": lambda _: [{"id": 0}, TEXTS[1], TEXTS[2].encode()],
    "open text": lambda folder: written(folder, "a.ndjson", LINES.encode()).open(encoding="utf-8"),
    "open binary": lambda folder: written(folder, "a.ndjson", LINES.encode()).open("rb"),
    "open gzip bytes": lambda folder: written(folder, "a.ndjson.gz", gzip.compress(LINES.encode())).open(
        "rb"
    ),
    "gzip file": lambda folder: gzip.GzipFile(written(folder, "a.gz", gzip.compress(LINES.encode()))),
    "in memory": lambda _: io.BytesIO(LINES.encode()),
    "text in memory": lambda _: io.StringIO(f"[{','.join(TEXTS)}]"),
    "paths": lambda folder: [written(folder, "a.ndjson", LINES.encode())],
    "generator of paths": lambda folder: (str(written(folder, n, LINES.encode())) for n in ("a.ndjson",)),
    "arrow": lambda _: pa.table({"v": TEXTS}),
    "polars": lambda _: pl.DataFrame({"v": TEXTS}),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_rows(tmp_path: Path, source: str) -> None:
    report = sl.ingest(SOURCES[source](tmp_path), tmp_path / "t")
    assert (report.documents, report.rows, report.rejects) == (3, 3, 0)
    found = sl.Table(tmp_path / "t").scan(["v:id::bigint AS id", "v:name::string AS name"]).to_arrow()
    assert sorted(found.to_pylist(), key=lambda row: row["id"]) == [
        {"id": 0, "name": None},
        {"id": 1, "name": "é"},
        {"id": 2, "name": None},
    ]


def test_documents_that_are_not_json_are_rejected(tmp_path: Path) -> None:
    documents: list[Any] = ["{", {"id": 1}, b"\xff"]
    report = sl.ingest(documents, tmp_path / "t", max_rejects=5)
    assert (report.documents, report.rows, report.rejects) == (3, 1, 2)
    raws = sl.Table(str(report.rejects_table)).scan(["raw"]).to_arrow()["raw"].to_pylist()
    assert sorted(raws) == [b"{", b"\xff"]


@pytest.mark.slow
def test_more_documents_than_fit_a_batch(tmp_path: Path) -> None:
    report = sl.ingest(({"id": n} for n in range(70_000)), tmp_path / "t")
    assert report.rows == 70_000
    assert sl.Table(tmp_path / "t").scan(where="v:id::bigint >= 65530").count() == 4470


def test_a_job_id_makes_documents_once(tmp_path: Path) -> None:
    for already_done in (False, True):
        assert sl.ingest([{"id": 1}], tmp_path / "t", job_id="x").already_done is already_done
    assert sl.Table(tmp_path / "t").scan().count() == 1


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ({"id": 1}, sl.PipelineError, "a dict is not a source"),
        (b"{}", sl.PipelineError, "a bytes is not a source"),
        (5, sl.PipelineError, "a int is not a source"),
        ([{"id": 1}, {"id": object()}], sl.InvalidValue, "document 1: "),
    ],
)
def test_what_is_not_a_source(tmp_path: Path, source: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sl.ingest(source, tmp_path / "t")
    assert not (tmp_path / "t").exists()


@pytest.mark.slow
def test_standard_input(tmp_path: Path) -> None:
    code = "import sys, shredlake as sl; print(sl.ingest('-', sys.argv[1]).rows)"
    command = [sys.executable, "-c", code, str(tmp_path / "t")]
    assert subprocess.run(command, input=LINES.encode(), capture_output=True, check=True).stdout == b"3\n"
    verb = [sys.executable, "-m", "shredlake", "ingest", "-", str(tmp_path / "t")]
    subprocess.run(verb, input=LINES.encode(), capture_output=True, check=True)
    assert sl.Table(tmp_path / "t").scan().count() == 6


def test_optimize_of_an_open_table(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, pa.schema([("v", sl.variant())]))
    for n in (2, 1):
        table.append([{"v": {"id": n}}])
    report = table.optimize(sort_by="v:id::bigint")
    assert (report.files_before, report.files_after, table.version) == (2, 1, report.version)
    assert table.scan(["v:id::int AS id"]).to_arrow()["id"].to_pylist() == [1, 2]
    with pytest.raises(sl.TableError, match="open it without a version"):
        sl.Table(tmp_path, version=1).optimize()
