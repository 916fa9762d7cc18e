"""The reference pages match the code."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import shredlake
from shredlake.cli.app import VERBS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """The script that makes the pages."""
    pytest.importorskip("pyspark", reason="the pages describe shredlake.spark, which needs PySpark")
    spec = spec_from_file_location("reference", ROOT / "tools" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["cli.md", "api.md"])
def test_page_is_up_to_date(reference: ModuleType, page: str) -> None:
    written = (ROOT / "docs" / "reference" / page).read_text()
    assert written == reference.PAGES[page](), f"docs/reference/{page} is stale: run `make reference`"


def test_every_verb_and_name_is_described() -> None:
    cli = (ROOT / "docs" / "reference" / "cli.md").read_text()
    api = (ROOT / "docs" / "reference" / "api.md").read_text()
    assert [verb for verb in VERBS if f"## {verb}\n" not in cli] == []
    described = [f"### sl.{name}\n" in api or f"| `{name}` |" in api for name in shredlake.__all__]
    assert all(described)
