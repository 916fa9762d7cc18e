"""A verb runs on the right engine, and a starting session prints nothing."""

from __future__ import annotations

import os
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from shredlake.cli.engines import LARGE_INPUT, EngineName, quiet_session, running
from shredlake.jobs.engine import LocalEngine

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")
session_module = import_module("shredlake.spark.session")  # the package has a function of the same name
engine_module = import_module("shredlake.spark.engine")


@pytest.fixture(autouse=True)
def starts(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The sessions that are asked for; none is started."""
    asked: list[dict[str, Any]] = []

    def session(**options: Any) -> Any:
        found = SimpleNamespace(stopped=False, **options)

        def stop() -> None:
            asked[-1]["stopped"] = True

        found.stop = stop
        asked.append({**options, "stopped": False})
        return found

    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setattr(session_module, "session", session)
    monkeypatch.setattr(engine_module, "SparkEngine", lambda spark: spark)
    return asked


@pytest.mark.parametrize(
    ("name", "size", "master", "remote"),
    [
        ("auto", 0, None, None),
        ("auto", LARGE_INPUT - 1, None, None),
        ("local", LARGE_INPUT, None, None),
        ("local", 0, "local[2]", "sc://host"),
    ],
)
def test_threads(
    starts: list[dict[str, Any]], name: EngineName, size: int, master: str | None, remote: str | None
) -> None:
    with running(name, size, master, remote) as engine:
        assert isinstance(engine, LocalEngine)
    assert starts == []


@pytest.mark.parametrize(
    ("name", "size", "master", "remote"),
    [
        ("spark", 0, None, None),
        ("auto", LARGE_INPUT, None, None),
        ("auto", 0, "local[2]", None),
        ("auto", 0, None, "sc://host"),
    ],
)
def test_spark(
    starts: list[dict[str, Any]], name: EngineName, size: int, master: str | None, remote: str | None
) -> None:
    with running(name, size, master, remote) as engine:
        assert not isinstance(engine, LocalEngine)
        assert starts == [{"master": master, "remote": remote, "settings": None, "stopped": False}]
    assert starts[0]["stopped"]


def test_a_program_that_spark_submit_started_runs_on_spark(
    starts: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    with running("auto", 0):
        assert len(starts) == 1


def test_a_session_is_stopped_after_an_error(starts: list[dict[str, Any]]) -> None:
    with pytest.raises(KeyError), running("spark", 0):
        raise KeyError("a")
    assert starts[0]["stopped"]


def test_messages_of_the_start_are_shown_only_if_it_fails(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def start(**options: Any) -> str:
        os.write(2, b"WARN of the JVM\n")
        if options["master"] == "wrong":
            raise RuntimeError("no such master")
        return "session"

    monkeypatch.setattr(session_module, "session", start)
    assert quiet_session("right") == "session"
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"
    with pytest.raises(RuntimeError, match="no such master"):
        quiet_session("wrong")
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "WARN of the JVM\nafter\n"
