"""`shredlake inspect`: the tree of paths of a file."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from command_line import invoke
from shredlake.cli.app import app
from shredlake.cli.verbs.describing.inspect import BAR, fill_bar
from shredlake.parquet.inspect.inspect import PathReport, inspect
from shredlake.parquet.write.writer import write_parquet
from variant_columns import MISSING, column_of

LEGEND = ["fill:", "█", "typed", "▓", "residual", "▒", "null", "░", "missing"]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    values = [{"a": 1}, {"a": "x"}, {"a": None}, {"b": 5}, MISSING]
    rows = pa.table({"v": column_of(values), "n": range(5)})
    write_parquet(rows, tmp_path / "f.parquet", shredding={"v": "struct<a bigint>"})
    return tmp_path / "f.parquet"


def test_bars_are_drawn(sample: Path) -> None:
    text = invoke("inspect", str(sample)).stdout
    assert text.startswith(f"{sample}  5 rows, ")
    assert "v  shredded, 4 Variants, 1 NULL, " in text
    assert "other columns: " in text
    assert text.splitlines()[-1].split() == LEGEND
    [line] = [line for line in text.splitlines() if "['a']" in line]
    assert "███▓▓▓▒▒▒░░░" in line
    assert line.split()[:2] == ["['a']", "bigint"]
    assert line.split()[3:7] == ["25.0%"] * 4


def test_json(sample: Path) -> None:
    report = json.loads(invoke("inspect", "--json", str(sample)).stdout)
    assert report["rows"] == 5
    [found] = report["variants"][0]["root"]["children"]
    assert {name: found[name] for name in ("path", "type", "typed", "minimum")} == {
        "path": "$['a']",
        "type": "bigint",
        "typed": 1,
        "minimum": 1,
    }


def test_a_file_from_standard_input_and_a_page(sample: Path) -> None:
    page = CliRunner().invoke(app, ["inspect", "-", "--html", "-"], input=sample.read_bytes())
    assert page.exit_code == 0
    assert page.stdout.startswith("<!doctype html>")


def test_a_file_without_variants(tmp_path: Path) -> None:
    write_parquet(pa.table({"n": [1]}), tmp_path / "n.parquet")
    text = invoke("inspect", str(tmp_path / "n.parquet")).stdout
    assert "1 row, " in text
    assert "other columns: " in text
    assert "fill:" not in text


def test_bounds_are_on_one_line(tmp_path: Path) -> None:
    rows = pa.table({"v": column_of([{"s": "a\nb\x1b"}, {"s": "é"}])})
    write_parquet(rows, tmp_path / "f.parquet", shredding={"v": "struct<s string>"})
    lines = invoke("inspect", str(tmp_path / "f.parquet")).stdout.splitlines()
    [line] = [line for line in lines if "['s']" in line]
    assert line.split()[-2:] == ["a·b·", "é"]


@pytest.mark.parametrize(
    ("width", "titles"),
    [
        ("60", "path type fill bytes of file"),
        ("80", "path type fill residual missing bytes of file"),
        ("100", "path type fill typed residual null missing bytes of file"),
        ("140", "path type fill typed residual null missing bytes of file min max"),
    ],
)
def test_columns_have_room(sample: Path, width: str, titles: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", width)
    [line] = [line for line in invoke("inspect", str(sample)).stdout.splitlines() if line.startswith("path ")]
    assert line.split() == titles.split()


def places(**counts: int) -> PathReport:
    """The report of a path with these counts."""
    found = PathReport.__new__(PathReport)
    for name in ("places", "typed", "residual", "null", "missing"):
        object.__setattr__(found, name, counts.get(name, 0))
    return found


@pytest.mark.parametrize(
    ("counts", "bar"),
    [
        ({}, ""),
        ({"places": 1, "typed": 1}, "█" * BAR),
        ({"places": 1, "missing": 1}, "░" * BAR),
        ({"places": 2, "typed": 1, "null": 1}, "█" * 6 + "▒" * 6),
        ({"places": 1000, "typed": 1, "residual": 999}, "▓" * BAR),
        ({"places": 3, "typed": 1, "residual": 1, "missing": 1}, "████▓▓▓▓░░░░"),
    ],
)
def test_a_bar_is_as_long_as_its_places(counts: dict[str, int], bar: str) -> None:
    assert fill_bar(places(**counts)).plain == bar


def test_the_bar_of_a_real_path(sample: Path) -> None:
    root = inspect(str(sample)).variants[0].root
    assert {len(fill_bar(path)) for path in root.walk()} == {BAR}
