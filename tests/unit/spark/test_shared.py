"""The files that Spark keeps hold no storage options, and the workers get them all the same."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from shredlake.delta.storage.secrets import StorageOptions
from shredlake.delta.storage.storage import Storage
from shredlake.jobs.ingest.sources import SourceFile
from shredlake.spark.shared import Shared, shared, shared_step

pytest.importorskip("pyspark.cloudpickle", reason="PySpark is not installed")
from pyspark import cloudpickle

SECRET = "a-secret-of-the-store"
OPTIONS = {"aws_secret_access_key": SECRET}
KEPT = Storage("s3://bucket/t", OPTIONS)
PLAIN = Storage("s3://bucket/u")


@dataclass
class Spark:
    """A session that only broadcasts."""

    files: bytes = b""

    @property
    def sparkContext(self) -> Any:
        return SimpleNamespace(broadcast=self.broadcast)

    def broadcast(self, value: Any) -> Any:
        self.files += pickle.dumps(value)
        return SimpleNamespace(value=value)


def tasks() -> list[Any]:
    """Storage options wherever tasks have them."""
    closure: Any = lambda: KEPT.options  # noqa: E731
    file = SourceFile("s3://bucket/a.ndjson", 1, "tag", StorageOptions(OPTIONS))
    return [KEPT, [KEPT, PLAIN], partial(replace, KEPT), closure, file]


def test_a_broadcast_holds_no_storage_options_and_the_worker_has_them() -> None:
    spark: Any = Spark()
    found = shared(spark, tasks())
    assert spark.files
    assert SECRET.encode() not in spark.files
    assert found.options == (OPTIONS, {})
    sent: Shared = pickle.loads(cloudpickle.dumps(found))  # the closure, which stays in memory
    assert sent(0) == KEPT
    assert sent(0).options == OPTIONS
    assert sent(1) == [KEPT, PLAIN]
    assert sent(2)().options == OPTIONS
    assert sent(3)() == OPTIONS
    assert sent(4).options == OPTIONS


def test_each_thread_of_a_worker_has_its_own_options() -> None:
    spark: Any = Spark()
    found = [shared(spark, [Storage(f"s3://bucket/{n}", {"token": str(n)})]) for n in range(8)]
    wrong: list[int] = []

    def read(number: int) -> None:
        wrong.extend(number for _ in range(200) if found[number](0).options != {"token": str(number)})

    threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_step_is_broadcast_with_all_that_it_holds() -> None:
    spark: Any = Spark()

    def step(batches: Any, storage: Storage = KEPT) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.record_batch({"key": [storage.options["aws_secret_access_key"]] * batch.num_rows})

    sent = pickle.loads(cloudpickle.dumps(shared_step(spark, step)))
    assert SECRET.encode() not in spark.files
    [batch] = sent([pa.record_batch({"a": [1]})])
    assert batch.to_pydict() == {"key": [SECRET]}
