"""`shredlake views`: text to standard output, as JSON, or into a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shredlake as sl
from command_line import invoke
from shredlake.delta.report.views import views


@pytest.fixture
def folder(table: sl.Table, tmp_path: Path) -> Path:
    made = tmp_path / "models"
    made.mkdir()
    return made


def test_one_file_has_no_heading(table: sl.Table) -> None:
    text = invoke("views", table.uri, "--name", "typed").stdout
    assert text.startswith("CREATE OR REPLACE VIEW typed (")
    assert "try_variant_get(v, '$.a', 'bigint') AS a" in text
    assert text == "\n".join(views(table.uri, "spark", name="typed").values()) + "\n"


def test_several_files_have_headings(table: sl.Table) -> None:
    text = invoke("views", table.uri, "-d", "dbt", "--name", "typed").stdout
    headings = [line for line in text.splitlines() if line.startswith(("-- typed", "# typed"))]
    assert headings == ["-- typed.sql", "# typed.yml"]


def test_json_has_the_text_of_each_file(table: sl.Table) -> None:
    options = ["-d", "duckdb", "--name", "ü", "--from", "src", "--json"]
    found = json.loads(invoke("views", table.uri, *options).stdout)
    assert list(found) == ["ü.sql"]
    assert found["ü.sql"].rstrip().endswith("FROM src;")


def test_files_are_written_to_a_folder(table: sl.Table, folder: Path) -> None:
    said = invoke("views", table.uri, "-d", "dbt", "--name", "typed", "-o", str(folder)).stdout
    assert said.splitlines() == [str(folder / "typed.sql"), str(folder / "typed.yml")]
    texts = views(table.uri, "dbt", name="typed")
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == texts


def test_a_folder_that_is_not_there(table: sl.Table, folder: Path) -> None:
    said = str(invoke("views", table.uri, "-o", str(folder / "new"), code=1).exception)
    assert said == f"{folder / 'new'} is not a folder; create it first"
    assert "is not one of" in invoke("views", table.uri, "-d", "oracle", code=2).stderr
    assert "is not a Delta table" in str(invoke("views", str(folder), code=1).exception)
