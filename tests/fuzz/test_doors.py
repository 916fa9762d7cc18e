"""Every door keeps its contract, on inputs that once broke it and on some new ones."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from fuzz import run
from fuzz.contract import Budget, ContractBroken, Door, attempt
from fuzz.damage import change_bytes
from fuzz.doors import DOORS

CRASHERS = sorted((Path(__file__).parent / "crashers").glob("*/*.bin"))
SLOW = {
    "delta-check": 40,
    "delta-checkpoint": 20,
    "delta-manifest": 30,
    "parquet-draft": 60,
    "delta-hint": 60,
    "delta-commit": 100,
    "profile": 100,
}
EXECUTIONS = 250


@pytest.mark.parametrize("path", CRASHERS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_once_broke_a_door_no_longer_does(path: Path) -> None:
    attempt(DOORS[path.parent.name], path.read_bytes())


@pytest.mark.parametrize("name", DOORS)
def test_new_inputs(name: str) -> None:
    """Seeded; `make fuzz` runs for longer, and chooses inputs by what they reach."""
    door, dice = DOORS[name], random.Random(name)
    seeds = door.seeds()
    outcomes = {attempt(door, data).kind for data in random.Random(1).sample(seeds, min(len(seeds), 60))}
    for _ in range(SLOW.get(name, EXECUTIONS)):
        data = dice.choice(seeds)
        for _ in range(dice.choice([1, 1, 2, 3])):
            data = door.mutate(data, dice)
        outcomes.add(attempt(door, data).kind)
    assert "value" in outcomes
    assert len(outcomes) > 1 or name in ("json-split", "delta-hint")  # which take anything


def broken(enter: object, budget: Budget | None = None) -> str:
    door = Door("test", "test", lambda: [b""], enter, change_bytes, budget or Budget())  # type: ignore[arg-type]
    with pytest.raises(ContractBroken) as found:
        attempt(door, b"input")
    return str(found.value)


def test_the_contract_can_be_broken() -> None:
    """The harness sees a foreign error, a wrong answer, and too much time or memory."""
    assert "KeyError" in broken(lambda data: {}[data])

    def wrong(data: bytes) -> None:
        assert not data

    assert "AssertionError" in broken(wrong)
    assert "time" in broken(lambda data: sum(range(300_000)), Budget(seconds=0.001, seconds_per_megabyte=0))
    assert "memory" in broken(lambda data: bytearray(64 << 20).count(1), Budget(megabytes=8))


def test_memory_below_an_earlier_peak_is_seen() -> None:
    """A process that once needed much, for its seeds say, still sees what a call takes."""
    bytearray(256 << 20).count(1)
    for _ in range(2):
        assert "memory" in broken(lambda data: bytearray(64 << 20).count(1), Budget(megabytes=8))
    door = Door("test", "test", lambda: [b""], lambda data: bytearray(4 << 20).count(1), change_bytes)
    assert attempt(replace(door, budget=Budget(megabytes=16)), b"input").kind == "value"


def test_found_inputs_are_kept_between_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run starts from what earlier ones found, in a folder that git ignores."""
    monkeypatch.setattr(run, "WORK", tmp_path)
    run.Session("ddl", 1, None).unguided(executions=3000, seconds=60)
    found = {path.read_bytes() for path in (tmp_path / "corpus" / "ddl").iterdir()}
    assert found
    assert not found & set(DOORS["ddl"].seeds())
    again = run.Session("ddl", 2, None)
    assert found < set(again.seeds)
    again.unguided(executions=len(again.seeds), seconds=60)
    assert {path.read_bytes() for path in (tmp_path / "corpus" / "ddl").iterdir()} == found


def test_an_input_that_breaks_a_door_becomes_a_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "WORK", tmp_path)
    monkeypatch.setattr(run, "CRASHERS", tmp_path / "crashers")
    session = run.Session("ddl", 1, None)
    session.door = Door("ddl", "test", lambda: [b""], lambda data: int(data), change_bytes)
    session.once(b"breaks")
    [path] = (tmp_path / "crashers" / "ddl").glob("*.bin")
    assert path.read_bytes() == b"breaks"
    assert str(path) in next(iter(session.broken.values()))
