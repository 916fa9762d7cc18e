"""`format("shredlake")` over Spark Connect, in a process of its own: one process has one kind of session."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import shredlake as sl
from long_runs import LONG

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")
pytest.importorskip("grpc", reason="Spark Connect is not installed: pip install 'pyspark[connect]'")
pytestmark = [pytest.mark.spark, LONG]

SCRIPT = """
import sys
from shredlake import spark as sls

place = sys.argv[1]
spark = sls.session(remote="local[2]")
rows = spark.range(0, 100, 1, 2).selectExpr("id", "to_variant_object(struct(id AS n)) AS v")
rows.write.format("shredlake").mode("append").save(place + "/a")
frame = spark.read.format("shredlake").option("columns", "v:n::bigint AS n").load(place + "/a")
assert frame.where("n >= 90").count() == 10
for attempt in range(5):  # a busy machine may take longer to start a stream's source than Spark waits
    source = spark.readStream.format("shredlake").load(place + "/a")
    writing = source.writeStream.format("shredlake").option("checkpointLocation", place + "/state")
    query = writing.trigger(availableNow=True).start(place + "/b")
    try:
        query.awaitTermination()
        break
    except Exception as error:
        if "connect back" not in str(error) or attempt == 4:
            raise
spark.stop()
"""


def test_read_write_and_stream(tmp_path: Path) -> None:
    from shredlake.spark.session import java_version
    from spark_cluster import connect_port

    if os.environ.get("SHREDLAKE_NO_SPARK") == "1" or (java_version() or 0) < 17:
        pytest.skip("no Java, or SHREDLAKE_NO_SPARK=1")
    with connect_port():
        command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert sl.Table(tmp_path / "a").scan().count() == 100
    assert sl.Table(tmp_path / "b").scan(["v:n::bigint AS n"]).to_arrow().column("n").to_pylist() != []
    assert sl.Table(tmp_path / "b").scan().count() == 100
