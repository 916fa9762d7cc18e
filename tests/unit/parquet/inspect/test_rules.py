"""The table of rules in the documentation is the table of rules."""

from __future__ import annotations

from pathlib import Path

from shredlake.parquet.inspect.rules import ALL_RULES

PAGE = Path(__file__).parents[4] / "docs" / "check.md"


def test_the_page_lists_every_rule_as_it_is() -> None:
    part = PAGE.read_text().partition("\n## Files\n")[2]
    rows = [line for line in part.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{rule.id}` | {rule.where} | {rule.text} |" for rule in ALL_RULES.values()]
