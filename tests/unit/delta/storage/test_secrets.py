"""Credentials are never shown: not in representations, messages or tracebacks."""

from __future__ import annotations

import pickle
import traceback

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.storage.storage import Storage
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
