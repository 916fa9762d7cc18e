"""Every file of unit tests is named after the module or package that it tests, in its folder."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

TESTS = Path(__file__).parent
SOURCE = TESTS.parents[1] / "src" / "shredlake"

TOPICS = {
    "benchmarks",
    "data_flow",
    "docs",
    "english",
    "error_gallery",
    "exports",
    "imports",
    "layers",
    "limits",
    "lint",
    "mirror",
    "packages",
    "parameter_lists",
    "reference",
    "sdist",
    "security",
    "waiting",
}
"""Tests at the top level that are about the project as a whole."""


def name_of(file: Path) -> str:
    """The module or package, relative to src/shredlake, that a file of tests is named after."""
    relative = PurePosixPath(file.relative_to(TESTS).as_posix())
    return (relative.parent / relative.stem.removeprefix("test_")).as_posix()


def is_there(name: str) -> bool:
    path = SOURCE / name
    return path.is_dir() or any(path.with_name(path.name + suffix).exists() for suffix in (".py", ".pyx"))


def test_the_rule_finds_what_breaks_it() -> None:
    assert is_there(name_of(TESTS / "kernels" / "test_get.py"))
    assert is_there(name_of(TESTS / "kernels" / "compiled" / "test_numbers.py"))
    assert is_there(name_of(TESTS / "delta" / "test_log.py"))
    assert not is_there(name_of(TESTS / "kernels" / "test_get_times.py"))


def test_every_file_of_tests_is_named_after_what_it_tests() -> None:
    names = {name_of(file) for file in TESTS.rglob("test_*.py")}
    assert {name for name in names if not is_there(name)} == TOPICS
