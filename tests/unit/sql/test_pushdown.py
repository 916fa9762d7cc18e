"""Filters of DuckDB as conditions of ours: true for the same rows, or not translated."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pad
import pytest

import shredlake as sl
from shredlake.expr.ast import Column, Get
from shredlake.expr.parse import parse_columns
from shredlake.expr.sql import spelled
from shredlake.kernels.cast_options import CastOptions
from shredlake.sql.pushdown import fields_of, metadata_pairs, predicate_of
from shredlake.sql.sources import ArrowSource

ROWS = pa.table(
    {
        "n": pa.array([None, 0, 1, 5, -3, 2**62], pa.int64()),
        "m": pa.array([1, 0, None, 2, -3, 7], pa.int64()),
        "d": pa.array([None, 0.0, -0.0, float("nan"), float("inf"), 1.5]),
        "s": pa.array([None, "", "a", "it's \x00 %", "é", "z"]),
        "b": pa.array([None, True, False, True, False, None]),
        "t": pa.array([None, 0, 1, -1, 10**15, 5], pa.timestamp("us")),
        "x": pa.array([None, b"", b"\xff", b"a", b"b", b"c"]),
    }
)
COLUMNS: dict[str, Column | Get] = {name: Column(name) for name in ROWS.schema.names}

n, m, d, s, b, t, x = (pc.field(name) for name in ROWS.schema.names)


def sql_in(field: Any, values: list[Any]) -> Any:
    """IN as DuckDB writes it: null for null."""
    return pc.if_else(field.is_valid(), field.isin(values), pa.scalar(None, pa.bool_()))


@pytest.mark.parametrize(
    ("filter_", "text"),
    [
        (n == 1, "n = 1"),
        (n != 1, "n <> 1"),
        (n < 1, "n < 1"),
        (n <= 1, "n <= 1"),
        (n > 1, "n > 1"),
        (n >= 1, "n >= 1"),
        (n == m, "n = m"),
        ((n > -3) & (m < 2), "(n > -3) AND (m < 2)"),
        ((n > 0) | (m < 1), "(n > 0) OR (m < 1)"),
        (~(n > 0), "NOT (n > 0)"),
        (n.is_null(), "n IS NULL"),
        (n.is_valid(), "n IS NOT NULL"),
        (sql_in(n, [1, 5]), "n IN (1, 5)"),
        (~sql_in(n, [1, 5]), "NOT (n IN (1, 5))"),
        (n.isin([1, 5]), "(n IS NOT NULL) AND (n IN (1, 5))"),
        (~n.isin([1, 5]), "NOT ((n IS NOT NULL) AND (n IN (1, 5)))"),
        (s == "it's \x00 %", "s = 'it\\'s \x00 %'"),
        (s > "", "s > ''"),
        (x == b"\xff", "x = X'ff'"),
        (b, "b"),
        (b == pa.scalar(False), "b = false"),
        (t > pa.scalar(0, pa.timestamp("us")), "t > TIMESTAMP_NTZ '1970-01-01 00:00:00.000000'"),
        (d > 0.0, "d > 0.0D"),
        (pc.scalar(True), "true"),
        (n == pa.scalar(None, pa.int64()), "n = CAST(NULL AS bigint)"),
    ],
)
def test_a_translated_filter_keeps_the_same_rows(filter_: Any, text: str) -> None:
    found = predicate_of(filter_, COLUMNS)
    assert found is not None
    assert spelled(found) == text
    scan = ArrowSource(ROWS).scan(parse_columns(["s"]), found, CastOptions())
    ours = [value for batch in scan.batches({}, lambda one: one) for value in batch.column("s").to_pylist()]
    if text != "d > 0.0D":  # to DuckDB NaN is the greatest number, so it never pushes this form alone
        assert ours == pad.dataset(ROWS).to_table(filter=filter_).column("s").to_pylist()


@pytest.mark.parametrize(
    "filter_",
    [
        n + 1 > 5,
        n.cast(pa.int32()) > 5,
        pc.match_substring(s, "z"),
        d.is_nan(),
        d == d,
        d.is_null(nan_is_null=True),
        n.isin([1, None]),
        pc.if_else(n.is_valid(), n.isin([1]), pa.scalar(True)),
        pc.if_else(m.is_valid(), n.isin([1]), pa.scalar(None, pa.bool_())),
        pc.if_else(b, n > 1, m > 1),
        pc.field("unknown") > 1,
        pc.field(("n", "inner")) > 1,
        pc.field(0) > 1,
    ],
    ids=str,
)
def test_another_form_is_not_translated(filter_: Any) -> None:
    assert predicate_of(filter_, COLUMNS) is None
    assert predicate_of((n > 1) & filter_, COLUMNS) is None, "no half of a filter"


def test_a_name_stands_for_the_path_that_it_reads() -> None:
    [path] = parse_columns(["v:a.b::int AS a"])
    assert isinstance(path.expr, Get)
    found = predicate_of(pc.field("__sl_1") == 3, {"__sl_1": path.expr})
    assert found is not None
    assert spelled(found) == "v:a.b::int = 3"


@pytest.mark.parametrize(
    ("filter_", "names"),
    [
        ((n > 1) & (s == "field_ref") & n.is_valid(), {"n", "s"}),
        (sql_in(n, [1]), {"n"}),
        (pc.scalar(True), set()),
        (pc.field("odd name\x00'") > 1, {"odd name\x00'"}),
        (pc.field(("n", "inner")) > 1, None),
        (pc.field(0) > 1, None),
    ],
)
def test_the_columns_that_a_filter_reads(filter_: Any, names: set[str] | None) -> None:
    assert fields_of(filter_) == names


def test_repeated_keys_of_metadata_are_kept_in_order() -> None:
    pairs = [("a", "1"), ("b", ""), ("a", "ü\x00"), ("", "2")]
    metadata = pa.KeyValueMetadata(pairs)
    assert metadata_pairs(pa.schema([], metadata=metadata)) == pairs
    assert metadata_pairs(pa.schema([("n", pa.int64())])) == []


@pytest.mark.parametrize(
    "where",
    [
        "n in (1, 5)",
        "n not in (1, 5)",
        "not (n > 0 and s = 'a')",
        "coalesce(n in (1, 5), true)",
        "(n in (1, 5)) is not true",
        "n is distinct from 1",
        "d in (0.0, 1.5)",
        "d > 0",
        "d = 'nan'::double",
        "not (d < 1)",
        "s between 'a' and 'é'",
        "b or n is null",
    ],
)
def test_what_duckdb_pushes_keeps_the_rows_that_duckdb_keeps(where: str) -> None:
    duckdb = pytest.importorskip("duckdb", reason="SQL needs DuckDB")
    connection = duckdb.connect()
    connection.register("rows", ROWS)
    connection.execute("create table own as select * from rows")
    expected = connection.execute(f"select m, s from own where {where} order by all").fetchall()
    found = sl.sql(f"select m, s from t where {where} order by all", t=ROWS).to_arrow()
    assert [tuple(row.values()) for row in found.to_pylist()] == expected
