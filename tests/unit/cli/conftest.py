"""A command line that runs in this process, and tables for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from command_line import Ran, documents
from delta_tables import ID_AND_VARIANT, SHREDDED, numbered
from shredlake.cli.app import main


@pytest.fixture
def shredlake(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any, tmp_path: Path) -> Any:
    """Runs the command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Ran:
        capsysbinary.readouterr()
        monkeypatch.setattr("sys.argv", ["shredlake", *arguments])
        code: Any = 0
        try:
            main()
        except SystemExit as left:
            code = left.code or 0
        out, err = capsysbinary.readouterr()
        return Ran(code, out.decode(), err.decode())

    return run


@pytest.fixture
def thirty(tmp_path: Path) -> sl.Table:
    """A table of three files with ten rows each."""
    made = sl.Table.create(tmp_path / "t", ID_AND_VARIANT, properties=SHREDDED)
    for start in (0, 10, 20):
        made.append(numbered(start, start + 10))
    return made


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A folder with a table `t` and the file `ok.ndjson` that it was made of."""
    documents(tmp_path / "ok.ndjson", '{"seq": 1, "s": "a"}', '{"seq": 2, "s": "b"}')
    table = sl.Table.create(tmp_path / "t", pa.schema([("v", sl.variant())]))
    texts = (tmp_path / "ok.ndjson").read_text().splitlines()
    table.append(pa.table({"v": sl.from_json(pa.array(texts))}))
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 60,000 rows in one file."""
    root = tmp_path_factory.mktemp("large")
    texts = pa.array([json.dumps({"n": n, "text": f"row {n} " + "x" * 200}) for n in range(60_000)])
    table = sl.Table.create(root / "t", pa.schema([("n", pa.int64()), ("v", sl.variant())]))
    table.append(pa.table({"n": range(60_000), "v": sl.from_json(texts)}))
    return root
