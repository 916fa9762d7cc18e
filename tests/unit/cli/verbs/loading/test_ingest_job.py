"""The job of `shredlake ingest` on each kind of source, in this process."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.cli.engines import EngineName
from shredlake.cli.verbs.loading.ingest_job import Cluster, Format, Job, run
from shredlake.errors import InvalidFile, InvalidSchema, PipelineError, ShredlakeError
from shredlake.jobs.ingest.ingest import IngestOptions

LOCAL = Cluster("local", None, None)
ROWS = pa.table({"n": [1, 2], "body": ['{"id": 1}', '{"id": 2}']})


def job(
    table: Path, *sources: Path, kind: Format = "json", document: str | None = None, column: str = "v"
) -> Job:
    return Job([str(one) for one in sources], kind, document, str(table), IngestOptions(column=column))


def ids(table: Path, column: str = "v") -> list[int]:
    return sorted(sl.Table(table).scan([f"{column}:id::int AS id"]).to_arrow()["id"].to_pylist())


@pytest.mark.parametrize("engine", ["auto", "local"])
def test_documents(tmp_path: Path, engine: EngineName) -> None:
    for name, text in (("a", '{"id": 1}\n'), ("b", '{"id": 2}\n')):
        (tmp_path / f"{name}.ndjson").write_text(text)
    report = run(job(tmp_path / "t", *tmp_path.glob("*.ndjson")), Cluster(engine, None, None))
    assert (report.rows, report.rejects) == (2, 0)
    assert ids(tmp_path / "t") == [1, 2]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_columns_of_several_files(tmp_path: Path, kind: Format) -> None:
    sources = [tmp_path / f"{number}.{kind}" for number in range(2)]
    for number, source in enumerate(sources):
        rows = ROWS.slice(number, 1)
        pq.write_table(rows, source) if kind == "parquet" else pyarrow.csv.write_csv(rows, source)
    report = run(job(tmp_path / "t", *sources, kind=kind, document="body", column="event"), LOCAL)
    assert report.rows == 2
    assert ids(tmp_path / "t", "event") == [1, 2]
    assert sl.Table(tmp_path / "t").schema.names == ["n", "event"]


def test_the_column_of_documents_is_by_default_that_of_the_table(tmp_path: Path) -> None:
    pq.write_table(ROWS.rename_columns(["n", "v"]), tmp_path / "a.parquet")
    run(job(tmp_path / "t", tmp_path / "a.parquet", kind="parquet"), LOCAL)
    assert ids(tmp_path / "t") == [1, 2]


def test_rows_of_a_table(tmp_path: Path) -> None:
    sl.Table.create(tmp_path / "source", ROWS.schema).append(ROWS)
    report = run(job(tmp_path / "t", tmp_path / "source", kind="delta", document="body"), LOCAL)
    assert report.rows == 2
    assert ids(tmp_path / "t") == [1, 2]


@pytest.mark.parametrize("engine", ["auto", "local"])
@pytest.mark.parametrize(
    ("kind", "names", "document", "error", "message"),
    [
        ("parquet", ["a.txt"], "body", InvalidFile, "can't be read as parquet"),
        ("delta", ["a.txt", "b.txt"], "body", PipelineError, "expects one source table, found 2: "),
        ("parquet", ["ok.parquet"], "nope", InvalidSchema, "nope"),
        ("json", ["nowhere.ndjson"], None, ShredlakeError, "nothing to ingest at "),
    ],
)
def test_mistakes(
    tmp_path: Path,
    engine: EngineName,
    kind: Format,
    names: list[str],
    document: str | None,
    error: type[ShredlakeError],
    message: str,
) -> None:
    (tmp_path / "a.txt").write_text("text")
    pq.write_table(ROWS, tmp_path / "ok.parquet")
    with pytest.raises(error, match=message):
        run(
            job(tmp_path / "t", *(tmp_path / name for name in names), kind=kind, document=document),
            Cluster(engine, None, None),
        )
    assert not (tmp_path / "t").exists()
