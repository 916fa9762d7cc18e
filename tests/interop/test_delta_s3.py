"""Tables on S3: the real protocol, spoken with a server on loopback."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, numbered
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.append import append

pytest.importorskip("moto", reason="moto is not installed: pip install 'shredlake[dev]'")

BUCKET = "lake"


@pytest.fixture(scope="module")
def options() -> Iterator[dict[str, Any]]:
    """An S3 server of its own process, and what it takes to reach it."""
    command = [sys.executable, "-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as server:
        try:
            endpoint = _endpoint(server)
            found = {
                "endpoint": endpoint,
                "access_key_id": "test",
                "secret_access_key": "test",
                "region": "us-east-1",
                "virtual_hosted_style_request": False,
                "client_options": {"allow_http": True},
            }
            request = urllib.request.Request(f"{endpoint}/{BUCKET}", method="PUT")
            urllib.request.urlopen(request, timeout=10).close()
            yield found
        finally:
            server.terminate()
            server.wait(timeout=10)


def _endpoint(server: subprocess.Popen[str]) -> str:
    """The address that the server says it listens at."""
    assert server.stdout is not None
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        line = server.stdout.readline()
        if not line:
            break
        if "http://127.0.0.1:" in line:
            endpoint = "http://127.0.0.1:" + line.split("http://127.0.0.1:")[1].split()[0]
            # The pipe must not fill up.
            threading.Thread(target=server.stdout.read, daemon=True).start()
            return endpoint
    pytest.fail("moto's server did not start")


def ids(table: sl.Table, where: str | None = None) -> list[int]:
    return sorted(table.scan(["id"], where=where).to_arrow().column("id").to_pylist())


def test_a_table_on_s3(options: dict[str, Any]) -> None:
    properties = SHREDDED | {"delta.checkpointInterval": "2"}
    uri = f"s3://{BUCKET}/tables/ü events"
    table = sl.Table.create(uri, ID_AND_VARIANT, properties=properties, storage_options=options)
    for start in (0, 10, 20):
        table.append(numbered(start, start + 10))
    assert ids(table, "v:a::bigint between 8 and 11") == [8, 9, 10, 11]
    assert table.scan(["id"], where="v:a::bigint = 25").explain().files_read == 1
    table.delete("id % 2 = 0")
    again = sl.Table(uri, storage_options=options)
    assert again.snapshot.segment.checkpoint is not None
    assert ids(again) == list(range(1, 30, 2))
    assert len(again.vacuum(retention_hours=0, enforce_retention=False)) == 3
    again.restore(3)
    assert ids(again) == list(range(30))
    assert [entry["operation"] for entry in again.history(2)] == ["RESTORE", "DELETE"]


def test_partitions_with_odd_names(options: dict[str, Any]) -> None:
    uri = f"s3a://{BUCKET}/odd"
    table = sl.Table.create(
        uri, pa.schema([("p", pa.string()), ("id", pa.int64())]), ["p"], storage_options=options
    )
    values = ["a b", "100%", "x/y", "ü", "a=b", None, "+&"]
    table.append(pa.table({"p": values, "id": range(len(values))}))
    assert {row["p"]: row["id"] for row in table.scan().to_arrow().to_pylist()} == {
        value: number for number, value in enumerate(values)
    }


def test_the_second_writer_of_a_version_is_told(options: dict[str, Any]) -> None:
    storage = Storage(f"s3://{BUCKET}/conditional", options)
    storage.create("_delta_log/0.json", b"first")
    with pytest.raises(FileExistsError):
        storage.create("_delta_log/0.json", b"second")
    assert storage.get("_delta_log/0.json") == b"first"
    assert pickle.loads(pickle.dumps(storage)).get("_delta_log/0.json") == b"first"
    with pytest.raises(FileNotFoundError):
        storage.get("nothing")


def test_racing_writers(options: dict[str, Any]) -> None:
    uri = f"s3://{BUCKET}/race"
    sl.Table.create(uri, ID_AND_VARIANT, storage_options=options)
    failures: list[Exception] = []

    def work(worker: int) -> None:
        try:
            table = sl.Table(uri, storage_options=options)
            for number in range(3):
                table.append(numbered(worker * 10 + number, worker * 10 + number + 1))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    table = sl.Table(uri, storage_options=options)
    assert table.version == 9
    assert ids(table) == sorted(w * 10 + n for w in range(3) for n in range(3))


def test_a_conflict_on_s3(options: dict[str, Any]) -> None:
    uri = f"s3://{BUCKET}/conflict"
    table = sl.Table.create(uri, ID_AND_VARIANT, storage_options=options)
    table.append(numbered(0, 3))
    stale = sl.Table(uri, storage_options=options).snapshot
    table.set_properties({"mine": "changed"})
    before = len(table.snapshot.storage.list())
    with pytest.raises(sl.CommitConflict, match="changed the table's metadata"):
        append(stale, numbered(3, 6))
    assert len(table.snapshot.storage.list()) == before, "the file of the failed write is gone"


def test_no_server_there() -> None:
    options = {
        "endpoint": "http://127.0.0.1:9",
        "access_key_id": "test",
        "secret_access_key": "test",
        "region": "us-east-1",
        "client_options": {"allow_http": True, "timeout": "1s"},
        "retry_config": {"max_retries": 0},
    }
    with pytest.raises(sl.TableError, match="could not be listed") as caught:
        sl.Table("s3://lake/t", storage_options=options)
    assert "\n" not in str(caught.value)
