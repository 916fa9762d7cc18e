"""Layers only look down: every import inside src/shredlake points at the same or a lower layer."""

from __future__ import annotations

import ast
from collections.abc import Sequence
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

# The order inside a layer, lowest first. MODULES are those that lie beside the packages.
MODULES = "(modules)"
ROOMS = {
    "parquet": ["format", "io", MODULES, "read", "write", "legacy", "inspect"],
}

# Files in the draft layout are read as any other: one module leads to it.
DOORS = {("parquet/read/draft.py", "legacy")}

WITHOUT_PYARROW = {"errors", "variant", "json", "shredding"}


def imports_of(module: Path, folders: Sequence[str] | None = None) -> set[str]:
    """Absolute names of everything the module imports, wherever in its body."""
    package = ["shredlake", *(module.relative_to(SOURCE).parent.parts if folders is None else folders)]
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


def room_of(parts: Sequence[str]) -> str:
    """The package inside a layer that a module's path or name belongs to."""
    rooms = ROOMS[parts[0]]
    return parts[1] if len(parts) > 2 and parts[1] in rooms else MODULES


def breaks_order_of_rooms(relative: Path, name: str) -> bool:
    """Whether a module of a layer with an order imports a package above its own."""
    layer, parts = relative.parts[0], name.split(".")[1:]
    if layer not in ROOMS or parts[:1] != [layer] or len(parts) < 2 or relative.name == "__init__.py":
        return False
    own, other = room_of(relative.parts), room_of([*parts, ""])
    if (relative.as_posix(), other) in DOORS:
        return False
    return ROOMS[layer].index(other) > ROOMS[layer].index(own)


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down_inside_a_layer(module: Path) -> None:
    relative = module.relative_to(SOURCE)
    wrong = [name for name in imports_of(module) if breaks_order_of_rooms(relative, name)]
    assert not wrong, f"{relative} imports {wrong}: the order is {ROOMS[relative.parts[0]]}"


@pytest.mark.parametrize(
    ("module", "source", "allowed"),
    [
        ("parquet/format/probe.py", "from shredlake.parquet.io.source import Extent", False),
        ("parquet/read/probe.py", "def f():\n    from shredlake.parquet.legacy import types", False),
        ("parquet/read/draft.py", "from shredlake.parquet.legacy.types import is_draft", True),
        ("parquet/nested.py", "from shredlake.parquet.read.scan import Scan", False),
        ("parquet/nested.py", "from shredlake.parquet.format.schema import SchemaNode", True),
        ("parquet/write/probe.py", "from shredlake.parquet import nested", True),
        ("parquet/write/probe.py", "from shredlake.parquet.inspect.check import check", False),
    ],
)
def test_the_order_of_rooms_is_enforced(module: str, source: str, allowed: bool, tmp_path: Path) -> None:
    probe = tmp_path / "probe.py"
    probe.write_text(source)
    wrong = [name for name in imports_of(probe, ()) if breaks_order_of_rooms(Path(module), name)]
    assert bool(wrong) is not allowed


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
