"""Credentials are never shown: not in representations, messages or tracebacks."""

from __future__ import annotations

import logging
import pickle
import traceback

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.storage.storage import Storage
from shredlake.delta.storage.store_files import StoreFiles
from shredlake.delta.write.cleanup import remove_quietly
from shredlake.jobs.ingest.ingest import IngestOptions

SECRET = "SUPERSECRETKEY123"
OPTIONS = {"aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": SECRET, "aws_region": "us-east-1"}


def test_representations() -> None:
    table = sl.Table.create("memory://secrets/t", pa.schema([("id", pa.int64())]), storage_options=OPTIONS)
    table.append(pa.table({"id": [1]}))
    shown = [table, table.snapshot, table.scan(), table.history(), Storage("s3://b/t", OPTIONS)]
    shown += [Storage("s3://b/t", OPTIONS).options, IngestOptions(storage_options=OPTIONS)]
    for thing in shown:
        assert SECRET not in repr(thing)
        assert SECRET not in f"{thing}"


def test_the_options_are_still_there() -> None:
    storage = pickle.loads(pickle.dumps(Storage("s3://b/t", OPTIONS)))
    assert storage.options == OPTIONS


@pytest.mark.parametrize(
    ("uri", "options"),
    [
        ("s3://bucket/t", {**OPTIONS, "aws_no_such_option": SECRET}),
        ("s3://bucket/t", {**OPTIONS, "no_prefix": SECRET}),  # obstore panics
        ("s3://bucket/t", {**OPTIONS, "aws_virtual_hosted_style_request": SECRET}),
        (f"s3://AKIA:{SECRET}@bucket/t", {}),
        (f"https://account.invalid/c/t?sv=1&sig={SECRET}", {}),
    ],
)
def test_messages_and_tracebacks(uri: str, options: dict[str, str]) -> None:
    with pytest.raises(sl.ShredlakeError) as caught:
        sl.Table(uri, storage_options=options)
    assert SECRET not in str(caught.value)
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET not in shown.replace(repr(uri), "").replace(repr(options), "")


def test_logs_reports_and_explanations(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing that is logged or shown holds a secret, also where the store's own error repeats it."""
    caplog.set_level(logging.DEBUG)
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create("memory://secrets/logs", schema, storage_options=OPTIONS)
    for number in range(3):
        table.append([{"id": number, "v": {"a": number, "t": ["x"]}}])
    shown: list[object] = [
        table.scan(["v:a::bigint AS a"], where="id > 0").explain(),
        table.report(),
        sl.check_table("memory://secrets/logs", storage_options=OPTIONS),
        sl.optimize("memory://secrets/logs", storage_options=OPTIONS, threads=1),
        table.files(), table.snapshot.metadata, sl.sql("SELECT id FROM t", t=table).explain(),
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:

        def refuse(*given: object, **how: object) -> None:
            raise OSError(f"the signature of {SECRET} is wrong")

        patch.setattr(StoreFiles, "delete", refuse)
        patch.setattr("obstore.put", refuse)
        patch.setattr(StoreFiles, "put", refuse)
        for attempt in (table.checkpoint, lambda: table.append([{"id": 9, "v": 1}]), lambda: table.delete()):
            with pytest.raises(sl.ShredlakeError) as caught:
                attempt()
            shown += [caught.value]
        remove_quietly(table.snapshot.storage, ["x.parquet"])
    assert "stays until vacuum" in caplog.text
    for thing in [*shown, caplog.text, *(record.__dict__ for record in caplog.records)]:
        assert SECRET not in f"{thing} {thing!r} {html(thing)}"


def html(thing: object) -> str:
    """As notebooks show it."""
    found = getattr(thing, "_repr_html_", None)
    return "" if found is None else str(found())
