"""Evaluation: names, nulls, errors. That the values are Spark's is tested against Spark itself."""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from shredlake.errors import CastError, InvalidExpression, UnsupportedExpression
from shredlake.expr import evaluate, parse_columns, parse_predicate
from shredlake.kernels import from_json, shred
from shredlake.kernels.cast_options import CastOptions
from shredlake.shredding import ShreddingSchema

DOCUMENTS = ['{"a": 1, "s": "abc"}', '{"a": "2", "s": null}', '{"a": "x"}', "null", None]


@pytest.fixture(params=["plain", "shredded", "chunked"])
def table(request: pytest.FixtureRequest) -> pa.Table:
    column = from_json(pa.array(DOCUMENTS))
    if request.param == "shredded":
        column = shred(column, ShreddingSchema.parse("struct<a bigint>"))
    if request.param == "chunked":
        column = pa.chunked_array([column.slice(0, 2), column.slice(2)])
    numbers = pa.array([1, 2, 3, None, 5])
    inner = pa.StructArray.from_arrays(
        [column.combine_chunks() if request.param == "chunked" else column], ["w"]
    )
    return pa.table({"v": column, "n": numbers, "S": inner, "odd name": numbers, "a.b": numbers})


def value(sql: str, table: pa.Table, *, strict: bool = False) -> list[object]:
    return evaluate(parse_columns([f"{sql} AS c"])[0].expr, table, CastOptions.of(strict=strict)).to_pylist()


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("v:a::int", [1, 2, None, None, None]),
        ("v:a::int > 1", [False, True, None, None, None]),
        ("v:a::int > 1 OR n = 3", [False, True, True, None, None]),
        ("v:a::int > 1 AND n = 3", [False, False, None, None, False]),
        ("v:a IS NULL", [False, False, False, True, True]),
        ("v:s IS NULL", [False, False, True, True, True]),  # a Variant null is not NULL
        ("v:s::string IS NULL", [False, True, True, True, True]),
        ("is_variant_null(v:s)", [False, True, False, False, False]),
        ("is_variant_null(v)", [False, False, False, True, False]),
        ("s.w:a::int", [1, 2, None, None, None]),
        ("`odd name` + 1", [2, 3, 4, None, 6]),
        ("`a.b`", [1, 2, 3, None, 5]),
        ("N", [1, 2, 3, None, 5]),
        ("n IN (1, NULL)", [True, None, None, None, None]),
        ("n / 0", [None] * 5),
        ("n * 9223372036854775807L", [2**63 - 1, None, None, None, None]),
        ("1 = 1", [True] * 5),
        ("'x'", ["x"] * 5),
    ],
)
def test_values(table: pa.Table, sql: str, expected: list[object]) -> None:
    assert value(sql, table) == expected


def test_batches_are_tables_too(table: pa.Table) -> None:
    batch = table.to_batches()[0]
    result = evaluate(parse_predicate("n > 1"), batch)
    assert isinstance(result, pa.Array)
    assert len(result) == batch.num_rows


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("v:a = 5", "is a Variant, which can't be compared. Add its type, as in v:a::bigint"),
        ("v = v", "is a Variant"),
        ("missing > 1", "column missing does not exist; the columns are v, n, S, odd name, a.b"),
        ("s.x = 1", "column s.x does not exist; the columns are w"),
        ("v.a = 1", "write it with a colon, v:a"),
        ("n:a = 1", "n is a bigint column, but the path"),
        ("n = true", "compares a bigint with a boolean. Cast one of them"),
        ("n IN (true)", "compares a bigint with a boolean"),
        ("n = 'x'", "'x' is not a valid bigint"),
        ("n AND true", "n (bigint) is not a condition. Compare it, as in n = ..."),
        ("NOT v", "v is a Variant, not a condition. If it holds booleans, write v::boolean"),
        ("is_variant_null(n)", "bigint is not a Variant, use IS NULL"),
        ("'a' + 1 = 2", "computes with string and int. Cast them to numbers"),
    ],
)
def test_mistakes_are_explained(table: pa.Table, sql: str, problem: str) -> None:
    with pytest.raises(InvalidExpression) as error:
        evaluate(parse_predicate(sql), table)
    assert problem in str(error.value)


def test_decimals_are_not_divided(table: pa.Table) -> None:
    with pytest.raises(UnsupportedExpression, match="cast them to double first"):
        value("n / 1.5", table)


def test_strict_raises_with_row_and_path(table: pa.Table) -> None:
    message = r"row 2, \$\['a'\]: \"x\" \(string\) can't be cast to int"
    with pytest.raises(CastError, match=message):
        value("v:a::int", table, strict=True)
    with pytest.raises(CastError, match=message):
        value("variant_get(v, '$.a', 'int')", table)
    assert value("try_variant_get(v, '$.a', 'int')", table, strict=True) == [1, 2, None, None, None]
    with pytest.raises(CastError, match="divides by zero"):
        value("n / 0", table, strict=True)
    with pytest.raises(CastError, match="overflows bigint"):
        value("n * 9223372036854775807L", table, strict=True)


def test_ambiguous_names() -> None:
    table = pa.table({"A": [1], "a": [2]})
    assert value("a", table) == [2]
    with pytest.raises(InvalidExpression, match="ambiguous"):
        value("AA", pa.table({"aA": [1], "Aa": [2]}))


def test_encodings_of_plain_columns() -> None:
    table = pa.table(
        {
            "d": pa.array(["x", "y", None]).dictionary_encode(),
            "l": pa.array(["x", "y", None], pa.large_string()),
            "u": pa.array([1, 2, None], pa.uint8()),
            "ms": pa.array([0, 1, None], pa.timestamp("ms", "UTC")),
            "r": pc.run_end_encode(pa.array(["x", "y", None])),
        }
    )
    assert value("r = 'x'", table) == value("r LIKE 'x%'", table) == [True, False, None]
    assert value("d = 'x'", table) == value("l = 'x'", table) == value("u = 1", table) == [True, False, None]
    assert value("ms = TIMESTAMP '1970-01-01 00:00:00'", table) == [True, False, None]


def test_nanoseconds_are_compared_exactly() -> None:
    table = pa.table(
        {"t": pa.array([1_700_000_000_123_456_789, 1_700_000_000_123_456_000], pa.timestamp("ns"))}
    )
    exact, whole = "'2023-11-14 22:13:20.123456789'", "TIMESTAMP_NTZ '2023-11-14 22:13:20.123456'"
    assert value(f"t = {exact}", table) == value(f"t IN ({exact}, '2024-01-01')", table) == [True, False]
    assert value(f"t >= {exact}", table) == value(f"t > {whole}", table) == [True, False]
    assert value(f"t <= {whole}", table) == [False, True]


def test_the_smallest_integer_by_minus_one() -> None:
    table = pa.table({"n": [-(2**63), 7, None], "i": pa.array([-128, 7, None], pa.int8())})
    assert value("n % -1", table) == value("i % -1Y", table) == [0, 0, None]
    assert value("n / -1", table) == [2.0**63, -7.0, None]


def test_empty_tables() -> None:
    table = pa.table({"v": from_json(pa.array([], pa.string())), "n": pa.array([], pa.int64())})
    for sql in ("v:a::int > 1", "n IN (1)", "v:a::string LIKE 'x%'", "n + 1", "1 = 1", "v:a"):
        assert value(sql, table) == []


def test_nan_is_the_greatest_and_equals_itself() -> None:
    table = pa.table({"d": [1.0, math.nan, math.inf]})
    assert value("d > 1e308", table) == [False, True, True]
    assert value("d = d", table) == [True, True, True]
    assert value("d IN (double('NaN'))", table) == [False, True, False]
