"""Counts the modules that are imported, because seconds depend on the machine."""

from __future__ import annotations

import inspect
import subprocess
import sys
from functools import cache
from importlib import import_module

import pytest

import shredlake
from shredlake.cli.app import VERBS, function_of

HEAVY = {"duckdb", "numpy", "obstore", "pandas", "polars", "pyarrow", "pyspark", "sqlglot", "zstandard"}


@cache
def imported(code: str) -> frozenset[str]:
    """All modules of a fresh process that ran the code."""
    script = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\nprint('\\n', *sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return frozenset(found.stdout.splitlines()[-1].split())


def packages(modules: frozenset[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_importing_the_library_loads_one_package() -> None:
    modules = imported("import shredlake")
    assert not packages(modules) & HEAVY
    own = {name for name in modules if name.startswith("shredlake.")}
    assert own == {"shredlake.sql", "shredlake.variant"}, own


@pytest.mark.slow
def test_all_public_names_do_without_pandas_and_spark() -> None:
    assert not packages(imported("from shredlake import *")) & {"pandas", "pyspark", "polars", "duckdb"}


def command_line(*arguments: str) -> frozenset[str]:
    """All modules of a command, with those of an empty process left out."""
    run = f"sys.argv = ['shredlake', *{arguments!r}]; from shredlake.__main__ import main; main()"
    return imported(run) - imported("pass")


@pytest.mark.parametrize(("argument", "most"), [("--version", 50), ("--help", 160), ("-h", 160)])
def test_the_root_of_the_command_line_loads_no_verb(argument: str, most: int) -> None:
    modules = command_line(argument)
    assert ("shredlake.cli.app" in modules) is (argument != "--version")
    assert not packages(modules) & (HEAVY | {"pydantic", "rich"})
    assert not any(name.startswith("shredlake.cli.verbs") for name in modules)
    assert len(modules) <= most, sorted(modules)


@pytest.mark.slow  # a process per verb
@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_loads_neither_data_nor_engines(verb: str) -> None:
    modules = command_line(verb, "--help")
    assert "typer" in modules
    assert not packages(modules) & (HEAVY | {"pydantic"})
    own = {name for name in modules if name.startswith("shredlake.")}
    assert len(own) <= 40, sorted(own)
    assert len(modules) <= 300, sorted(modules)


@pytest.mark.parametrize("verb", VERBS)
def test_summaries_are_those_of_the_verbs(verb: str) -> None:
    text = inspect.getdoc(function_of(verb))
    assert text is not None
    assert text.splitlines()[0] == VERBS[verb][1]


def test_the_function_wins_over_the_package_of_its_name() -> None:
    import_module("shredlake.variant.value")
    assert inspect.isfunction(shredlake.variant)
    names = imported("import shredlake.variant.value; assert callable(shredlake.variant)")
    assert "shredlake.kernels" in names


def test_names_that_are_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'shredlake' has no attribute 'tabel'"):
        shredlake.tabel  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.slow
def test_tables_are_written_and_read_without_the_parser() -> None:
    """sqlglot takes longer to import than all of a table; it is needed for expressions only."""
    modules = imported(
        "import pyarrow as pa, tempfile, shredlake as sl; "
        "table = sl.Table.create(tempfile.mkdtemp(), pa.schema([('id', pa.int64()), ('v', sl.variant())])); "
        "table.append(pa.table({'id': [1], 'v': sl.from_json(['{\"a\": 1}'])})); "
        "assert table.scan().count() == 1 == table.scan().to_arrow().num_rows"
    )
    assert "shredlake.table" in modules
    assert "sqlglot" not in packages(modules)


def test_processes_of_the_spark_source_load_no_queries() -> None:
    """Spark starts a process for each step of a read, a write or a stream, and waits ten seconds for some."""
    pytest.importorskip("pyspark", reason="the source is PySpark's")
    modules = imported("import shredlake.spark.datasource.read, shredlake.spark.datasource.stream_write")
    assert not any(name.startswith(("shredlake.spark.query", "shredlake.sql.")) for name in modules)
