"""delta-spark, on the Spark before the newest, reads what the pipeline wrote: the same values."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.cli.generate import write_ndjson
from shredlake.kernels.checksum import checksum
from shredlake.spark.engine import LocalEngine
from shredlake.spark.ingest import IngestOptions, ingest_text
from shredlake.spark.optimize import optimize_table

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-delta" / "bin" / "python"

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not PYTHON.exists(), reason="no delta-spark: make interop"),
]


def test_an_ingested_and_optimized_table(tmp_path: Path) -> None:
    lines: list[str] = []
    for shape in ("bluesky", "github", "logs", "telemetry"):
        source = tmp_path / f"{shape}.ndjson"
        write_ndjson(shape, source, 300)
        lines += source.read_text().splitlines()
        ingest_text(LocalEngine(), str(source), str(tmp_path / "table"), IngestOptions())
    optimize_table(LocalEngine(), str(tmp_path / "table"))
    ingest_text(
        LocalEngine(), str(tmp_path / "logs.ndjson"), str(tmp_path / "table"), IngestOptions(job_id="b")
    )
    lines += (tmp_path / "logs.ndjson").read_text().splitlines()
    command = [PYTHON, ROOT / "tests" / "delta_spark_reader.py", tmp_path / "table", "v", tmp_path / "read"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    found = (tmp_path / "read").read_text().splitlines()
    assert checksum(sl.from_json(pa.array(found))) == checksum(sl.from_json(pa.array(lines)))
