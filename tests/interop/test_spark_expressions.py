"""Expressions, against Spark itself: the same text, or our printing of it, gives the same values."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shredlake.expr import evaluate, parse_columns, to_sql
from shredlake.kernels import from_json, shred
from shredlake.kernels.cast_options import CastOptions
from shredlake.shredding import ShreddingSchema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DOCUMENTS = [
    '{"a": 1, "s": "abc", "d": 1.5, "f": 1e300, "o": {"x": [1, 2]}, "t": "2024-02-29T12:00:00Z"}',
    '{"a": "2", "s": "Abd", "d": null, "f": 0.1, "o": {}, "t": "2024-02-29"}',
    '{"a": "x", "s": null, "d": 3, "t": 5}',
    '{"a": 3.0, "s": "a%c_\\n", "d": -0.5, "f": 16777217}',
    '{"a": true, "s": "", "d": 12345678901234567890}',
    '{"a": [1], "s": "éß😀", "o": 5}',
    "null",
    None,
]
COLUMNS = {
    "i": pa.array([0, 1, -1, None, 2**31 - 1, 7, 8, 9], pa.int32()),
    "l": pa.array([0, 2**53 + 1, -1, None, 2**62, 7, 8, 9], pa.int64()),
    "f": pa.array([0.1, math.nan, -0.0, None, 16777216.0, 1.0, 1.5, -math.inf], pa.float32()),
    "d": pa.array([0.1, math.nan, -0.0, None, math.inf, 2.0**53, 1.5, 1e300], pa.float64()),
    "n": pa.array(
        [Decimal("1.50"), Decimal("-0.01"), None, Decimal("99999.99"), *map(Decimal, range(4))],
        pa.decimal128(7, 2),
    ),
    "s": pa.array(["abc", "ABC", "", None, "a%c", "10", " 7 ", "é"]),
    "b": pa.array([True, False, None, True, False, None, True, False]),
    "x": pa.array([b"abc", b"", None, b"\x00", b"\xff", b"ab", b"abd", b"A"]),
    "dt": pa.array(
        [dt.date(2024, 2, 29), dt.date(1970, 1, 1), None, dt.date(1, 1, 1), *[dt.date(2024, 3, 10)] * 4]
    ),
    "ts": pa.array([0, 1709208000000000, None, -1, 1710054000000000, 1, 2, 3], pa.timestamp("us", "UTC")),
    "tn": pa.array([0, 1709208000000000, None, -1, 1710054000000000, 1, 2, 3], pa.timestamp("us")),
    "st": pa.array([{"a": number, "B": {"c": str(number)}} for number in range(8)]),
}

CONDITIONS = [
    "v:a::int = 1", "v:a::int <> 1", "v:a::double >= 2", "v:a::string < '3'",
    "v:a::int IN (1, 2, NULL)", "v:a::int NOT IN (1, 2)", "v:a::int BETWEEN 1 AND 2", "v:a IS NULL",
    "v:d IS NOT NULL", "v:d::double IS NULL", "is_variant_null(v:d)", "is_variant_null(v)",
    "v:a::int <=> NULL", "v:a::int <=> 2", "NOT (v:a::int = 1)", "v:a::int = 1 OR v:s::string = 'Abd'",
    "v:a::int = 1 AND v:s::string = 'Abd'", "v:s::string LIKE 'a%'", "v:s::string LIKE '%c_%'",
    "v:s::string LIKE '_b_'", r"v:s::string LIKE 'a\\%c\\__'", "v:s::string LIKE '%!_%' ESCAPE '!'",
    "v:s::string LIKE ''", "v:s::string LIKE '___'", "v:s::string NOT LIKE 'a%'", "v:o.x[1]::int = 2",
    "v:t::timestamp > TIMESTAMP '2024-02-29 00:00:00'", "v:t::date = DATE '2024-02-29'",
    "v:d::decimal(10,1) = 1.5", "v:d::float < 2", "v:f::float = 16777216", "v:f::bigint > 5", "i = 1.0",
    "i < 0.5", "i = '7'", "l = 9007199254740993", "l = 9007199254740993.5", "l = 9007199254740992D", "l > d",
    "i = f", "f = 0.1", "f = 0.1F", "f = d", "d = 0", "d > 1e300", "d = double('NaN')", "d > double('inf')",
    "d < double('NaN')", "d IN (double('NaN'), 0.0)", "d NOT IN (0.0, 1.5)", "isnan(d)", "n = 1.5",
    "n = 1.505", "n > 1", "n < 0.0", "n = l", "n = d", "n IN (1, 2.00, 1.5)", "s = 'abc'", "s < 'b'",
    "s >= ''", "s LIKE 'a%'", r"s LIKE 'a\\%_'", "b", "NOT b", "b = false", "b <=> NULL", "b IS TRUE",
    "b IS NOT FALSE", "b > false", "b = 'true'", "x = X'616263'", "x < X'ff'", "x = 'abc'",
    "dt = DATE '2024-02-29'", "dt = '2024-02-29'", "dt < TIMESTAMP '2024-02-29 10:00:00'", "dt < tn",
    "ts = TIMESTAMP '2024-02-29 12:00:00'", "ts >= dt", "ts = tn",
    "tn > TIMESTAMP_NTZ '2024-02-29 00:00:00'", "ts > '2024-02-29 11:00:00'", "st.a > 3", "st.B.c = '5'",
    "ST.b.C = '5'", "i IS NULL OR i > 5", "NULL = i", "i IN (NULL)", "NOT (i IN (NULL))", "b AND NULL",
    "b OR NULL", "NULL IS NULL", "1 = 1", "'it''s' = 'it\\'s'", '"a""b" = \'a"b\'', "s < 'a''b'", "i > -128Y",
    "l % -1 = 0", "-9223372036854775808L % -1 = 0",
]  # fmt: skip
VALUES = [
    "v:a::string", "v:o::string", "v::string", "cast(i AS string)", "cast(s AS int)", "cast(n AS string)",
    "cast(n AS int)", "cast(d AS int)", "cast(ts AS date)", "cast(ts AS string)", "cast(dt AS timestamp)",
    "cast(tn AS timestamp)", "cast(b AS int)", "cast(i AS timestamp)", "i % 5", "l - i", "i / 4", "f * 2",
    "d + 1", "n + 1", "n * 2", "n - n", "-f", "-n", "i * 2L", "f + f", "i % -3", "d % 2", "v:a::int + 1",
    "try_cast(s AS double)", "st.a", "st.B.c",
]  # fmt: skip


@pytest.fixture(scope="module")
def table() -> pa.Table:
    variants = from_json(pa.array(DOCUMENTS))
    shredded = shred(variants, ShreddingSchema.parse("struct<a bigint, s string, o struct<x array<bigint>>>"))
    return pa.table({"v": variants, "w": shredded, **COLUMNS})


@pytest.fixture(scope="module", params=["UTC", "America/Los_Angeles"])
def session(
    request: pytest.FixtureRequest, spark: SparkSession, table: pa.Table, tmp_path_factory: Any
) -> Any:
    path = tmp_path_factory.mktemp("expressions") / "rows.parquet"
    pq.write_table(table.drop_columns(["w"]), path)
    schema = (
        "v variant, i int, l bigint, f float, d double, n decimal(7,2), s string, b boolean, x binary, "
        "dt date, ts timestamp, tn timestamp_ntz, st struct<a: bigint, B: struct<c: string>>"
    )
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield spark.read.schema(schema).parquet(str(path)), request.param
    spark.conf.set("spark.sql.session.timeZone", before)


def shown(column: pa.Array | pa.ChunkedArray) -> list[str]:
    """Values as text, so that NaN equals NaN and -0.0 is no 0.0."""
    return [repr(value) for value in column.to_pylist()]


@pytest.mark.parametrize("expressions", [CONDITIONS, VALUES], ids=["conditions", "values"])
def test_expressions_mean_what_spark_says(table: pa.Table, session: Any, expressions: list[str]) -> None:
    frame, zone = session
    trees = [parse_columns([f"{sql} AS c"], CastOptions(timezone=zone))[0].expr for sql in expressions]
    answers = frame.selectExpr(*[f"{to_sql(tree)} AS c{n}" for n, tree in enumerate(trees)]).toArrow()
    different = []
    for number, (sql, tree) in enumerate(zip(expressions, trees, strict=True)):
        ours, sparks = evaluate(tree, table, CastOptions(timezone=zone)), answers.column(number)
        if shown(ours) != shown(sparks):
            different.append((sql, shown(ours), shown(sparks)))
    assert different == []


def test_shredded_columns_give_the_same(table: pa.Table) -> None:
    shredded = table.drop_columns(["v"]).rename_columns({"w": "v"})
    for sql in [*CONDITIONS, *VALUES]:
        tree = parse_columns([f"{sql} AS c"])[0].expr
        assert shown(evaluate(tree, table)) == shown(evaluate(tree, shredded)), sql
