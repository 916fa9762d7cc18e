"""The notebooks of the documentation run in a fresh kernel, and print what they show."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient", reason="nbclient and ipykernel run notebooks")
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import nbformat  # noqa: E402

import notebooks  # noqa: E402

TIMES = re.compile(r"\btime +[\d.]+ s.*|seconds=[\d.e-]+|(?<=datetime\()[^)]*")

ON_SPARK = [
    pytest.mark.spark,
    pytest.mark.skipif("SHREDLAKE_CASES" not in os.environ, reason="a Spark of its own: make interop"),
]


@pytest.mark.parametrize("name", ["local", pytest.param("spark", marks=ON_SPARK)])
def test_a_notebook_prints_what_it_shows(name: str, tmp_path: Path) -> None:
    path = notebooks.FOLDER / f"{name}.ipynb"
    kept = printed(nbformat.read(path, as_version=4))
    assert any(kept)
    assert printed(notebooks.run(path, tmp_path)) == kept


def test_every_notebook_is_run() -> None:
    assert sorted(path.stem for path in notebooks.FOLDER.glob("*.ipynb")) == ["local", "spark"]


def printed(notebook: Any) -> list[list[str]]:
    """The text that each code cell printed, without times; progress and pictures are left out."""
    return [
        [text for output in cell.outputs if (text := TIMES.sub("", _text(output))).strip()]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _text(output: Any) -> str:
    return str(output.get("text") or output.get("data", {}).get("text/plain") or "")
