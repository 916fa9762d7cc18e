"""Layers only look down: every import inside src/shredlake points at the same or a lower layer."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "shredlake"

# Lowest first. A module may import its own layer and those before it.
LAYERS = [
    "errors",
    "caches",
    "formatting",
    "variant",
    "json",
    "shredding",
    "kernels",
    "expr",
    "parquet",
    "delta",
    "jobs",
    "spark",
    "cli",
]

# The value and its text are two layers, yet users expect v.to_json(): two methods reach up, lazily.
EXCEPTIONS = {("variant/value.py", "json")}

WITHOUT_PYARROW = {"errors", "variant", "json", "shredding"}


def imports_of(module: Path) -> set[str]:
    """Absolute names of everything the module imports, wherever in its body."""
    package = ["shredlake", *module.relative_to(SOURCE).parent.parts]
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            prefix = ".".join([*base, *([node.module] if node.module else [])])
            found.update(f"{prefix}.{alias.name}" for alias in node.names)
    return found


def modules() -> list[Path]:
    return sorted(
        path
        for path in SOURCE.rglob("*.py")
        if path.parent != SOURCE or path.stem in ("caches", "errors", "formatting")
    )


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(module: Path) -> None:
    relative = module.relative_to(SOURCE)
    own = LAYERS.index(relative.parts[0].removesuffix(".py"))
    for name in imports_of(module):
        parts = name.split(".")
        if parts[0] != "shredlake" or len(parts) < 2:
            continue
        layer = parts[1]
        assert layer in LAYERS, f"{relative} imports {name}: import from the layer, not from the package root"
        if (str(relative), layer) in EXCEPTIONS:
            continue
        assert LAYERS.index(layer) <= own, f"{relative} imports {name}, which is a layer above it"


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_value_layers_do_without_pyarrow(module: Path) -> None:
    relative = module.relative_to(SOURCE)
    if relative.parts[0].removesuffix(".py") in WITHOUT_PYARROW:
        assert not any(name.split(".")[0] == "pyarrow" for name in imports_of(module)), relative


def test_the_check_can_fail(tmp_path: Path) -> None:
    """The scanner sees lazy and relative imports, so the tests above are not vacuous."""
    module = SOURCE / "variant" / "probe.py"
    tree = "def f():\n    from ..spark import session\n    import pyarrow\n"
    probe = tmp_path / "probe.py"
    probe.write_text(tree)
    names = {
        node.module or ""
        for node in ast.walk(ast.parse(probe.read_text()))
        if isinstance(node, ast.ImportFrom)
    }
    assert names == {"spark"}
    assert not module.exists()
