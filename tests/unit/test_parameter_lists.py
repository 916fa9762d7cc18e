"""Functions take at most six positional parameters, and calls of constructors name what goes beyond."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "shredlake"
MOST = 6
VERBS = "cli/verbs"
"""Typer reads the options of a verb from the parameters of its function."""


def positional(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def long_lists(tree: ast.AST, classes: set[str]) -> Iterator[str]:
    """Functions with too many positional parameters, and constructor calls with too many positions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and positional(node) > MOST:
            yield f"{node.lineno}: def {node.name} has {positional(node)} positional parameters"
        if isinstance(node, ast.Call) and len(node.args) > MOST and ast.unparse(node.func) in classes:
            yield f"{node.lineno}: {ast.unparse(node.func)}() is called with {len(node.args)} positions"


def test_the_rule_finds_what_breaks_it() -> None:
    text = """
class Point: ...
def long(a, b, c, d, e, f, g): ...
def short(self, a, b, c, d, e, f, *, g): ...
Point(1, 2, 3, 4, 5, 6, 7)
Point(1, 2, 3, 4, 5, 6, last=7)
"""
    assert [found.split(":")[0] for found in long_lists(ast.parse(text), {"Point"})] == ["3", "5"]


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.AST]:
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}


def test_parameter_lists_are_short(trees: dict[str, ast.AST]) -> None:
    classes = {
        node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    }
    found = {
        name: list(long_lists(tree, classes | {"cls"}))
        for name, tree in trees.items()
        if not name.startswith(VERBS)
    }
    assert not {name: lists for name, lists in found.items() if lists}
