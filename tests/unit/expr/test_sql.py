"""Expressions as SQL: what is printed is read again as the same expression."""

from __future__ import annotations

import pytest

from shredlake.expr.parse import parse_value
from shredlake.expr.sql import to_sql
from shredlake.kernels.cast_options import CastOptions

RAISE = CastOptions(on_error="raise")

EXPRESSIONS = [
    "v:a.b[0].`odd key`::bigint = 5",
    "v:`it's`::string = 'it''s'",
    "cast(a as double) > 1e-3D and not (b is null)",
    "try_cast(a as int) in (1, 2, null)",
    "variant_get(v, '$.a', 'decimal(9,2)') between 1.50BD and 2BD",
    "is_variant_null(v:a)",
    "s like 'a\\_%' escape '\\\\'",
    "d = date'2026-01-02' or t >= timestamp'2026-01-02 03:04:05.678901'",
    "-a + b * 2 - c % 3 / 4 <=> null",
    "isnan(f) or f = double('nan')",
    "`a b`.c <> x'00ff'",
    "(a or b) and (c or d)",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_what_is_printed_means_the_same(text: str) -> None:
    expr = parse_value(text)
    assert parse_value(to_sql(expr)) == parse_value(to_sql(parse_value(to_sql(expr))))
    strict = to_sql(expr, RAISE)
    assert parse_value(to_sql(parse_value(strict), RAISE)) == parse_value(strict)


@pytest.mark.parametrize(
    ("text", "lenient", "strict"),
    [
        ("v:a::int", "try_variant_get(v, '$.a', 'int')", "variant_get(v, '$.a', 'int')"),
        ("try_variant_get(v, '$.a', 'int')",) + ("try_variant_get(v, '$.a', 'int')",) * 2,
        ("variant_get(v, '$.a', 'int')",) + ("variant_get(v, '$.a', 'int')",) * 2,
    ],
)
def test_strictness_is_printed_where_it_is_not_said(text: str, lenient: str, strict: str) -> None:
    expr = parse_value(text)
    assert (to_sql(expr), to_sql(expr, RAISE)) == (lenient, strict)
