"""The public names: each one resolves and is documented, and they are sorted."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import shredlake
from shredlake import errors

SOURCE = Path(shredlake.__file__)


def natural(name: str) -> tuple[bool, list[int | str]]:
    """Classes before functions, Int8 before Int16: the order that ruff requires in __all__."""
    return name[0].islower(), [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def test_names_are_sorted_and_unique() -> None:
    assert len(set(shredlake.__all__)) == len(shredlake.__all__)
    assert sorted(shredlake.__all__, key=natural) == shredlake.__all__


@pytest.mark.parametrize("name", shredlake.__all__)
def test_name_resolves_and_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(shredlake, name)), f"{name} has no docstring"


def test_all_errors_are_public() -> None:
    tree = [
        name for name, item in vars(errors).items() if isinstance(item, type) and not name.startswith("_")
    ]
    assert set(tree) <= set(shredlake.__all__)
    assert errors.__doc__ is not None
    for name in tree:
        assert issubclass(getattr(errors, name), errors.ShredlakeError)
        assert re.search(rf"\b{name}\b", errors.__doc__), f"{name} is not drawn in the tree"


def test_names_are_known_to_readers_of_types_and_at_run_time() -> None:
    """A name stands in `__all__`, among the imports for type checkers, and in the table of modules."""
    [typed] = [node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.If)][:1]
    imports = {
        alias.name: node.module
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imports == shredlake._HOMES
    assert set(imports) == set(shredlake.__all__) <= set(dir(shredlake))
