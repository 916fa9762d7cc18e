"""Storage options reach Spark's workers, but none of the files that Spark keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shredlake.delta.storage.storage import Storage
from shredlake.spark import ingest, optimize, unshred
from shredlake.spark.engine import SparkEngine
from shredlake.spark.query.api import read
from spark_tables import use_workers

pytestmark = pytest.mark.spark

SECRET = "a-secret-of-the-store"
OPTIONS = {"aws_secret_access_key": SECRET}


def kept(spark: Any) -> list[bytes]:
    """The files of broadcast variables, shuffles and spills, of the driver and of the local executor."""
    folder = Path(spark.sparkContext._temp_dir).parent
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


def test_tasks_have_them_and_their_broadcast_has_not(spark: Any) -> None:
    """As the files of a bucket are tasks: each has the options to read it."""
    tasks = [Storage("s3://bucket/t", OPTIONS)]
    assert SparkEngine(spark).run(tasks, lambda task: str(task.options["aws_secret_access_key"])) == [SECRET]
    files = kept(spark)
    assert any(b"shredlake" in file for file in files)
    assert not any(SECRET.encode() in file for file in files)


@pytest.mark.parametrize("given", [{}, {"sort_by": "v:a::int"}, {"computed": {"b": "v:a::int + 1"}}], ids=str)
def test_no_verb_leaves_them_in_a_file(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    use_workers(monkeypatch)
    (tmp_path / "in.ndjson").write_text("".join(json.dumps({"a": n}) + "\n" for n in range(100)))
    table = str(tmp_path / "t")
    ingest(spark, str(tmp_path / "in.ndjson"), table, storage_options=OPTIONS, column="v", **given)
    frame = spark.range(100).selectExpr("'{\"a\": 7}' AS v")
    ingest(spark, frame, table, document="v", column="v", storage_options=OPTIONS, job_id="frame")
    optimize(spark, table, storage_options=OPTIONS, sort_by="v:a::int")
    unshred(spark, table, str(tmp_path / "u"), storage_options=OPTIONS)
    rows = read(spark, table, ["v:a::int AS a"], "v:a::int >= 0", storage_options=OPTIONS)
    assert rows.count() == 200
    files = kept(spark)
    assert any(b"shredlake" in file for file in files)  # the right folder
    assert not any(SECRET.encode() in file for file in files)
