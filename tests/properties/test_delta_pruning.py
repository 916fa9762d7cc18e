"""A pruned scan finds the rows of a full scan, filtered: for random tables, layouts and predicates."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shredlake as sl
from delta_tables import variants
from shredlake.expr import parse_predicate
from shredlake.expr.evaluate import evaluate

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("x", pa.float64()),
        ("s", pa.string()),
        ("t", pa.timestamp("us", tz="UTC")),
        ("day", pa.date32()),
        ("v", sl.variant()),
    ]
)

small = st.integers(-5, 5)
doubles = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 0.1, 2.5, 1e300, math.inf, math.nan])
texts = st.sampled_from(["", "a", "ab", "b", "é", "z" * 40, "z" * 40 + "é", "\U0010ffff" * 40, "5", "-1"])
moments = st.integers(-3, 3).map(
    lambda n: datetime(2026, 1, 1, tzinfo=UTC).replace(microsecond=500_000 + n * 400)
)
days = st.integers(1, 5).map(lambda n: date(2026, 1, n))
decimals = st.integers(-500, 500).map(lambda n: Decimal(n) / 100)

leaf = st.one_of(small, doubles, texts, decimals, moments, days, st.booleans(), st.none(), st.just([1]))
documents = st.one_of(
    st.just(...),
    leaf,
    st.fixed_dictionaries({}, optional={"a": leaf, "b": st.fixed_dictionaries({}, optional={"c": leaf})}),
    st.fixed_dictionaries({"a": small}),
    st.fixed_dictionaries({"a": texts}),
    st.fixed_dictionaries({"b": st.fixed_dictionaries({"c": doubles})}),
)

rows = st.fixed_dictionaries(
    {
        "id": st.one_of(st.none(), small),
        "x": st.one_of(st.none(), doubles),
        "s": st.one_of(st.none(), texts),
        "t": st.one_of(st.none(), moments),
        "day": st.one_of(st.none(), days),
        "v": documents,
    }
)

layouts = st.sampled_from(
    [
        None,
        "struct<a bigint>",
        "struct<a string, b struct<c double>>",
        "struct<a double>",
        "struct<a decimal(9,2), b struct<c string>>",
        "struct<a timestamp>",
        "struct<a date>",
        "struct<a boolean>",
        "bigint",
        "struct<a struct<c bigint>>",
    ]
)

files = st.lists(st.tuples(st.lists(rows, max_size=6), layouts), min_size=1, max_size=4)

numbers = st.sampled_from(["-3", "0", "2", "4.5", "0.1", "-0.005"])
floats = numbers | st.sampled_from(["double('NaN')", "double('Infinity')", "double('-Infinity')", "-0.0D"])
quoted = st.sampled_from(["''", "'a'", "'ab'", "'b'", "'zzzzzzzzzz'", "'" + "z" * 40 + "'", "'5'"])
times = st.sampled_from(["timestamp'2026-01-01 00:00:00.5'", "timestamp'2026-01-01 00:00:00.500399Z'"])
dates = st.sampled_from(["date'2026-01-02'", "date'2026-01-04'"])
operators = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])


def comparison(operand: str, literals: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(operators, literals).map(lambda pair: f"{operand} {pair[0]} {pair[1]}"),
        st.tuples(literals, operators).map(lambda pair: f"{pair[0]} {pair[1]} {operand}"),
        st.just(f"{operand} IS NULL"),
        st.just(f"{operand} IS NOT NULL"),
        st.lists(literals, min_size=1, max_size=3).map(lambda found: f"{operand} IN ({', '.join(found)})"),
        st.tuples(literals, literals).map(lambda pair: f"{operand} BETWEEN {pair[0]} AND {pair[1]}"),
    )


atoms = st.one_of(
    comparison("id", numbers),
    comparison("x", floats),
    comparison("s", quoted),
    comparison("t", times),
    comparison("day", dates),
    comparison("v:a::bigint", numbers),
    comparison("v:a::int", numbers),
    comparison("v:a::double", floats),
    comparison("v:b.c::double", floats),
    comparison("v:a::decimal(10,1)", numbers),
    comparison("v:a::string", quoted),
    comparison("v:a::timestamp", times),
    comparison("v:a::date", dates),
    comparison("v::bigint", numbers),
    st.just("v IS NULL"),
    st.just("isnan(x)"),
    st.just("isnan(v:a::double)"),
    st.just("isnan(v:b.c::double)"),
    st.sampled_from(["s LIKE 'z%'", "v:a::string LIKE 'a%'", "v:a::boolean", "v:a::boolean = false"]),
)

predicates = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]} AND {pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]} OR {pair[1]})"),
        inner.map(lambda one: f"NOT ({one})"),
    ),
    max_leaves=4,
)


def arrow(rows: list[dict[str, Any]], first: int) -> pa.Table:
    columns = {
        name: pa.array([row[name] for row in rows], SCHEMA.field(name).type) for name in SCHEMA.names[:-1]
    }
    columns["v"] = variants(row["v"] for row in rows)
    numbered = pa.array(range(first, first + len(rows)), pa.int64())
    return pa.table(columns).append_column("row", numbered)


def build(parts: list[tuple[list[dict[str, Any]], str | None]]) -> tuple[sl.Table, pa.Table]:
    """A table with one commit per part, and all its rows."""
    properties = {"delta.enableVariantShredding": "true", "delta.checkpointInterval": "1000"}
    schema = SCHEMA.append(pa.field("row", pa.int64()))
    table = sl.Table.create(f"memory://pruning/{uuid4()}", schema, properties=properties)
    written = [schema.empty_table()]
    for rows, layout in parts:
        data = arrow(rows, sum(part.num_rows for part in written))
        table.append(data, shredding={"v": layout})
        written.append(data.cast(schema))
    return table, pa.concat_tables(written)


def check(table: sl.Table, everything: pa.Table, where: str) -> None:
    mask = pc.fill_null(evaluate(parse_predicate(where), everything), False)
    expected = everything.filter(mask).column("row").to_pylist()
    found = table.scan(["row"], where=where)
    assert sorted(found.to_arrow().column("row").to_pylist()) == expected, where


@pytest.mark.slow
@settings(max_examples=25)
@given(files, st.lists(predicates, min_size=3, max_size=6))
def test_pruned_scans_lose_no_row(
    parts: list[tuple[list[dict[str, Any]], str | None]], questions: list[str]
) -> None:
    table, everything = build(parts)
    for where in questions:
        check(table, everything, where)
    # The same over the checkpoint's typed statistics, and with a commit on top of it.
    table.checkpoint()
    table = sl.Table(table.uri)
    assert table.snapshot.segment.checkpoint is not None
    for where in questions:
        check(table, everything, where)
    extra = arrow(parts[0][0], everything.num_rows)
    table.append(extra, shredding={"v": parts[-1][1]})
    for where in questions:
        check(table, pa.concat_tables([everything, extra.cast(everything.schema)]), where)
