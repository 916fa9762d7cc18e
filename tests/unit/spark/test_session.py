"""A missing requirement of a session gives a one-line error; no Spark is started here."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from shredlake.errors import MissingDependency
from shredlake.spark.session import (
    RUNTIME_SETTINGS,
    check_java,
    check_spark,
    configure,
    ensure_supported,
    java_version,
)


def java_that_says(folder: Path, text: str) -> None:
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("said", "version"),
    [('openjdk version "17.0.9" 2023-10-17', 17), ('java version "1.8.0_292"', 8), ("no version here", None)],
)
def test_versions_of_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, version: int | None
) -> None:
    java_that_says(tmp_path, said)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java_version() == version


def test_java_that_is_missing_or_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependency, match=r"^no Java found: install Java 17 or newer .* local$"):
        check_java()
    java_that_says(tmp_path, 'openjdk version "11.0.2"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MissingDependency, match=r"^Java 11 is too old for Spark 4: .* --engine local$"):
        check_java()


@pytest.mark.parametrize("version", ["3.5.1", "4.0.0", "4.4.0"])
def test_spark_of_another_version(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    other: Any = ModuleType("pyspark")
    other.__version__ = version
    monkeypatch.setitem(sys.modules, "pyspark", other)
    with pytest.raises(MissingDependency, match=rf"^PySpark {version} is not supported: pip install .*$"):
        check_spark()

    class Session:
        pass

    running: Any = Session()
    running.version = version
    with pytest.raises(MissingDependency, match=rf"^Spark {version} is not supported, only 4.1 to 4.3: .*$"):
        ensure_supported(running)


def test_spark_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingDependency, match=r"^PySpark is not installed: .* or use --engine local$"):
        check_spark()


def test_a_builder_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Builder:
        def __init__(self) -> None:
            self.settings: dict[str, str] = {}

        def config(self, name: str, value: str) -> Builder:
            self.settings[name] = value
            return self

    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert configure(Builder()).settings == RUNTIME_SETTINGS
    import os

    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    monkeypatch.setenv("PYSPARK_PYTHON", "./environment/bin/python")
    configure(Builder())
    assert os.environ["PYSPARK_PYTHON"] == "./environment/bin/python"  # a packed environment stays
