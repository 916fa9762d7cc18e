"""Filters that Spark pushes, as expressions of ours, or left with Spark."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.read.data_file import Query
from shredlake.expr.sql import spelled

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")

from pyspark.sql import datasource as spark

from shredlake.spark.datasource.filters import converted
from shredlake.spark.datasource.options import READ, SourceOptions

SCHEMA = pa.schema(
    [
        ("n", pa.int64()), ("small", pa.int8()), ("s", pa.string()), ("b", pa.bool_()), ("f", pa.float32()),
        ("d", pa.decimal128(9, 2)), ("day", pa.date32()), ("at", pa.timestamp("us", "UTC")),
        ("wall", pa.timestamp("us")), ("x", pa.binary()), ("v", sl.variant()),
        ("st", pa.struct([("odd name", pa.int64()), ("in", pa.struct([("k", pa.string())]))])),
    ]
)  # fmt: skip


@pytest.fixture(scope="module")
def query(tmp_path_factory: pytest.TempPathFactory) -> Query:
    from shredlake.spark.datasource.changes import query_of
    from shredlake.spark.datasource.opened import opened

    place: Path = tmp_path_factory.mktemp("filters") / "t"
    sl.Table.create(place, SCHEMA, properties={"delta.feature.timestampNtz": "supported"})
    columns = "n, small, s, b, f, d, day, at, wall, x, v, st, v:a.b::int AS p, v:t::string AS `t.u`"
    options = SourceOptions.of({"path": str(place), "columns": columns}, READ)
    return query_of(opened(options), options)[0]


MOMENT = datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(
    ("pushed", "text"),
    [
        (spark.EqualTo(("n",), 1), "n = 1"),
        (spark.EqualNullSafe(("n",), 1), "n <=> 1"),
        (spark.GreaterThan(("small",), 1), "small > 1"),
        (spark.GreaterThanOrEqual(("n",), -(2**63)), "n >= -9223372036854775808"),
        (spark.LessThan(("f",), 0.5), "f < "),
        (spark.LessThanOrEqual(("s",), "it's"), "s <= 'it\\'s'"),
        (spark.EqualTo(("b",), True), "b = true"),
        (spark.EqualTo(("d",), Decimal("1.50")), "d = 1.50"),
        (spark.EqualTo(("day",), date(2026, 1, 2)), "day = DATE '2026-01-02'"),
        (spark.EqualTo(("at",), MOMENT), "at = TIMESTAMP '2026-01-02 01:00:00"),
        (spark.EqualTo(("wall",), datetime(2026, 1, 2)), "wall = TIMESTAMP_NTZ '2026-01-02 00:00:00"),
        (spark.EqualTo(("x",), b"\xff"), "x = X'ff'"),
        (spark.EqualTo(("p",), 7), "v:a.b::int = 7"),
        (spark.EqualTo(("t.u",), "a"), "v:t::string = 'a'"),
        (spark.EqualTo(("st", "odd name"), 7), "st.odd name = 7"),
        (spark.EqualTo(("st", "in", "k"), "a"), "st.in.k = 'a'"),
        (spark.In(("n",), (1, 2)), "n IN (1, 2)"),
        (spark.IsNull(("v",)), "v IS NULL"),
        (spark.IsNotNull(("st",)), "st IS NOT NULL"),
        (spark.StringStartsWith(("s",), "50%_\\"), "s LIKE "),
        (spark.StringEndsWith(("p",), "a"), None),
        (spark.Not(spark.GreaterThan(("n",), 3)), "NOT (n > 3)"),
        (spark.Not(spark.In(("n",), (1, 2))), "NOT (n IN (1, 2))"),
        (spark.Not(spark.Not(spark.IsNull(("n",)))), "NOT (n IS NOT NULL)"),
    ],
    ids=str,
)
def test_a_filter_is_an_expression(query: Query, pushed: Any, text: str | None) -> None:
    found = converted(pushed, query)
    if text is None:
        assert found is None
    else:
        assert found is not None
        assert spelled(found).startswith(text)


@pytest.mark.parametrize(
    ("pushed", "same"),
    [
        (spark.StringStartsWith(("s",), "50%_\\"), "50%_\\ and more"),
        (spark.StringEndsWith(("s",), "%a"), "b%a"),
        (spark.StringContains(("s",), "_"), "a_b"),
    ],
)
def test_signs_of_patterns_stand_for_themselves(query: Query, pushed: Any, same: str, tmp_path: Path) -> None:
    found = converted(pushed, query)
    assert found is not None
    table = sl.Table.create(tmp_path, pa.schema([("s", pa.string())]))
    table.append([{"s": same}, {"s": "50xy and more"}, {"s": "bxa"}, {"s": None}])
    assert table.scan(["s"], spelled(found)).to_arrow()["s"].to_pylist() == [same]


@pytest.mark.parametrize(
    "pushed",
    [
        spark.EqualTo(("nope",), 1),
        spark.EqualTo(("n", "inner"), 1),
        spark.EqualTo(("st", "nope"), 1),
        spark.EqualTo(("p", "a"), 1),
        spark.EqualTo(("n",), None),
        spark.EqualTo(("n",), True),
        spark.EqualTo(("n",), 1.0),
        spark.EqualTo(("b",), 1),
        spark.EqualTo(("s",), 1),
        spark.EqualTo(("f",), float("nan")),
        spark.EqualTo(("f",), 1),
        spark.EqualTo(("d",), 1.5),
        spark.EqualTo(("day",), datetime(2026, 1, 2)),
        spark.EqualTo(("at",), datetime(2026, 1, 2)),
        spark.EqualTo(("wall",), datetime(2026, 1, 2, tzinfo=UTC)),
        spark.EqualTo(("v",), "a"),
        spark.In(("n",), ()),
        spark.In(("n",), (1, None)),
        spark.In(("n",), (1, "2")),
        spark.StringContains(("x",), "a"),
        spark.Not(spark.EqualTo(("n",), None)),
        spark.Not(spark.In(("n",), (1, None))),
        spark.Not(spark.EqualTo(("nope",), 1)),
    ],
    ids=str,
)
def test_a_filter_in_doubt_stays_with_spark(query: Query, pushed: Any) -> None:
    assert converted(pushed, query) is None
