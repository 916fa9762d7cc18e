"""The syntax trees of the package, parsed once for all tests that look at the code itself."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "shredlake"


@cache
def tree(module: Path) -> ast.Module:
    """The syntax tree of one file."""
    return ast.parse(module.read_text())


@cache
def nodes(module: Path) -> list[ast.AST]:
    """Every node of one file's syntax tree."""
    return list(ast.walk(tree(module)))


@cache
def modules() -> list[Path]:
    """Every Python module of the package."""
    return sorted(SOURCE.rglob("*.py"))
