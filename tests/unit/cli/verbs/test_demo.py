"""`shredlake demo`, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import run
from shredlake.cli.verbs.demo import TUTORIAL


@pytest.mark.parametrize("java", [True, False])
def test_demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, java: bool) -> None:
    if java:
        said = run("demo", "--engine", "local", "--events", 500)
    else:
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        said = run("demo", "--events", 500)
        assert said.splitlines()[0].startswith("no Java found: the demo runs in this process")
    assert "500 rows + 0 rejects" in said
    assert "posts in Japanese" in said
    assert said.splitlines()[-1] == TUTORIAL, "an installed wheel has no docs folder"
    assert (Path(__file__).parents[4] / "docs" / "tutorial.md").exists()
    assert TUTORIAL.endswith("/docs/tutorial.md")
