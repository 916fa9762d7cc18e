"""Engines that are asked to read: what they answer, and when they are not asked."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.diagnosis import probes
from shredlake.diagnosis.facts import Facts
from shredlake.diagnosis.probes import PROBES, Probed, probe

FILE = Facts("file", "f.parquet", frozenset())


class Panic(BaseException):
    """As engines written in Rust raise it."""


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Replaces the probe of an installed engine by one that ends in a given way."""

    def put(outcome: BaseException | None) -> None:
        def run(address: str, options: Mapping[str, Any]) -> None:
            if outcome is not None:
                raise outcome

        monkeypatch.setattr(probes, "PROBES", {("pyarrow", "file"): run})

    return put


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (None, None),
        (ValueError("first line\nsecond line"), "first line"),
        (ValueError(""), "ValueError"),
        (Panic("not yet implemented"), "not yet implemented"),
    ],
)
def test_outcomes(engine: Any, outcome: BaseException | None, error: str | None) -> None:
    engine(outcome)
    assert probe("pyarrow", FILE, {}) == Probed(metadata.version("pyarrow"), error)


def test_an_engine_that_lacks_a_part_of_itself_says_nothing(engine: Any) -> None:
    engine(ImportError("no module named numpy"))
    assert probe("pyarrow", FILE, {}) is None


@pytest.mark.parametrize("outcome", [KeyboardInterrupt(), SystemExit(3)])
def test_an_interrupt_is_not_an_answer(engine: Any, outcome: BaseException) -> None:
    engine(outcome)
    with pytest.raises(type(outcome)):
        probe("pyarrow", FILE, {})


def test_who_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert probe("trino", FILE, {}) is None
    assert probe("duckdb", Facts("table", "t", frozenset()), {}) is None, "no probe of tables"
    assert probe("spark", FILE, {}) is None, "slow to start"
    monkeypatch.setitem(probes.PROBES, ("nowhere", "file"), lambda address, options: None)
    assert probe("nowhere", FILE, {}) is None, "not installed"


@pytest.mark.parametrize("engine_name", [engine for engine, subject in PROBES if subject == "file"])
def test_engines_read_a_plain_file_and_refuse_what_is_not_one(tmp_path: Path, engine_name: str) -> None:
    pytest.importorskip(engine_name)
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    pq.write_table(pa.table({"n": pa.array([], pa.int64())}), good)
    bad.write_bytes(b"PAR1 this is not a file PAR1")
    found = probe(engine_name, Facts("file", str(good), frozenset()), {})
    assert found is not None
    assert found.error is None
    found = probe(engine_name, Facts("file", str(bad), frozenset()), {})
    assert found is not None
    assert found.error
    assert "\n" not in found.error


@pytest.mark.parametrize("engine_name", [engine for engine, subject in PROBES if subject == "table"])
def test_options_of_any_type_reach_the_engines(tmp_path: Path, engine_name: str) -> None:
    pytest.importorskip(engine_name)
    table = sl.Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]))
    table.append([{"id": 1}])
    found = probe(engine_name, Facts("table", str(tmp_path / "t"), frozenset()), {"timeout": 5})
    assert found is not None
    assert found.error is None
