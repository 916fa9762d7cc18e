"""The report of a table: facts from the log and from files, suggestions, and the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, rows_of

SHREDDABLE = {"delta.enableVariantShredding": "true"}
HOSTILE = "<script>alert(1)</script>\x1b[31m'\"`"


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    """Three layouts, mixed types, deleted rows, and a table of rejects beside it."""
    made = sl.Table.create(tmp_path / "t", ID_AND_VARIANT, properties=SHREDDABLE)
    for start in range(0, 60, 10):
        values: list[Any] = [{"a": n, "b": "x" if n % 2 else n} for n in range(start, start + 10)]
        layout = "struct<a bigint, b bigint>" if start < 30 else "struct<a double, c string, b bigint>"
        made.append(rows_of(range(start, start + 10), values), shredding={"v": layout})
    made.append(rows_of([99], [{"a": 1}]), shredding={"v": None})
    made.delete("id = 5")
    (tmp_path / "bad.ndjson").write_bytes(b'{"a": 1}\n{"a": tru\nnope\n{"a" 1}\n{"b" 2}\n')
    sl.ingest(str(tmp_path / "bad.ndjson"), tmp_path / "t", max_rejects=10)
    return sl.Table(tmp_path / "t")


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


def test_versions_agree_with_the_versions_themselves(table: sl.Table) -> None:
    found = table.report().history.versions
    assert [one.version for one in found] == list(range(10))
    for one in found:
        then = sl.Table(table.uri, one.version)
        assert (one.files, one.rows) == (then.files().num_rows, then.scan().count())
        assert one.bytes == sum(then.files().column("size").to_pylist())
        assert sum(one.layouts.values()) == one.files


def test_versions_after_the_log_was_cut(table: sl.Table, tmp_path: Path) -> None:
    table.checkpoint()
    table.append(rows_of([100], [{"a": 7}]))
    for version in range(9):
        (tmp_path / "t" / "_delta_log" / f"{version:020}.json").unlink()
    found = sl.Table(table.uri).report().history.versions
    assert [(one.version, one.rows) for one in found] == [(9, 61), (10, 62)]


def test_drift(table: sl.Table) -> None:
    found = table.report().drift
    at_four = [one for one in found.changes if one.version == 4]
    assert [(one.kind, one.path, one.before, one.after) for one in at_four] == [
        ("changed", "v:a", ("integer",), ("double", "other")),
        ("appeared", "v:c", (), ("string",)),
    ]
    assert at_four == [one for one in sl.drift(table.uri).changes if one.version == 4]
    assert (found.files_read, found.files_unknown) == (0, 1)  # a file without typed paths is not opened


def test_rejects_by_reason(table: sl.Table, tmp_path: Path) -> None:
    report = table.report()
    assert report.rejects_table is not None
    assert sum(one.count for one in report.rejects) == 4
    reasons = {one.reason: one for one in report.rejects}
    assert all("byte" not in reason for reason in reasons)
    assert sum(1 for one in report.rejects if one.raw in ('{"a" 1}', '{"a": tru')) >= 1
    assert all(one.line is not None for one in report.rejects)


def test_suggestions_name_commands_that_run(table: sl.Table) -> None:
    report = table.report()
    titles = {one.title for one in report.suggestions}
    assert {"Shred v", "Compact small files", "Look at paths of mixed types"} <= titles
    assert all(one.command.startswith("shredlake ") for one in report.suggestions)
    sl.optimize(table.uri)
    assert "Shred v" not in {one.title for one in table.refresh().report().suggestions}


def test_a_table_that_may_not_be_shredded(tmp_path: Path) -> None:
    made = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.enableVariantShredding": "false"})
    made.append(rows_of([1], [{"a": 1}]))
    assert "Allow shredding" in {one.title for one in made.report().suggestions}


def test_overlaps(table: sl.Table) -> None:
    by_name = {one.name: one for one in table.report().overlaps}
    assert by_name["id"].files_per_value < 2
    assert all(0 <= low <= high <= 1 for low, high in by_name["id"].bars)


def test_sections_and_figures(table: sl.Table) -> None:
    page = table.report().html()
    for name in ("Suggestions", "Bytes by path", "Paths", "What queries can skip", "Drift", "Rejects"):
        assert f">{name}</h2>" in page
    assert "://" not in page.replace(table.uri, "").replace("file://", ""), "nothing is loaded"


def test_hostile_names(tmp_path: Path) -> None:
    folder = tmp_path / "<b>t"
    made = sl.Table.create(folder, ID_AND_VARIANT, properties=SHREDDABLE)
    made.append(rows_of([1, 2], [{HOSTILE: n, "x": HOSTILE} for n in range(2)]), shredding="infer")
    (tmp_path / "bad.ndjson").write_text("<script>alert(2)</script>\n")
    sl.ingest(str(tmp_path / "bad.ndjson"), folder, max_rejects=10)
    page = sl.Table(folder).report().html()
    assert page.count("<script") == 2, "the data of the tree, and our own script"
    assert "<b>t" not in page
    assert "\x1b" not in page


@pytest.mark.parametrize("schema", [ID_AND_VARIANT, pa.schema([("id", pa.int64())])])
def test_tables_without_rows_or_variants(tmp_path: Path, schema: pa.Schema) -> None:
    made = sl.Table.create(tmp_path, schema)
    assert "There are no rows yet." in made.report().html()
    if schema is not ID_AND_VARIANT:
        made.append(pa.table({"id": [1, 2]}))
        assert "Bytes by path" in made.report().html()
