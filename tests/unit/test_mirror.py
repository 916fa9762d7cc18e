"""Every file of unit tests is named after the module or package that it tests, and every module has one."""

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


KERNELS = {"json_encode": "from_json", "json_render": "to_json"}
"""Kernels that are called otherwise than the module whose tests run them, compiled and as fallback."""


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


def modules() -> set[str]:
    """Every module, relative to src/shredlake."""
    files = [path for pattern in ("*.py", "*.pyx") for path in SOURCE.rglob(pattern)]
    return {
        path.relative_to(SOURCE).with_suffix("").as_posix()
        for path in files
        if path.stem not in ("__init__", "__main__")
    }


def is_tested(module: str, names: set[str]) -> bool:
    folder, _, name = module.rpartition("/")
    if folder not in ("kernels/compiled", "kernels/fallback"):
        return module in names
    # The tests of a kernel run it compiled and as fallback.
    return bool(names & {module, f"kernels/{KERNELS.get(name, name)}", f"kernels/compiled/{name}"})


def test_a_module_without_a_file_of_tests_is_found() -> None:
    names = {"kernels/from_json", "expr/ast"}
    assert is_tested("kernels/compiled/json_encode", names)
    assert is_tested("kernels/fallback/tally", {"kernels/compiled/tally"})
    assert is_tested("expr/ast", names)
    assert not is_tested("expr/parse", names)


def test_every_module_has_a_file_of_tests() -> None:
    names = {name_of(file) for file in TESTS.rglob("test_*.py")}
    without = {module for module in modules() if not is_tested(module, names)}
    assert not without, "write tests/unit/<folder>/test_<module>.py for these modules"
