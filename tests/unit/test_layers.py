"""Layers only look down: every import inside src/shredlake points at the same or a lower layer."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import pytest

import source_trees
from source_trees import SOURCE

# Lowest first. A module may import its own layer and those before it.
LAYERS = [
    "errors",
    "caches",
    "formatting",
    "garbage",
    "signatures",
    "runner",
    "html",
    "variant",
    "shredding",
    "kernels",
    "expr",
    "parquet",
    "delta",
    "jobs",
    "table",
    "example",
    "sql",
    "scan_dataset",
    "lazy_frame",
    "spark",
    "diagnosis",
    "cli",
]

# The order inside a layer, lowest first. MODULES are those that lie beside the packages.
MODULES = "(modules)"
ROOMS = {
    "delta": ["storage", "protocol", "schema", "log", "stats", "read", "write", "report", "check", MODULES],
    "parquet": ["format", "io", MODULES, "read", "write", "legacy", "inspect"],
}

# Files in the draft layout are read as any other: one module leads to it.
DOORS = {("parquet/read/draft.py", "legacy")}

WITHOUT_PYARROW = {"errors", "html", "variant", "shredding"}


def imports_of(module: Path, folders: Sequence[str] | None = None) -> set[str]:
    """Absolute names of everything the module imports, wherever in its body."""
    package = ["shredlake", *(module.relative_to(SOURCE).parent.parts if folders is None else folders)]
    found: set[str] = set()
    for node in source_trees.nodes(module):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            prefix = ".".join([*base, *([node.module] if node.module else [])])
            found.update(f"{prefix}.{alias.name}" for alias in node.names)
    return found


def modules() -> list[Path]:
    return [path for path in source_trees.modules() if path.parent != SOURCE or path.stem in LAYERS]


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
        ("delta/storage/probe.py", "from shredlake.delta.protocol.actions import Add", False),
        ("delta/stats/probe.py", "from shredlake.delta.read.bind import canonical", False),
        ("delta/read/probe.py", "def f():\n    from shredlake.delta.write.layout import choose", False),
        ("delta/write/probe.py", "from shredlake.delta.read.bind import canonical", True),
    ],
)
def test_the_order_of_rooms_is_enforced(module: str, source: str, allowed: bool, tmp_path: Path) -> None:
    probe = tmp_path / "probe.py"
    probe.write_text(source)
    wrong = [name for name in imports_of(probe, ()) if breaks_order_of_rooms(Path(module), name)]
    assert bool(wrong) is not allowed


def problem_of(relative: Path, name: str) -> str | None:
    """The problem of a module's import, None if there is none."""
    own = relative.parts[0].removesuffix(".py")
    parts = name.split(".")
    if parts[0] == "pyarrow" and own in WITHOUT_PYARROW:
        return f"{relative} imports {name}: {own} does without pyarrow"
    if parts[0] != "shredlake" or len(parts) < 2 or name == "shredlake.__version__":
        return None
    if parts[1] not in LAYERS:
        return f"{relative} imports {name}: import from the layer, not from the package root"
    if LAYERS.index(parts[1]) > LAYERS.index(own):
        return f"{relative} imports {name}, which is a layer above it"
    return None


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(module: Path) -> None:
    relative = module.relative_to(SOURCE)
    problems = [problem_of(relative, name) for name in imports_of(module)]
    assert not any(problems), list(filter(None, problems))


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("variant/probe.py", "def f():\n    from ..spark import session", "a layer above it"),
        ("variant/probe.py", "import shredlake.shredding.schema", "a layer above it"),
        ("variant/value.py", "from shredlake.variant.json import parse", None),
        ("variant/json/probe.py", "def f():\n    import pyarrow as pa", "does without pyarrow"),
        ("delta/probe.py", "from shredlake import Table", "not from the package root"),
        ("delta/probe.py", "from shredlake import __version__", None),
        ("delta/probe.py", "from shredlake.jobs.ingest.once import Claim", "a layer above it"),
        ("delta/probe.py", "from shredlake.table import Table", "a layer above it"),
        ("jobs/probe.py", "def f():\n    from shredlake.table import Table", "a layer above it"),
        ("jobs/probe.py", "from shredlake.delta.write.layout import choose", None),
        ("table.py", "from shredlake.jobs.verbs import optimize", None),
    ],
)
def test_the_order_of_layers_is_enforced(
    module: str, source: str, expected: str | None, tmp_path: Path
) -> None:
    probe = tmp_path / "probe.py"
    probe.write_text(source)
    relative = Path(module)
    found = [problem_of(relative, name) for name in imports_of(probe, relative.parent.parts)]
    if expected is None:
        assert not any(found)
    else:
        assert any(expected in problem for problem in found if problem), found


def test_folders_and_modules_are_small() -> None:
    """At most 16 modules in a folder and 500 lines in a module; 650 lines in the Cython of the kernels."""
    folders = {folder for folder in [SOURCE, *SOURCE.rglob("*")] if folder.is_dir()}
    assert [folder.name for folder in folders if len(list(folder.glob("*.py"))) > 16] == []
    most = {".py": 500, ".pyx": 650, ".pxd": 650}
    files = [file for file in SOURCE.rglob("*") if file.suffix in most]
    assert [file.name for file in files if len(file.read_text().splitlines()) > most[file.suffix]] == []
