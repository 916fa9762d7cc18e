"""The `.pyi` beside every compiled module declares the functions that the module has."""

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
    """The parameter names of each function in a stub."""
    tree = ast.parse((FOLDER / f"{name}.pyi").read_text())
    return {
        node.name: [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


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


@pytest.mark.parametrize("name", [name for name in SOURCES if name not in ("buffers", "numbers")])
def test_a_fallback_has_the_functions_of_the_stub(name: str) -> None:
    module = import_module(f"shredlake.kernels.fallback.{name}")
    for function, parameters in declared(name).items():
        assert list(inspect.signature(getattr(module, function)).parameters) == parameters
