"""Quoted names: what is quoted is one name, whatever it contains."""

from __future__ import annotations

import pytest
from sqlglot import parse_one
from sqlglot.expressions import Column

from shredlake.variant.identifiers import double_quote, quote, quote_if_needed

NAMES = ["id", "user id", "tick`", 'say "x"', "a.b", "é", "1st", "x; drop table t --", "_"]


@pytest.mark.parametrize("name", NAMES)
def test_a_quoted_name_is_one_name(name: str) -> None:
    for text, dialect in ((quote(name), "databricks"), (double_quote(name), "duckdb")):
        found = parse_one(text, dialect=dialect)
        assert isinstance(found, Column)
        assert found.name == name


@pytest.mark.parametrize("name", NAMES)
def test_only_plain_words_stay_unquoted(name: str) -> None:
    assert (quote_if_needed(name) == name) is (name in ("id", "_"))
