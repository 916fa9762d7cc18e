"""Functions take at most six positional parameters, and calls of constructors name what goes beyond."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import shredlake as sl
import shredlake.spark
import source_trees
from source_trees import SOURCE

MOST = 6
VERBS = "cli/verbs"
"""Typer reads the options of a verb from the parameters of its function."""


def positional(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def long_lists(nodes: Iterable[ast.AST], classes: set[str]) -> Iterator[str]:
    """Functions with too many positional parameters, and constructor calls with too many positions."""
    for node in nodes:
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
    assert [found.split(":")[0] for found in long_lists(ast.walk(ast.parse(text)), {"Point"})] == ["3", "5"]


def test_parameter_lists_are_short() -> None:
    nodes = {path.relative_to(SOURCE).as_posix(): source_trees.nodes(path) for path in source_trees.modules()}
    classes = {node.name for found in nodes.values() for node in found if isinstance(node, ast.ClassDef)}
    lists = {
        name: list(long_lists(found, classes | {"cls"}))
        for name, found in nodes.items()
        if not name.startswith(VERBS)
    }
    assert not {name: found for name, found in lists.items() if found}


UNTYPED = {"configure(builder)"}
"""Parameters of public functions that take objects of a library without types: pyspark's builder."""


def untyped(names: Iterable[tuple[str, object]]) -> Iterator[str]:
    """The parameters of functions, and of methods of classes, that are annotated with Any."""
    for name, one in names:
        public = [item for item in vars(one).items() if item[0][0] != "_"] if inspect.isclass(one) else []
        functions = [(name, one)] if inspect.isfunction(one) else public
        for title, found in functions:
            function = inspect.unwrap(getattr(found, "__func__", found))
            if inspect.isfunction(function):
                for parameter in inspect.signature(function).parameters.values():
                    if parameter.annotation == "Any":
                        yield f"{title}({parameter.name})"


def test_untyped_parameters_are_found() -> None:
    class Box:
        def put(self, thing: Any, size: int) -> None: ...

    def show(box: Any = None) -> Any: ...

    assert list(untyped([("Box", Box), ("show", show)])) == ["put(thing)", "show(box)"]


def test_parameters_of_public_functions_have_types() -> None:
    names = [(name, getattr(module, name)) for module in (sl, sl.spark) for name in module.__all__]
    assert set(untyped(names)) == UNTYPED
