"""The page of a report: every section, and nothing in it that the data could run."""

from __future__ import annotations

from pathlib import Path

import shredlake as sl
from delta_tables import ID_AND_VARIANT, rows_of

HOSTILE = "<script>alert(1)</script>\x1b[31m'\"`"


def test_sections_and_figures(table: sl.Table) -> None:
    page = table.report().html()
    for name in ("Suggestions", "Bytes by path", "Paths", "What queries can skip", "Drift", "Rejects"):
        assert f">{name}</h2>" in page
    assert "://" not in page.replace(table.uri, "").replace("file://", ""), "nothing is loaded"


def test_hostile_names(tmp_path: Path) -> None:
    folder = tmp_path / "<b>t"
    made = sl.Table.create(folder, ID_AND_VARIANT, properties={"delta.enableVariantShredding": "true"})
    made.append(rows_of([1, 2], [{HOSTILE: n, "x": HOSTILE} for n in range(2)]), shredding="infer")
    (tmp_path / "bad.ndjson").write_text("<script>alert(2)</script>\n")
    sl.ingest(str(tmp_path / "bad.ndjson"), folder, max_rejects=10)
    page = sl.Table(folder).report().html()
    assert page.count("<script") == 2, "the data of the tree, and our own script"
    assert "<b>t" not in page
    assert "\x1b" not in page
