"""Pruning never drops a container that holds a matching row."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delta_tables import variants
from shredlake.expr import (
    And,
    Bounds,
    Cast,
    Column,
    Compare,
    DataType,
    Expr,
    Get,
    In,
    IsNan,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    evaluate,
    may_match,
    parse_type,
)
from shredlake.expr.ast import ComparisonOp
from shredlake.expr.coerce import common_type
from shredlake.kernels import shredded_type
from shredlake.kernels.cast_options import CastOptions
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant import Path

# Leaf types, with values close enough to each other for predicates to hit, and at the edges.
near = st.integers(-3, 3)
LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "tinyint": near | st.integers(-128, 127),
    "int": near | st.sampled_from([2**31 - 1, -(2**31), 2**24 + 1, 127, 128]),
    "bigint": near | st.sampled_from([2**63 - 1, -(2**63), 2**53 + 1, 2**53, 128, 40000, 2**31]),
    "decimal(5,2)": st.decimals(Decimal("-999.99"), Decimal("999.99"), places=2) | near.map(Decimal),
    "decimal(38,10)": st.sampled_from(["126.9999999999", "0.5", "-0.5", "1e27"]).map(Decimal),
    "float": st.sampled_from([0.0, -0.0, 1.5, -1.5, 16777216.0, math.inf, -math.inf, math.nan, 3.0000000e38]),
    "double": st.floats(-3, 3)
    | st.sampled_from([0.0, -0.0, 0.1, 127.9, 2.0**53, 1e300, math.inf, -math.inf, math.nan]),
    "string": st.text("abAB\xff\U0001f600 1", max_size=4),
    "binary": st.binary(max_size=2),
    "date": st.dates(dt.date(2024, 3, 9), dt.date(2024, 3, 12)),
    "timestamp": st.datetimes(dt.datetime(2024, 3, 9), dt.datetime(2024, 3, 12)).map(
        lambda moment: moment.replace(tzinfo=dt.UTC, fold=0)
    ),
    "timestamp_ntz": st.datetimes(dt.datetime(2024, 3, 9), dt.datetime(2024, 3, 12)).map(
        lambda moment: moment.replace(fold=0)
    ),
}  # fmt: skip
CASTS = [*LEAVES, "smallint", "decimal(3,0)", "decimal(20,4)"]
ZONES = ["UTC", "America/Los_Angeles", "Pacific/Kiritimati"]

COLUMN = "v"
PATH = Path(("a",))


@dataclass(frozen=True)
class Containers:
    """Leaf arrays of several containers; the statistics tell some of what is in them."""

    leaves: list[pa.Array]
    known_bounds: list[bool]
    known_counts: list[bool]
    shortened: bool
    refs: set[Column | Get] = field(default_factory=set)

    @property
    def length(self) -> int:
        return len(self.leaves)

    def bounds(self, ref: Column | Get) -> Bounds:
        self.refs.add(ref)
        extremes = [self.extremes(leaf) for leaf in self.leaves]
        leaf_type = self.leaves[0].type
        low = [pair[0] if known else None for pair, known in zip(extremes, self.known_bounds, strict=True)]
        high = [pair[1] if known else None for pair, known in zip(extremes, self.known_bounds, strict=True)]
        counts = [(len(leaf), leaf.null_count) for leaf in self.leaves]
        nulls = [count[1] if known else None for count, known in zip(counts, self.known_counts, strict=True)]
        return Bounds(
            pa.array(low, leaf_type),
            pa.array(high, leaf_type),
            pa.array(nulls, pa.int64()),
            pa.array([count[0] for count in counts], pa.int64()),
            self.may_be_nan if pa.types.is_floating(leaf_type) and self.shortened else None,
        )

    @property
    def may_be_nan(self) -> pa.Array:
        """Where NaN occurs, or nothing is known."""
        known = [any(flags) for flags in zip(self.known_bounds, self.known_counts, strict=True)]
        found = [pc.any(pc.is_nan(leaf)).as_py() for leaf in self.leaves]
        return pa.array([bool(nan) or not sure for nan, sure in zip(found, known, strict=True)])

    def extremes(self, leaf: pa.Array) -> tuple[Any, Any]:
        """Minimum and maximum as writers keep them: NaN left out, long strings cut."""
        values = [value for value in leaf.to_pylist() if value is not None and value == value]
        if not values:
            return None, None
        low, high = min(values, key=_order), max(values, key=_order)
        if self.shortened and isinstance(low, str):
            low, high = low[:1], high[:1] + "\U0010ffff" if len(high) > 1 else high
        return low, high


def _order(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


@st.composite
def containers(draw: st.DrawFn, leaf: str) -> Containers:
    leaf_type = parse_type(leaf).arrow
    values = st.lists(st.none() | LEAVES[leaf], min_size=1, max_size=4)
    arrays = [pa.array(draw(values), leaf_type) for _ in range(draw(st.integers(1, 4)))]
    flags = st.lists(st.booleans(), min_size=len(arrays), max_size=len(arrays))
    always = st.just([True] * len(arrays))
    return Containers(arrays, draw(always | flags), draw(always | flags), draw(st.booleans()))


@st.composite
def predicates(draw: st.DrawFn, operand: Expr, kind: DataType, depth: int = 2) -> Expr:
    if depth and draw(st.booleans()):
        inner = predicates(operand, kind, depth - 1)
        shape = draw(st.sampled_from(["and", "or", "not"]))
        if shape == "not":
            return Not(draw(inner))
        return (And if shape == "and" else Or)((draw(inner), draw(inner)))
    shape = draw(st.sampled_from(["compare", "compare", "compare", "in", "null", "like", "nan", "truth"]))
    if shape == "null":
        return IsNull(operand)
    if shape == "like" and kind.name == "string":
        return Like(operand, draw(st.text("ab%_", max_size=4)))
    if shape == "nan" and kind.name in ("float", "double"):
        return IsNan(operand)
    if shape == "truth" and kind.name == "boolean":
        return operand
    literals = constants(draw(st.sampled_from(comparable_types(kind))))
    if shape == "in":
        return In(operand, tuple(draw(st.lists(literals, min_size=1, max_size=3))))
    op = draw(st.sampled_from(get_args(ComparisonOp)))
    literal = draw(literals)
    return draw(st.sampled_from([Compare(op, operand, literal), Compare(op, literal, operand)]))


def comparable_types(kind: DataType) -> list[str]:
    """The types whose constants can be compared with this one; any text only with text."""
    return [
        name
        for name in LEAVES
        if common_type(kind, parse_type(name)) is not None and (name != "string" or kind.name == "string")
    ]


@st.composite
def constants(draw: st.DrawFn, name: str) -> Literal:
    missing = draw(st.integers(0, 9)) == 0
    return Literal(None if missing else draw(LEAVES[name]), parse_type(name))


def assert_sound(predicate: Expr, stats: Containers, tables: list[pa.Table], timezone: str) -> None:
    keep = may_match(predicate, stats, CastOptions(timezone=timezone))
    assert keep.null_count == 0
    for table, kept in zip(tables, keep.to_pylist(), strict=True):
        matches = evaluate(predicate, table, CastOptions(timezone=timezone)).to_pylist().count(True)
        assert kept or not matches


@pytest.mark.parametrize("leaf", LEAVES)
@settings(max_examples=30)
@given(data=st.data())
def test_a_container_with_a_match_is_read(leaf: str, data: st.DataObject) -> None:
    stats = data.draw(containers(leaf))
    kind = parse_type(data.draw(st.sampled_from([leaf, *CASTS])))
    schema = ShreddingSchema.parse(f"struct<a {leaf}>")
    tables = [pa.table({COLUMN: shredded_column(schema, array)}) for array in stats.leaves]
    for place in range(stats.length):
        # Nothing is known of a container whose residual holds anything: its values are of any type.
        if not stats.known_bounds[place] and not stats.known_counts[place]:
            tables[place] = pa.table({COLUMN: data.draw(any_values)})
    predicate = data.draw(predicates(Get(COLUMN, PATH, kind), kind))
    assert_sound(predicate, stats, tables, data.draw(st.sampled_from(ZONES)))


@pytest.mark.parametrize("leaf", LEAVES)
@settings(max_examples=30)
@given(data=st.data())
def test_plain_columns_too(leaf: str, data: st.DataObject) -> None:
    stats = data.draw(containers(leaf))
    kind = parse_type(leaf)
    operand: Expr = Column("c")
    if data.draw(st.booleans()):
        kind = parse_type(data.draw(st.sampled_from(CASTS)))
        operand = Cast(operand, kind)
    tables = [pa.table({"c": array}) for array in stats.leaves]
    assert_sound(data.draw(predicates(operand, kind)), stats, tables, data.draw(st.sampled_from(ZONES)))


any_values = st.lists(
    st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 0, 1, 2**53 + 1, Decimal("1.5"), "a", "NaN", True]),
    min_size=1,
    max_size=4,
).map(lambda values: variants({"a": value} for value in values))


def shredded_column(schema: ShreddingSchema, leaf: pa.Array) -> pa.StructArray:
    """A Variant column of objects whose field `a` is the leaf, missing where the leaf is null."""
    type_ = shredded_type(schema)
    nothing = pa.nulls(len(leaf), pa.binary())
    group = pa.StructArray.from_arrays(
        [nothing, leaf], fields=list(type_.field("typed_value").type.field("a").type)
    )
    typed = pa.StructArray.from_arrays([group], fields=list(type_.field("typed_value").type))
    metadata = pa.array([b"\x11\x01\x00\x01a"] * len(leaf), pa.binary())
    return pa.StructArray.from_arrays([metadata, nothing, typed], fields=list(type_))
