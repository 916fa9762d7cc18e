"""Scans in which Spark reads whole Variants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, rows_of
from random_tables import delete_by_vectors
from shredlake.expr.parse import parse_predicate
from shredlake.spark.query.strategies.whole_variants import variants_frame, variants_scan
from shredlake.spark.session import ensure_supported

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def supported(spark: Any) -> None:
    """The settings that the public verbs apply before they plan."""
    ensure_supported(spark)


def texts(frame: Any) -> dict[int, str]:
    return {row["id"]: row["j"] for row in frame.selectExpr("id", "to_json(v) AS j").collect()}


def test_whole_variants_and_pruned_files(spark: Any, tmp_path: Path) -> None:
    table = sl.Table.create(
        tmp_path, ID_AND_VARIANT, properties={**SHREDDED, "delta.enableDeletionVectors": "true"}
    )
    assert texts(variants_frame(variants_scan(spark, table.snapshot))) == {}
    table.append(rows_of([1, 2], [{"a": 1, "z": [True]}, {"a": "x"}]))
    table.append(rows_of([3, 4], [None, ...]))
    everything = {1: '{"a":1,"z":[true]}', 2: '{"a":"x"}', 3: "null", 4: None}
    scan = variants_scan(spark, table.snapshot)
    frame = variants_frame(scan)
    assert texts(frame) == everything
    assert [(item.name, item.dataType.typeName()) for item in frame.schema] == [
        ("id", "long"),
        ("v", "variant"),
    ]
    pruned = variants_scan(spark, table.snapshot, parse_predicate("id < 2"))
    assert texts(variants_frame(pruned)) == {n: everything[n] for n in (1, 2)}, "the condition filters no row"
    delete_by_vectors(table, {2})
    assert texts(variants_frame(variants_scan(spark, table.refresh().snapshot))) == {
        n: text for n, text in everything.items() if n != 2
    }


def test_partitioned_tables(spark: Any, tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, pa.schema([*ID_AND_VARIANT, ("p", pa.string())]), ["p"], SHREDDED)
    table.append(rows_of([1, 2], [{"a": 1}, 5]).append_column("p", [["x", None]]))
    frame = variants_frame(variants_scan(spark, table.snapshot))
    assert texts(frame) == {1: '{"a":1}', 2: "5"}
    assert frame.columns == ["id", "v", "p"]
    assert {row["id"]: row["p"] for row in frame.collect()} == {1: "x", 2: None}
