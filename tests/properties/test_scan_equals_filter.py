"""A scan with a condition returns the same rows as a filter over all rows, for any data, layout and pages."""

from __future__ import annotations

import io
import math
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shredlake import kernels
from shredlake.expr import evaluate, parse_columns, parse_predicate
from shredlake.parquet.read.scan import scan_parquet
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant.value import Variant

KEYS = ["a", "b", "c"]
LAYOUTS = [
    None,
    "struct<a bigint, b string, c double>",
    "struct<a decimal(12,2), b struct<a bigint, b string>>",
    "struct<a array<bigint>, b timestamp, c boolean>",
    "struct<a string, b double, c struct<a array<struct<a bigint, b string>>>>",
    "struct<a date, b variant, c float>",
    "struct<a bigint>",
    "array<bigint>",
    "bigint",
    "string",
]
PATHS = ["v", "v:a", "v:b", "v:c", "v:a.a", "v:b.b", "v:b.a", "v:a[0]", "v:c.a[0].b", "v:a[1]", "v:nowhere"]
LITERALS = {
    "bigint": ["0", "5", "-3", "100", "9223372036854775807"],
    "double": ["0.0", "-0.0", "2.5", "1e10", "double('NaN')", "double('Infinity')"],
    "decimal(10,2)": ["0", "1.25", "2.005", "-3.5"],
    "string": ["''", "'5'", "'x'", "'é'", "'x3'", "'2024-01-05'"],
    "date": ["date'2024-01-05'", "date'1960-01-01'"],
    "timestamp": ["timestamp'2024-01-05 00:00:00Z'", "timestamp'2024-01-02 03:04:05.5Z'"],
    "boolean": ["true", "false"],
}


def random_scalar(dice: random.Random) -> Any:
    number = dice.randrange(12)
    return dice.choice([
        number, number, -number, number * 10**dice.randrange(12), None, dice.random() < 0.5, f"x{number}",
        str(number), "é" * number, Decimal(number) / 4, number / 2, -0.0, math.nan, math.inf,
        date(2024, 1, 1 + number), datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=9 * number),
        b"\xff" * number,
    ])  # fmt: skip


def random_value(dice: random.Random, depth: int = 0) -> Any:
    shape = dice.random()
    if shape < (0.75 if depth == 0 else 0.15) and depth < 3:
        return {
            key: random_value(dice, depth + 1) for key in dice.sample(KEYS, dice.randrange(len(KEYS) + 1))
        }
    if shape < 0.85 and depth < 3 and depth > 0:
        return [random_value(dice, depth + 1) for _ in range(dice.randrange(3))]
    return random_scalar(dice)


def regular_value(dice: random.Random, row: int) -> Any:
    """Rows that mostly fit a layout and mostly ascend, so that there is something to skip."""
    if dice.random() < 0.1:
        return random_value(dice)
    return {"a": row, "b": f"x{row:05}", "c": row / 8} if dice.random() < 0.9 else {"a": str(row), "c": None}


def random_comparison(dice: random.Random) -> str:
    kind = dice.choice(list(LITERALS))
    operand = f"{dice.choice(PATHS)}::{kind}" if dice.random() < 0.9 else "id"
    if operand == "id":
        return f"id {dice.choice(['<', '>=', '='])} {dice.randrange(200)}"
    literal = dice.choice(LITERALS[kind])
    return dice.choice([
        f"{operand} {dice.choice(['=', '<>', '<', '<=', '>', '>=', '<=>'])} {literal}",
        f"{operand} {dice.choice(['=', '<', '>='])} {literal}",
        f"{operand} is null",
        f"{operand} is not null",
        f"{operand} in ({literal}, {dice.choice(LITERALS[kind])})",
        f"{operand} between {literal} and {dice.choice(LITERALS[kind])}",
        f"{operand.split('::')[0]}::string like '{dice.choice(['x%', '%5', 'x0000_', '2024%'])}'",
        "v is null",
    ])  # fmt: skip


def random_condition(dice: random.Random, depth: int = 0) -> str:
    choice = dice.random()
    if depth > 2 or choice < 0.5:
        return random_comparison(dice)
    if choice < 0.6:
        return f"not ({random_condition(dice, depth + 1)})"
    joiner = " and " if choice < 0.8 else " or "
    return "(" + joiner.join(random_condition(dice, depth + 1) for _ in range(2)) + ")"


def variant_column(values: list[Any], dice: random.Random) -> pa.Array:
    rows = [None if dice.random() < 0.05 else Variant.of(value) for value in values]
    parts = [None if row is None else {"metadata": row.metadata, "value": row.value} for row in rows]
    return pa.array(parts, kernels.variant())


def same(left: pa.ChunkedArray, right: pa.ChunkedArray) -> bool:
    """Equal, with NaN equal to itself."""
    if pa.types.is_struct(left.type):
        return kernels.to_json(left).to_pylist() == kernels.to_json(right).to_pylist()
    if pa.types.is_timestamp(left.type):  # Python's end in the year 9999
        left, right = left.cast(pa.int64()), right.cast(pa.int64())
    return repr(left.to_pylist()) == repr(right.to_pylist())


@pytest.mark.slow
@settings(max_examples=80)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 200),
    layout=st.sampled_from(LAYOUTS),
    regular=st.booleans(),
    row_group_size=st.sampled_from([7, 40, 200]),
    rows_per_page=st.sampled_from([1, 3, 20]),
    page_index=st.booleans(),
)
def test_scan_equals_filter(
    seed: int,
    count: int,
    layout: str | None,
    regular: bool,
    row_group_size: int,
    rows_per_page: int,
    page_index: bool,
) -> None:
    dice = random.Random(seed)
    values = [regular_value(dice, row) if regular else random_value(dice) for row in range(count)]
    plain = pa.table({"id": pa.array(range(count)), "v": variant_column(values, dice)})
    stored = plain
    if layout is not None:
        stored = plain.set_column(1, "v", kernels.shred(plain["v"], ShreddingSchema.parse(layout)))
    sink = io.BytesIO()
    pq.write_table(
        stored, sink, row_group_size=row_group_size, max_rows_per_page=rows_per_page,
        write_page_index=page_index, use_dictionary=dice.random() < 0.5,
    )  # fmt: skip
    outputs = [f"{dice.choice(PATHS)}::{dice.choice(list(LITERALS))} AS p{n}" for n in range(2)]
    columns = ["id", "v", *outputs]
    for _ in range(4):
        where = random_condition(dice)
        mask = pc.fill_null(evaluate(parse_predicate(where), plain), False)
        expected = plain.filter(mask)
        found = scan_parquet(sink, columns=columns, where=where).to_arrow()
        assert found["id"].to_pylist() == expected["id"].to_pylist(), where
        for projection in parse_columns(outputs):
            assert same(found[projection.name], pa.chunked_array([evaluate(projection.expr, expected)])), (
                where
            )
        unshredded = kernels.unshred(stored["v"]).filter(mask)
        assert same(found["v"], pa.chunked_array(unshredded.chunks, unshredded.type)), where
