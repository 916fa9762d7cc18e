"""Every door keeps its contract, on inputs that once broke it and on some new ones."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fuzz.contract import Budget, ContractBroken, Door, attempt, forget_peak_memory
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
    outcomes = {attempt(door, data) for data in random.Random(1).sample(seeds, min(len(seeds), 60))}
    for _ in range(SLOW.get(name, EXECUTIONS)):
        data = dice.choice(seeds)
        for _ in range(dice.choice([1, 1, 2, 3])):
            data = door.mutate(data, dice)
        outcomes.add(attempt(door, data))
    assert "value" in outcomes
    assert len(outcomes) > 1 or name in ("json-split", "delta-hint")  # which take anything


def broken(enter: object, budget: Budget | None = None) -> str:
    forget_peak_memory()
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
