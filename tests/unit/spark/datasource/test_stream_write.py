"""The streaming sink."""

from __future__ import annotations

from pathlib import Path

import pytest

from shredlake.errors import PipelineError

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")
from shredlake.spark.datasource.options import STREAM_WRITE, SourceOptions


def test_a_sink_needs_a_checkpoint(tmp_path: Path) -> None:
    from shredlake.spark.datasource.stream_write import query_id

    with pytest.raises(PipelineError, match=r"needs .*checkpointLocation"):
        query_id(SourceOptions.of({"path": "/t"}, STREAM_WRITE))
    with pytest.raises(PipelineError, match="txnAppId"):
        query_id(SourceOptions.of({"path": "/t", "checkpointlocation": str(tmp_path)}, STREAM_WRITE))
