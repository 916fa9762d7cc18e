"""Counts, bytes and bounds per path, against a count by hand of what the reference makes of each row."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from shredlake.kernels import shred
from shredlake.parquet.inspect.inspect import FileReport, inspect
from shredlake.parquet.write.writer import ParquetWriter, WriteOptions, write_parquet
from shredlake.shredding.reference import Shredded, shred_value
from shredlake.shredding.schema import ARRAY_ELEMENT, Array, Node, Object, ShreddingSchema, Steps, node_path
from shredlake.variant.value import Variant
from strategies import shreddable_columns
from variant_columns import column, column_of

COUNTS = ("places", "typed", "residual", "null", "missing", "partial")


def count_by_hand(rows: list[Variant | None], schema: ShreddingSchema) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {node_path(steps): Counter() for steps, _ in schema.nodes()}
    for row in rows:
        if row is not None:
            _count(shred_value(row, schema.root), schema.root, (), found)
    return found


def _count(shredded: Shredded, node: Node, steps: Steps, found: dict[str, Counter[str]]) -> None:
    counts = found[node_path(steps)]
    typed = shredded.typed_value is not None
    counts["places"] += 1
    counts["typed"] += typed
    counts["null"] += shredded.value == b"\x00"
    counts["partial"] += typed and shredded.value is not None
    counts["residual"] += not typed and shredded.value not in (None, b"\x00")
    counts["missing"] += not typed and shredded.value is None
    if isinstance(node, Object) and isinstance(shredded.typed_value, dict):
        for name, child in node.fields:
            _count(shredded.typed_value[name], child, (*steps, name), found)
    if isinstance(node, Array) and isinstance(shredded.typed_value, list):
        for item in shredded.typed_value:
            _count(item, node.element, (*steps, ARRAY_ELEMENT), found)


def counted(report: FileReport) -> dict[str, dict[str, int]]:
    [found] = report.variants
    return {path.path: {name: getattr(path, name) for name in COUNTS} for path in found.root.walk()}


@pytest.mark.slow
@settings(max_examples=40)
@given(shreddable_columns())
def test_counts(tmp_path_factory: pytest.TempPathFactory, case: Any) -> None:
    """Once from the histograms in the footer; once without any statistics, from the rows alone."""
    rows, schema = case
    folder = tmp_path_factory.mktemp("inspect")
    table = pa.table({"v": column(rows)})
    with ParquetWriter(
        folder / "f.parquet", table.schema, shredding={"v": schema}, options=WriteOptions(row_group_rows=3)
    ) as writer:
        writer.write(table)
    by_hand = count_by_hand(rows, schema)
    expected = {path: {name: counts[name] for name in COUNTS} for path, counts in by_hand.items()}
    assert counted(inspect(folder / "f.parquet")) == expected
    pq.write_table(pa.table({"v": shred(column(rows), schema)}), folder / "g.parquet", write_statistics=False)
    assert counted(inspect(folder / "g.parquet")) == expected


def test_bytes_and_bounds_and_nesting(tmp_path: Path) -> None:
    rows = column_of([{"a": i, "s": f"text {i}"} for i in range(1000)])
    lists = pa.ListArray.from_arrays(pa.array([*range(0, 1001, 2)], pa.int32()), rows)
    table = pa.table({"l": lists, "id": range(500), "v": rows.slice(0, 500)})
    path = tmp_path / "f.parquet"
    facts = write_parquet(table, path, shredding={"l.list.element": "struct<a bigint, s string>", "v": None})
    report = inspect(path)
    assert (report.rows, report.bytes, report.row_groups) == (500, facts.size, 1)
    assert list(report.others) == ["id"]
    inner, plain = report.variants
    assert (inner.name, inner.variants, inner.nulls, inner.annotated) == ("l.list.element", 1000, 0, True)
    a, s = inner.root.children
    assert (a.path, a.type, a.typed, a.minimum.as_py(), a.maximum.as_py()) == (
        "$['a']",
        "bigint",
        1000,
        0,
        999,
    )
    assert (s.type, s.minimum.as_py()) == ("string", "text 0")
    assert plain.shredding is None
    assert (plain.root.type, plain.root.residual, plain.root.typed) == ("variant", 500, 0)
    total = sum(path.bytes for path in inner.root.walk()) + inner.metadata_bytes
    assert total == inner.bytes
    assert 0.5 < inner.file_share + plain.file_share < 1


def test_conformance_files_are_inspected(conformance: Path) -> None:
    for path in sorted((conformance / "parquet-testing" / "shredded_variant").glob("case-0[0-3]*.parquet")):
        report = inspect(path)
        [found] = report.variants
        assert found.root.places == found.variants == report.rows - found.nulls, path.name
    delta = conformance / "delta-golden" / "spark-variant-checkpoint"
    [path, *_] = sorted(delta.glob("*.parquet"))
    assert {found.annotated for found in inspect(path).variants} == {False}
