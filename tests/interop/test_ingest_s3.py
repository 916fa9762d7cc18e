"""Ingest from and to S3: the real protocol, spoken with a server on loopback."""

from __future__ import annotations

import gzip
import io
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import from_url
from typer.testing import CliRunner

import shredlake as sl
from shredlake.cli.app import app
from shredlake.errors import InvalidSchema, NotATable
from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.ingest.ingest import IngestOptions, ingest_text
from shredlake.jobs.migrate import migrate_files
from shredlake.parquet.legacy.convert import write_draft

moto = pytest.importorskip("moto.server", reason="moto is not installed: pip install 'shredlake[dev]'")


@pytest.fixture
def reach() -> Iterator[dict[str, Any]]:
    """Storage options for a local S3 server with an empty bucket."""
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        import urllib.request

        # All servers of a process share their buckets, so those of the tests before are removed.
        for method, path in (("POST", "moto-api/reset"), ("PUT", "lake")):
            request = urllib.request.Request(f"http://{host}:{port}/{path}", method=method)
            urllib.request.urlopen(request, timeout=10).close()
        yield {
            "endpoint": f"http://{host}:{port}",
            "access_key_id": "test",
            "secret_access_key": "test",
            "region": "us-east-1",
            "virtual_hosted_style_request": False,
            "client_options": {"allow_http": True},
        }
    finally:
        server.stop()


def parquet_bytes() -> bytes:
    """A file with a column of JSON text, one of which is not JSON."""
    with io.BytesIO() as written:
        pq.write_table(pa.table({"id": [1, 2, 3], "payload": ['{"n": 1}', "bad", '{"n": 3}']}), written)
        return written.getvalue()


def test_s3(reach: dict[str, Any]) -> None:
    store = from_url("s3://lake", **reach)
    plain = b"".join(b'{"id": %d}\n' % n for n in range(100)) + b"bad\n"
    packed = gzip.compress(json.dumps([{"id": n} for n in range(100, 120)]).encode())
    obstore.put(store, "raw/day=1/a.ndjson", plain)
    obstore.put(store, "raw/day=2/b.json.gz", packed)
    obstore.put(store, "raw/_skipped/c.ndjson", b"{}\n")
    options = IngestOptions(storage_options=reach, task_bytes=300)
    report = ingest_text(LocalEngine(2), "s3://lake/raw", "s3://lake/events", options)
    assert (report.documents, report.rows, report.rejects) == (121, 120, 1)
    assert report.files > 2
    table = sl.Table("s3://lake/events", storage_options=reach)
    ids = table.scan(columns=["v:id::int AS id"]).to_arrow().column("id").to_pylist()
    assert sorted(ids) == list(range(120))
    [bad] = sl.Table("s3://lake/events_rejects", storage_options=reach).scan().to_arrow().to_pylist()
    assert (bad["file"], bad["line"], bad["raw"]) == ("s3://lake/raw/day=1/a.ndjson", 101, b"bad\n")
    again = ingest_text(LocalEngine(2), "s3://lake/raw/*/*.*", "s3://lake/other", options)
    assert again.rows == 120
    assert ingest_text(LocalEngine(2), "s3://lake/raw", "s3://lake/events", options).already_done


def test_draft_files_in_s3(reach: dict[str, Any], tmp_path: Path) -> None:
    store = from_url("s3://lake", **reach)
    layouts = {"struct<id bigint>", "struct<name string>"}
    for number, layout in enumerate(sorted(layouts)):
        data = pa.table({"v": sl.from_json(pa.array([json.dumps({"id": number, "name": "n"})]))})
        write_draft(data, tmp_path / "draft.parquet", {"v": layout})
        obstore.put(store, f"drafts/a#{number}?.parquet", (tmp_path / "draft.parquet").read_bytes())
    report = migrate_files(LocalEngine(2), "s3://lake/drafts", str(tmp_path / "table"), storage_options=reach)
    assert report.rows == 2
    tags = sl.Table(tmp_path / "table").files().column("tags").to_pylist()
    assert {json.loads(dict(tag)["shredlake.layout"])["v"]["shredding"] for tag in tags} == layouts
    again = migrate_files(LocalEngine(2), "s3://lake/drafts", str(tmp_path / "table"), storage_options=reach)
    assert again.already_done


@pytest.mark.parametrize("key", ["raw day/100%/my events.parquet", "events.parquet"])
def test_json_strings_of_one_file_are_converted(reach: dict[str, Any], tmp_path: Path, key: str) -> None:
    obstore.put(from_url("s3://lake", **reach), key, parquet_bytes())
    rejects = str(tmp_path / "rejects")
    report = sl.convert(
        f"s3://lake/{key}", columns=["payload"], target="s3://lake/converted", max_rejects=1, rejects=rejects,
        storage_options=reach,
    )  # fmt: skip
    assert (report.rows, report.rejects) == (2, 1)
    found = sl.Table("s3://lake/converted", storage_options=reach).scan(["id", "payload:n::int as n"])
    assert sorted(list(row.values()) for row in found.to_arrow().to_pylist()) == [[1, 1], [3, 3]]


def test_an_address_without_a_file_is_not_converted(reach: dict[str, Any]) -> None:
    for address in ("s3://lake/none.parquet", "s3://lake/none", "s3://lake/"):
        with pytest.raises(NotATable, match="neither a Delta table, a Parquet file nor"):
            sl.convert(address, columns=["payload"], target="s3://lake/converted", storage_options=reach)
    obstore.put(from_url("s3://lake", **reach), "one.parquet", parquet_bytes())
    with pytest.raises(InvalidSchema, match="can't be converted in place"):
        sl.convert("s3://lake/one.parquet", columns=["payload"], storage_options=reach)


def test_verbs_that_read_one_file_take_the_settings_of_its_store(reach: dict[str, Any]) -> None:
    """A key that only the command line knows is used by inspect, check, advise and sql."""
    options = [f"{key}={value}" for key, value in reach.items() if isinstance(value, str)]
    options += ["virtual_hosted_style_request=false", "allow_http=true"]
    settings = [part for option in options for part in ("--storage-option", option)]
    table = sl.Table.create("s3://lake/t", pa.schema([("v", sl.variant())]), storage_options=reach)
    table.append([{"v": {"a": 1}}])
    [path] = table.snapshot.files.table().column("path").to_pylist()

    def run(*arguments: str) -> Any:
        result = CliRunner().invoke(app, [*arguments, *settings, "--json"], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return [json.loads(line) for line in result.stdout.splitlines()]

    [facts] = run("inspect", f"s3://lake/t/{path}")
    assert facts["rows"] == 1
    assert run("check", f"s3://lake/t/{path}") == []
    assert run("advise", "s3://lake/t")[0]["column"] == "v"
    assert run("sql", "select v:a::int as a from t", "-t", "t=s3://lake/t") == [{"a": 1}]


@pytest.mark.parametrize("copied", [False, True])
def test_convert_on_s3(reach: dict[str, Any], copied: bool) -> None:
    """A folder of Parquet files in a bucket, as Hive names folders, with a row that is not JSON."""
    folder = f"hive{copied}"
    source, target = f"s3://lake/{folder}", "s3://lake/copy" if copied else None
    store = from_url("s3://lake", **reach)
    for day in (1, 2):
        texts = [json.dumps({"n": n}) for n in range(100 * day, 100 * day + 50)] + ["oops"]
        file = io.BytesIO()
        pq.write_table(pa.table({"id": range(51), "payload": texts}), file)
        obstore.put(store, f"{folder}/day={day}/a.parquet", file.getvalue())
    report = sl.convert(source, ["payload"], target=target, storage_options=reach)
    assert (report.documents, report.rows, report.rejects) == (102, 100, 2)
    table = sl.Table(target or source, storage_options=reach)
    found = table.scan(["day", "payload:n::int AS n"]).to_arrow().to_pylist()
    assert sorted((row["day"], row["n"]) for row in found) == [
        (day, n) for day in (1, 2) for n in range(100 * day, 100 * day + 50)
    ]
    rejects = sl.Table(f"{target or source}_rejects", storage_options=reach)
    kept = rejects.scan(["payload", "day"]).to_arrow().to_pylist()
    assert sorted((row["payload"], row["day"]) for row in kept) == [("oops", 1), ("oops", 2)]
    again = sl.convert(source, ["payload"], target=target, storage_options=reach)
    assert again.already_done


def test_the_data_source_takes_the_settings_of_its_store(reach: dict[str, Any]) -> None:
    """The options `storage.*` reach the store from the driver, from pickled tasks, and in a stream."""
    pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")
    from pyspark.sql.types import LongType, StructField, StructType

    from shredlake.spark.datasource.options import READ, STREAM_READ, WRITE, SourceOptions
    from shredlake.spark.datasource.read import FilteringReader
    from shredlake.spark.datasource.stream_read import TableStream
    from shredlake.spark.datasource.write import TableWriter

    given = {f"storage.{key}": value for key, value in reach.items() if isinstance(value, str)}
    given |= {"storage.virtual_hosted_style_request": "false", "storage.allow_http": "true"}
    given["path"] = "s3://lake/source"
    schema = StructType([StructField("id", LongType())])
    writer = TableWriter(SourceOptions.of(given, WRITE), schema, False)
    rows = pa.RecordBatch.from_pydict({"id": [1, 2]})
    writer.commit([pickle.loads(pickle.dumps(writer)).write(iter([rows]))])
    assert sl.Table("s3://lake/source", storage_options=reach).scan().count() == 2

    def read(reader: Any, tasks: Any) -> list[int]:
        copy = pickle.loads(pickle.dumps(reader))
        return [n for task in tasks for batch in copy.read(task) for n in batch.column(0).to_pylist()]

    reader = FilteringReader(SourceOptions.of(given, READ), schema)
    assert read(reader, reader.partitions()) == [1, 2]
    stream = TableStream(SourceOptions.of(given, STREAM_READ), schema)
    start = stream.initialOffset()
    assert read(stream, stream.partitions(start, stream.latestOffset(start))) == [1, 2]
