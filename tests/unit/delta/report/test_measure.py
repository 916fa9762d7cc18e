"""Measures of a report, sampled when a table has many files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import shredlake as sl
from shredlake.delta.report.measure import spread


def test_a_sample_of_many_files(tmp_path: Path) -> None:
    made = sl.Table.create(tmp_path, pa.schema([("id", pa.int64())]))
    for n in range(5):
        made.append(pa.table({"id": [n]}))
    report = made.report(files=2)
    assert report.measured.files == 2
    assert "2 of 5 files" in report.html()
    assert spread(5, 2) == [1, 3]
