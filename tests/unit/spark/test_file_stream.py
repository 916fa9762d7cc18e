"""Streams of files: their options, their identifier, and the addresses of new files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import shredlake as sl
from shredlake.errors import ShredlakeError
from shredlake.jobs.ingest.ingest import IngestOptions
from shredlake.spark.file_stream import STREAM_ID, StreamOptions, local_or_url, start_stream, stream_id


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("file:/data/a.ndjson", "/data/a.ndjson"),
        ("file:///data/a.ndjson", "/data/a.ndjson"),
        ("/data/a:b.ndjson", "/data/a:b.ndjson"),
        ("file:/data/line\nbreak%0A.ndjson", "/data/line\nbreak%0A.ndjson"),
        ("s3a://bucket/a b.ndjson", "s3://bucket/a b.ndjson"),
        ("s3n://bucket/a.ndjson", "s3://bucket/a.ndjson"),
        ("gs://bucket/a?b#c.ndjson", "gs://bucket/a?b#c.ndjson"),
        ("hdfs://node:9000/a.ndjson", "hdfs://node:9000/a.ndjson"),
    ],
)
def test_addresses_of_files(path: str, expected: str) -> None:
    assert local_or_url(path) == expected


@pytest.mark.parametrize("name", ["files_per_batch", "writers", "compact_every"])
def test_counts_are_at_least_one(name: str) -> None:
    none: dict[str, Any] = {name: 0}
    with pytest.raises(ShredlakeError, match=name):
        StreamOptions(**none)
    one: dict[str, Any] = {name: 1}
    assert getattr(StreamOptions(**one), name) == 1


def test_the_identifier_of_a_checkpoint_stays(tmp_path: Path) -> None:
    first = stream_id(str(tmp_path / "one"), {})
    assert len(first) == 32
    assert stream_id(str(tmp_path / "one"), {}) == first
    assert (tmp_path / "one" / STREAM_ID).read_text() == first
    assert stream_id(str(tmp_path / "two"), {}) != first


@pytest.mark.spark
def test_batches_are_committed_once_with_the_identifier(spark: Any, tmp_path: Path) -> None:
    source, place, state = tmp_path / "in", str(tmp_path / "t"), str(tmp_path / "state")
    (source / "deep").mkdir(parents=True)
    for n, name in enumerate(["a.ndjson", "deep/b%20c.ndjson"]):
        (source / name).write_text(json.dumps({"n": n}) + "\n")
    reports: list[Any] = []
    how = StreamOptions(files_per_batch=1, on_batch=reports.append)

    def run() -> list[int]:
        start_stream(str(source), spark, place, state, IngestOptions(), how).awaitTermination()
        return sorted(sl.Table(place).scan(["v:n::int AS n"]).to_arrow().column("n").to_pylist())

    assert run() == [0, 1]
    assert [report.rows for report in reports] == [1, 1]
    version = sl.Table(place).version
    assert run() == [0, 1]
    assert sl.Table(place).version == version, "without new files there is no commit"
    name = f"shredlake-stream-{stream_id(state, {})}"
    commits = "".join(path.read_text() for path in sorted(Path(place, "_delta_log").glob("*.json")))
    marks = [json.loads(line)["txn"] for line in commits.splitlines() if '"txn"' in line]
    assert [(mark["appId"], mark["version"]) for mark in marks] == [(name, 0), (name, 1)]


@pytest.mark.spark
def test_mistakes_are_found_before_the_stream_starts(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    options = IngestOptions(shredding="struct<a nokind>")
    with pytest.raises(ShredlakeError, match="nokind"):
        start_stream(
            str(tmp_path / "in"), spark, str(tmp_path / "t"), str(tmp_path / "s"), options, StreamOptions()
        )
    assert not (tmp_path / "s").exists()
    assert spark.streams.active == []
