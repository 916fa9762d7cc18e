"""`check` over whole files: rows, positions and limits; the rules are tested beside the module of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

from broken_files import DATA, NULL, STRUCTURES, shredded, write_raw
from shredlake.parquet.inspect.check import check, violations
from shredlake.parquet.inspect.rules import ALL_RULES, DRAFT_RULES, RULES
from shredlake.parquet.write.writer import write_parquet
from strategies import shreddable_columns
from variant_columns import column, column_of


def test_every_rule_is_tested() -> None:
    apart = {"three-level-list", "annotation", "duplicate-field"}
    assert {rule for rule, *_ in [*STRUCTURES, *DATA]} | apart == set(RULES)
    assert ALL_RULES == RULES | DRAFT_RULES


def test_rows_and_positions_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Violations far into the file, in the second of two lists, with batches of three rows."""
    monkeypatch.setattr("shredlake.parquet.inspect.check.BATCH_ROWS", 3)
    bad = shredded("bigint", (None, 1), (NULL, 34), (None, 2))["v"].combine_chunks()
    lists = pa.ListArray.from_arrays(pa.array([0, 0, 0, 0, 0, 1, 3], pa.int32()), bad)
    file = write_raw(pa.table({"l": lists}), tmp_path / "f", ("l", "list", "element"))
    [breach] = check(file)
    assert (breach.row, breach.position, breach.path) == (5, (0,), "$")
    assert str(breach) == "l.list.element, row 5[0], $: value 00 beside typed_value 34 [conflict]"


def test_violations_stream_and_can_be_limited(tmp_path: Path) -> None:
    file = write_raw(shredded("bigint", *[(NULL, 34)] * 50), tmp_path / "f", ("v",))
    assert len(check(file, limit=7)) == 7
    seen: list[tuple[int, int]] = []
    assert len(list(violations(file, progress=lambda done, total: seen.append((done, total))))) == 50
    assert seen[-1] == (50, 50)


def test_conformance_files(conformance: Path) -> None:
    """Files that the conformance suite calls invalid are reported, and three without a `value` of the root.

    Every reader takes these, but the annotation's definition asks for the column.
    """
    expected = {
        40: "conflict",
        41: "value-column",
        42: "conflict",
        43: "field-in-value",
        84: "field-group",
        85: "missing-element",
        87: "residual-not-object",
        125: "field-in-value",
        127: "typed-value-type",
        128: "residual-not-object",
        129: "missing-value",
        131: "value-column",
        137: "typed-value-type",
        138: "value-column",
    }
    found = {}
    for path in sorted((conformance / "parquet-testing" / "shredded_variant").glob("*.parquet")):
        rules = {breach.rule for breach in check(path)}
        if rules:
            [found[int(path.stem[5:8])]] = rules
    assert found == expected


@pytest.mark.slow
@settings(max_examples=30)
@given(shreddable_columns())
def test_what_we_write_keeps_all_rules(tmp_path_factory: pytest.TempPathFactory, case: Any) -> None:
    rows, schema = case
    path = tmp_path_factory.mktemp("check") / "f.parquet"
    table = pa.table({"v": column(rows), "l": pa.array([[]] * len(rows), pa.list_(column_of([]).type))})
    write_parquet(table, path, shredding={"v": schema, "l.list.element": schema})
    assert check(path) == []
