"""The blocks of the documentation that need Spark run, page by page, from top to bottom.

A `text` block behind such a block is what it prints.
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from unit.test_docs import ROOT, blocks, programs, run_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_spark_blocks_run(
    page: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__docs__"}
    session, ran, printed = False, 0, ""
    for line, source in blocks(ROOT / page, "python", "console", "text"):
        session |= source.startswith("$ cat ")
        if session and source.startswith("$ ") and programs(source) <= {"cat", "shredlake"}:
            run_session(source)
        elif source.startswith("# needs Spark\n"):
            with redirect_stdout(io.StringIO()) as out:
                exec(compile("\n" * (line - 1) + source, page, "exec"), names)
            printed = out.getvalue()
            ran += 1
        elif printed and not source.startswith(("$ ", ">>>")):
            assert printed.split() == source.split(), f"{page}, line {line}: {printed}"
            printed = ""
    assert ran > 0
