"""The `.pyi` beside every compiled module declares the functions that the module has.

A stub takes its signatures from the fallback, so that the fallback has the same ones.
"""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import shredlake.kernels.compiled
from shredlake.kernels.dispatch import COMPILED

FOLDER = Path(shredlake.kernels.compiled.__path__[0])
SOURCES = sorted(path.stem for path in FOLDER.glob("*.pyx"))


def declared(name: str) -> dict[str, list[str]]:
    """The parameter names of each function in a stub, which may take them from the fallback."""
    found = {}
    for node in ast.parse((FOLDER / f"{name}.pyi").read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]
        elif isinstance(node, ast.ImportFrom):
            module = import_module(str(node.module))
            for one in node.names:
                found[one.name] = list(inspect.signature(getattr(module, one.name)).parameters)
    return found


def compiled(name: str) -> dict[str, list[str]]:
    """The parameter names of each public function in a compiled module."""
    module = import_module(f"shredlake.kernels.compiled.{name}")
    return {
        key: list(inspect.signature(found).parameters)
        for key, found in vars(module).items()
        if not key.startswith("_")
        and not isinstance(found, type)
        and callable(found)
        and getattr(found, "__module__", "") == module.__name__
    }


def test_every_compiled_module_has_a_stub_and_every_stub_a_module() -> None:
    assert SOURCES
    assert sorted(path.stem for path in FOLDER.glob("*.pyi")) == SOURCES


@pytest.mark.skipif(not COMPILED, reason="the kernels are not compiled, or SHREDLAKE_PURE=1")
@pytest.mark.parametrize("name", SOURCES)
def test_a_stub_declares_the_functions_of_its_module(name: str) -> None:
    assert declared(name) == compiled(name)
