"""The walks in docs/data-flow.md name functions that exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "data-flow.md"


def steps() -> list[str]:
    """Every function of the two walks, by its full name."""
    walks = PAGE.read_text().split("## The way in", 1)[1]
    rows = re.findall(r"^\| `(\w+)` \| (`[^|]+`) \|", walks, re.MULTILINE)
    return [
        f"shredlake.{package}.{name}" for package, names in rows for name in re.findall(r"`([^`]+)`", names)
    ]


def resolved(name: str) -> object:
    """The object of a dotted name, whose first parts are modules."""
    module, _, attribute = name.rpartition(".")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return getattr(resolved(module), attribute)


@pytest.mark.parametrize("name", steps())
def test_a_step_exists(name: str) -> None:
    assert callable(resolved(name))


def test_both_walks_are_read() -> None:
    assert {"shredlake.delta.write.commit.commit", "shredlake.kernels.get.get"} <= set(steps())
