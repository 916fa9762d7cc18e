"""Names that a query gives to Variants."""

from __future__ import annotations

import pytest

from shredlake.sql.path_tokens import PathMatch, match_path, tokenize
from shredlake.sql.variant_names import as_list, new_variants


def found(sql: str) -> set[str]:
    """The names that a query over the Variant v gives to Variants."""
    tokens = tokenize(sql)
    paths: dict[int, PathMatch] = {}
    index = 0
    while index < len(tokens):
        path = match_path(sql, tokens, index, names={"v"}, scalar=False)
        if path is not None:
            paths[index] = path
        index = index + 1 if path is None else path.end
    return new_variants(tokens, {"v"}, paths)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("select v as w from t", {"w"}),
        ("select V w, id x from t", {"w"}),
        ('select t.v AS "W w" from t', {"w w"}),
        ("select v:a as w, v:a.b[0] x from t", {"w", "x"}),
        ("select v:a::variant as w from t", {"w"}),
        ("select max_by(v, key) as w, any_value(v) x from t", {"w", "x"}),
        ("select COALESCE(t.v, u.v) newest from t", {"newest"}),
        ("select * from t, unnest(v:items) as u(item)", {"u", "item"}),
        ("select * from t, unnest(v:items) u(item, n)", {"u", "item", "n"}),
        ("select v:a::int as w from t", set()),
        ("select to_json(v) as w from t", set()),
        ("select max_by(key, v) as w from t", set()),
        ("select v from t", set()),
        ("select v, w from t", set()),
        ("select v + 1 as w from t", set()),
        ("select v as", set()),
        ("v", set()),
    ],
)
def test_names_behind_variants(sql: str, names: set[str]) -> None:
    assert found(sql) == names


def test_a_path_as_a_list() -> None:
    sql = "v:items"
    path = match_path(sql, tokenize(sql), 0, names={"v"}, scalar=False)
    assert path is not None
    listed = as_list(path)
    assert str(listed.get.type) == "array<variant>"
    assert (listed.get.path, listed.column, listed.end) == (path.get.path, path.column, path.end)
