"""Arguments that `ingest` and `stream` refuse before any work, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from shredlake.errors import InvalidSchema, PipelineError
from shredlake.spark.given import check_frame, check_source, is_in_memory, stream_folder


class Frame:
    """The few attributes of a DataFrame that are used."""

    isStreaming = True

    def __init__(self, *columns: tuple[str, str]) -> None:
        self.columns = [name for name, _ in columns]
        self._kinds = dict(columns)

    def mapInArrow(self) -> None: ...

    @property
    def schema(self) -> Any:
        from pyspark.sql.types import StructType

        fields = [{"name": n, "type": k, "nullable": True, "metadata": {}} for n, k in self._kinds.items()]
        return StructType.fromJson({"type": "struct", "fields": fields})


class Rdd:
    def mapPartitions(self) -> None: ...

    def toDF(self) -> None: ...


def test_sources() -> None:
    with pytest.raises(PipelineError, match=r"not an RDD: use rdd\.toDF"):
        check_source(Rdd())
    with pytest.raises(PipelineError, match=r"use sls\.stream"):
        check_source(Frame())
    check_source("events.ndjson")
    check_source(Path("events"))
    check_source(["a", "b"])
    assert is_in_memory(pa.table({"v": ["{}"]}))
    assert not is_in_memory(Frame())


def test_folders_of_streams(tmp_path: Path) -> None:
    assert stream_folder(tmp_path, {}) == str(tmp_path)
    odd = tmp_path / "a%20b#c?d"
    odd.mkdir()
    assert stream_folder(odd, {}) == str(odd).replace("?", "\\?")
    assert stream_folder(f"{tmp_path}/*/x", {}) == f"{tmp_path}/*/x"
    (tmp_path / "file").touch()
    for given, message in (
        ([tmp_path], "common parent"),
        (tmp_path / "nope", "does not exist"),
        (tmp_path / "file", "is a file"),
        (5, "not an int"),
    ):
        with pytest.raises(PipelineError, match=message):
            stream_folder(given, {})


def test_frames() -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")
    check_frame(Frame(("id", "long"), ("v", "string")), "v")
    for frame, message in (
        (Frame(("v", "string"), ("V", "string")), "two columns named 'v'"),
        (Frame(("v", "string"), ("__reject_x", "long")), "'__reject_x' has a name that shredlake"),
        (Frame(("v", "long")), "'v' is bigint, not documents"),
    ):
        with pytest.raises(InvalidSchema, match=message):
            check_frame(frame, "v")
