"""The rules of a check, and how its report reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shredlake.delta.check.findings import RULES, Finding, TableCheck

PAGE = Path(__file__).parents[4] / "docs" / "check.md"
BAD = Finding("statistics", "a.parquet", "id has a value smaller than the recorded minimum 3")
GONE = Finding("file-missing", "b.parquet", "is not there")


def test_the_page_lists_every_rule_as_it_is() -> None:
    part = PAGE.read_text().partition("| rule | repair | requirement |")[2].partition("\n## Files\n")[0]
    rows = [line for line in part.splitlines() if line.startswith("| `")]
    wanted = [(name, "yes" if rule.repair else "", rule.text) for name, rule in RULES.items()]
    assert rows == [f"| `{name}` | {repair} | {text} |" for name, repair, text in wanted]


@pytest.mark.parametrize("rule", RULES)
def test_a_finding_is_repaired_by_what_its_rule_names(rule: str) -> None:
    assert Finding(rule, "f", "x").repair == RULES[rule].repair


def report(*findings: Finding, repaired: tuple[Finding, ...] = (), **fields: int) -> TableCheck:
    return TableCheck(table="t", version=3, quick=False, findings=findings, repaired=repaired, **fields)


def test_a_report_lists_repairs_then_findings_then_the_result() -> None:
    lines = str(report(GONE, repaired=(BAD,), commits=4, files=1, rows=1, bytes=2000)).splitlines()
    assert lines == [
        "t, version 3: 4 commits, 0 checkpoints, 1 file (2.0 kB), 1 row",
        f"repaired: {BAD}",
        "b.parquet: is not there [file-missing]",
        "1 finding",
    ]


def test_a_repaired_table_is_fine() -> None:
    repaired = report(repaired=(BAD,))
    assert repaired.ok
    assert str(repaired).endswith("\nnothing is wrong")
    assert not report(BAD).ok


def test_the_heading_says_what_was_not_looked_at() -> None:
    unread = TableCheck(table="t", version=None, quick=True, findings=(GONE,), orphans=1)
    assert unread.heading() == (
        "t, no readable version: 0 commits, 0 checkpoints, 0 files (0 B), 0 rows; quick: no rows were read; "
        "1 orphan file, which vacuum can delete"
    )


def test_as_json_a_report_keeps_its_findings() -> None:
    raw = json.loads(json.dumps(report(BAD, GONE).to_dict()))
    assert raw["ok"] is False
    assert [Finding(**one) for one in raw["findings"]] == [BAD, GONE]
