"""The project's own conformance data, `data/`: one test per file, read and checked against `cases.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import shredlake as sl
from conformance.make_cases import main
from shredlake.parquet.inspect.rules import ALL_RULES

DATA = Path(__file__).parent / "data"
CASES: list[dict[str, Any]] = json.loads((DATA / "cases.json").read_text(encoding="utf-8"))


def each(*, legal: bool) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in CASES if (case["rows"] is not None) == legal]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("case", each(legal=True))
def test_a_legal_file_reads_as_it_should(case: dict[str, Any]) -> None:
    path = DATA / f"{case['name']}.parquet"
    assert sl.read_parquet(path, variants="json")["v"].to_pylist() == case["rows"]
    assert sl.to_json(sl.read_parquet(path)["v"]).to_pylist() == case["rows"]
    assert [violation.rule for violation in sl.check(path)] == []


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("case", [one for one in each(legal=True) if one.id.startswith("shredded-")])
def test_a_path_into_a_shredded_field(case: dict[str, Any]) -> None:
    """A path finds the value that the whole row has at that path."""
    found = sl.read_parquet(DATA / f"{case['name']}.parquet", ["v:a AS a"])["a"]
    wanted = [
        None if row in (None, "{}") else row.removeprefix('{"a":').removesuffix("}") for row in case["rows"]
    ]
    assert sl.to_json(found).to_pylist() == wanted


@pytest.mark.parametrize("case", each(legal=False))
def test_an_illegal_file_is_reported(case: dict[str, Any]) -> None:
    path = DATA / f"{case['name']}.parquet"
    assert sorted({violation.rule for violation in sl.check(path)}) == sorted(case["rules"])


def test_every_rule_has_a_file() -> None:
    assert {rule for case in CASES for rule in case["rules"]} == set(ALL_RULES)


def test_the_data_is_small_and_complete() -> None:
    files = {path.stem: path.stat().st_size for path in DATA.glob("*.parquet")}
    assert files.keys() == {case["name"] for case in CASES}
    assert max(files.values()) < 20_000
    assert sum(files.values()) < 150_000


def test_the_generator_still_makes_these_cases(tmp_path: Path) -> None:
    """The expectations, not the bytes: those differ from one pyarrow to the next."""
    main(tmp_path)
    assert (tmp_path / "cases.json").read_bytes() == (DATA / "cases.json").read_bytes()
