"""The report of a table: facts from the log and from files."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT


def test_facts(table: sl.Table) -> None:
    report = table.report()
    assert (report.rows, report.version, report.files) == (61, 9, len(table.files()))
    assert report.measured.files == report.files
    [v] = report.measured.columns
    a, b = (next(one for one in v.root.children if one.path == f"$['{name}']") for name in "ab")
    assert a.type.split(", ") in (["bigint", "double"], ["double", "bigint"])
    assert [one.as_py() for one in (a.minimum, a.maximum, b.minimum, b.maximum)] == [0, 29, 0, 58]
    assert b.residual == 29
    others = sum(report.measured.others.values())
    assert 0 < v.bytes + others <= report.measured.bytes
    assert json.loads(json.dumps(report.to_dict()))["rows"] == 61


def test_drift(table: sl.Table) -> None:
    found = table.report().drift
    at_four = [one for one in found.changes if one.version == 4]
    assert [(one.kind, one.path, one.before, one.after) for one in at_four] == [
        ("changed", "v:a", ("integer",), ("double", "other")),
        ("appeared", "v:c", (), ("string",)),
    ]
    assert at_four == [one for one in sl.drift(table.uri).changes if one.version == 4]
    assert (found.files_read, found.files_unknown) == (0, 1)  # a file without typed paths is not opened


def test_overlaps(table: sl.Table) -> None:
    by_name = {one.name: one for one in table.report().overlaps}
    assert by_name["id"].files_per_value < 2
    assert all(0 <= low <= high <= 1 for low, high in by_name["id"].bars)


@pytest.mark.parametrize("schema", [ID_AND_VARIANT, pa.schema([("id", pa.int64())])])
def test_tables_without_rows_or_variants(tmp_path: Path, schema: pa.Schema) -> None:
    made = sl.Table.create(tmp_path, schema)
    assert "There are no rows yet." in made.report().html()
    if schema is not ID_AND_VARIANT:
        made.append(pa.table({"id": [1, 2]}))
        assert "Bytes by path" in made.report().html()
