"""The docstring of every package lists its modules: all of them, and no others."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import source_trees
from source_trees import SOURCE

PACKAGES = [path.parent for path in source_trees.modules() if path.name == "__init__.py"]


def listed(docstring: str) -> set[str]:
    """The modules that a docstring lists: as rows (`name  text`), items (`name`: text) or a sentence."""
    rows = re.findall(r"^(?:- )?((?:`?[\w/]+`?, )*`?[\w/]+`?) {2,}\S", docstring, re.MULTILINE)
    items = re.findall(r"`(\w+)/?`(?=(?:, `\w+/?`)*: )", docstring)
    sentences = [text for text in docstring.split("\n\n") if text.startswith("Modules")]
    return {
        *items,
        *(name for row in rows for name in re.findall(r"\w+", row)),
        *(name for sentence in sentences for name in re.findall(r"`(\w+)`", sentence)),
    }


def contained(package: Path) -> set[str]:
    """The modules and packages in the folder of a package."""
    modules = {path.stem for path in package.iterdir() if path.suffix in (".py", ".pyx")}
    return modules - {"__init__"} | {path.parent.name for path in package.glob("*/__init__.py")}


@pytest.mark.parametrize(
    "docstring",
    [
        "A package.\n\nread, write   files\ncheck/        violations, as `findings`\n",
        "A package. In reading order:\n\n- `read`   files\n- `write`  files\n- `check`  them\n",
        "A package.\n\n- `read`, `write`: files, for `open`.\n- `check`: violations.\n",
        "A package of `files`.\n\nModules in reading order: `read` (files),\n`write`, `check`.\n",
    ],
)
def test_every_form_of_a_list_is_read(docstring: str) -> None:
    assert listed(docstring) == {"read", "write", "check"}


# The docstring of the package itself is for users, whose names it exports.
@pytest.mark.parametrize("package", [path for path in PACKAGES if path != SOURCE], ids=lambda path: path.name)
def test_a_docstring_lists_the_modules_of_its_package(package: Path) -> None:
    docstring = ast.get_docstring(source_trees.tree(package / "__init__.py"))
    assert listed(docstring or "") == contained(package)


def test_all_packages_are_read() -> None:
    assert len(PACKAGES) > 40
