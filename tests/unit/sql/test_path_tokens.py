"""Paths in the tokens of a query."""

from __future__ import annotations

import pytest

from shredlake.sql.path_tokens import is_word, match_path, match_variant, match_whole_cast, tokenize


def paths(sql: str, *, scalar: bool = False) -> list[str]:
    """Every path of a query over a Variant v, as column, path and type."""
    tokens = tokenize(sql)
    found: list[str] = []
    start = 0
    while start < len(tokens):
        one = match_path(sql, tokens, start, names={"v"}, scalar=scalar)
        found += [] if one is None else [f"{one.column} {one.get.path} {one.get.type}"]
        start = start + 1 if one is None else one.end
    return found


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("select v:a::int from t", ["v $.a int"]),
        ("select t.v:a.b[0]::string, V:`odd key`::date", ["t.v $.a.b[0] string", "V $['odd key'] date"]),
        ("cast(v:a as double)", ["v $.a double"]),
        ("variant_get(v, '$.x[1]', 'bigint')", ["v $.x[1] bigint"]),
        ("v:a", ["v $.a None"]),
        ("v:a::array<int>", ["v $.a array<int>"]),
        ("w:a::int", []),
        ("'v:a::int'", []),
        ("v.a", []),
    ],
)
def test_paths(sql: str, wanted: list[str]) -> None:
    assert paths(sql) == wanted


def test_only_scalar_types_if_asked() -> None:
    assert paths("v:a::int, v:b, v:c::array<int>", scalar=True) == ["v $.a int"]


def test_whole_variants_and_their_casts() -> None:
    sql = "select v, v::string, w from t"
    tokens = tokenize(sql)
    variants = [match_variant(sql, tokens, start, {"v"}) for start in range(len(tokens))]
    assert sum(one is not None for one in variants) == 2
    casts = [match_whole_cast(sql, tokens, start, {"v"}) for start in range(len(tokens))]
    assert [str(one.get.type) for one in casts if one is not None] == ["string"]


@pytest.mark.parametrize(
    ("text", "wanted"), [("a", True), ("a_1", True), ("1a", False), ("a b", False), ("", False)]
)
def test_words(text: str, wanted: bool) -> None:
    assert is_word(text) is wanted
