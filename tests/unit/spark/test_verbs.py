"""The public verbs that write: what they refuse before any work, and what reaches the jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, rows_of
from shredlake.errors import PipelineError, TableError
from shredlake.spark.verbs import convert, ingest, migrate_draft, optimize, stream, unshred

pytestmark = pytest.mark.spark


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    """Three versions: no row, one row, two rows."""
    made = sl.Table.create(tmp_path / "t", ID_AND_VARIANT, properties=SHREDDED)
    for n in (1, 2):
        made.append(rows_of([n], [{"a": n, "s": "x"}]))
    return made


def test_a_table_at_one_version_is_only_read(spark: Any, table: sl.Table, tmp_path: Path) -> None:
    pinned = sl.Table(table.uri, version=1)
    (tmp_path / "a.ndjson").write_text("{}\n")
    source, state = tmp_path / "a.ndjson", tmp_path / "state"
    for call in (
        lambda: ingest(spark, source, pinned),
        lambda: stream(spark, tmp_path, pinned, state),
        lambda: optimize(spark, pinned),
        lambda: convert(spark, pinned, ["s"]),
        lambda: migrate_draft(spark, source, pinned),
    ):
        with pytest.raises(TableError, match="opened at one version and can only be read"):
            call()
    assert sl.Table(table.uri).version == 2
    assert not state.exists()
    assert unshred(spark, pinned, tmp_path / "plain").rows == 1


def test_sources_that_fit_another_verb(spark: Any, tmp_path: Path) -> None:
    frame = spark.range(1).selectExpr("'{}' AS v")
    with pytest.raises(PipelineError, match=r"ingest this one with sls\.ingest"):
        stream(spark, frame, tmp_path / "t", tmp_path / "state")
    with pytest.raises(PipelineError, match="does not exist"):
        stream(spark, tmp_path / "nothing", tmp_path / "t", tmp_path / "state")
    with pytest.raises(PipelineError):
        ingest(spark, tmp_path / "nothing.ndjson", tmp_path / "t")
    assert not (tmp_path / "t").exists()


def test_arrow_data_and_frames(spark: Any, tmp_path: Path) -> None:
    place = tmp_path / "t"
    assert ingest(spark, pa.table({"text": ['{"a": 1}']}), place, document="text").rows == 1
    frame = spark.range(2).selectExpr("concat('{\"a\": ', id, '}') AS text")
    assert ingest(spark, frame, sl.Table(place)).rows == 2
    assert sorted(sl.Table(place).scan(["v:a::int AS a"]).to_arrow().column("a").to_pylist()) == [0, 1, 1]


def test_jobs_are_named_in_the_ui_while_they_run(spark: Any, table: sl.Table) -> None:
    context = spark.sparkContext
    before = context.getLocalProperty("spark.job.description")
    assert optimize(spark, table).files_after == 1
    assert context.getLocalProperty("spark.job.description") == before
