"""Runs the notebooks of the documentation and keeps their output: `python tools/notebooks.py`."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
SECONDS = 300
"""A cell that takes longer fails."""


def run(path: Path, folder: Path) -> Any:
    """Runs all cells in a fresh kernel, in the folder. An error in a cell raises."""
    notebook = nbformat.read(path, as_version=4)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources=resources).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # the times at which it ran
        if cell.cell_type == "code":  # what the JVM says as it starts
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    notebook.metadata.language_info = {"name": "python"}
    text = json.dumps(notebook).replace(str(folder), "/home/you")
    return nbformat.reads(text, as_version=4)


def main() -> None:
    for path in sorted(FOLDER.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(run(path, Path(folder)), path)
        print(path.name)


if __name__ == "__main__":
    main()
