"""Suggestions: each where it helps and nowhere else, with a command that runs."""

from __future__ import annotations

from pathlib import Path

import shredlake as sl
from delta_tables import ID_AND_VARIANT, rows_of


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
