"""The descriptions of our jobs in Spark's UI and in a table's history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shredlake as sl
from shredlake import spark as sls

pytestmark = pytest.mark.spark


def test_jobs_are_described(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text('{"id": 1}\n{"id": 2}\n{"id"\n')
    context = spark.sparkContext
    context.setLocalProperty("spark.job.description", "mine")
    try:
        sls.ingest(spark, spark.createDataFrame([('{"id": 3}',)], "v string"), tmp_path / "t")
        assert context.getLocalProperty("spark.job.description") == "mine"
    finally:
        context.setLocalProperty("spark.job.description", None)
    assert sls.ingest(spark, tmp_path / "a.ndjson", tmp_path / "t").rejects == 1
    [entry] = sl.Table(tmp_path / "t").history(1)
    assert entry["metrics"]["numRejects"] == "1"
    jobs = context._jsc.sc().statusStore().jobsList(None)
    seen = {str(jobs.apply(number).description()) for number in range(jobs.size())}
    assert any("shredlake: ingest into" in text for text in seen), seen
