"""Code that tests and benchmarks share: generated data, and the layouts that other engines choose."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from types import ModuleType

import pytest

import datagen
import plots
import rivals
from compare import compare, grid
from shredlake.jobs.advise import open_data


@pytest.mark.parametrize("module", [datagen, plots, rivals], ids=lambda module: module.__name__)
def test_examples(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed


@pytest.mark.parametrize("shape", datagen.SHAPES)
def test_generated_rows_are_json(shape: str) -> None:
    for line in datagen.generate(shape, 60):
        json.loads(line)


def test_comparison(tmp_path: Path) -> None:
    rows = [{"id": n, "status": "n/a" if n % 50 == 0 else 200, "at": "2024-01-05"} for n in range(500)]
    (tmp_path / "rows.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    figures = compare(open_data(str(tmp_path / "rows.ndjson"), None))
    assert {line["engine"]: line["shredding"] for line in figures} == {
        "shredlake": "struct<at string, id bigint, status bigint>",
        "Spark": "struct<at string, id bigint, status variant>",
        "Iceberg": "struct<at string, id tinyint, status smallint>",
        "DuckDB": "struct<at string, id bigint, status bigint>",
    }
    assert grid(figures).row_count == 4


@pytest.mark.parametrize("name", plots.PLOTS)
def test_plots_show_the_tables_of_the_page(name: str) -> None:
    page = (plots.DOCS / "benchmarks.md").read_text("utf-8")
    drawn = plots.PLOTS[name](page).svg()
    assert (plots.DOCS / name).read_text("utf-8") == drawn, "run `python benchmarks/plots.py`"
