"""docs/data-flow.md shows every package in the order of the layers; its walks name functions that exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from source_trees import SOURCE
from unit.test_layers import LAYERS

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


def test_the_table_has_a_row_for_every_package_in_the_order_of_the_layers() -> None:
    rows = re.findall(r"^\| `(\w+)/` \|", PAGE.read_text(), re.MULTILINE)
    assert rows == [layer for layer in LAYERS if (SOURCE / layer).is_dir()]


def test_the_diagram_shows_every_package_from_json_to_an_answer() -> None:
    diagram = PAGE.read_text().split("```", 2)[1]
    beside = {"variant", "cli"}  # a Variant is a thing in the diagram; the command line calls all of it
    assert {name for name in LAYERS if (SOURCE / name).is_dir()} - beside <= set(re.findall(r"\w+", diagram))


def test_both_walks_are_read() -> None:
    assert {"shredlake.delta.write.commit.commit", "shredlake.kernels.get.get"} <= set(steps())
