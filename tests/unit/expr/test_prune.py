"""Pruning, case by case: what is dropped, and each way in which a matching row could be lost."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from shredlake.expr import Bounds, Column, Get, may_match, parse_predicate
from shredlake.kernels.cast_options import CastOptions

Range = tuple[Any, Any, int | None, int | None]
"""Minimum, maximum, nulls, rows."""


@dataclass
class Stats:
    """Containers whose one leaf has the given ranges."""

    type: pa.DataType
    ranges: Sequence[Range]
    nan: list[bool | None] | None = None

    @property
    def length(self) -> int:
        return len(self.ranges)

    def bounds(self, ref: Column | Get) -> Bounds | None:
        if getattr(ref, "name", None) == "unknown":
            return None
        low, high, nulls, rows = ([one[part] for one in self.ranges] for part in range(4))
        return Bounds(
            pa.array(low, self.type),
            pa.array(high, self.type),
            pa.array(nulls, pa.int64()),
            pa.array(rows, pa.int64()),
            None if self.nan is None else pa.array(self.nan, pa.bool_()),
        )


def kept(sql: str, stats: Stats, timezone: str = "UTC") -> list[bool]:
    return may_match(
        parse_predicate(sql, CastOptions(timezone=timezone)), stats, CastOptions(timezone=timezone)
    ).to_pylist()


INTS = Stats(pa.int64(), [(0, 9, 0, 10), (10, 19, 5, 10), (None, None, 10, 10), (None, None, None, 10)])


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("v:a::bigint = 5", [True, False, False, True]),
        ("5 = v:a::bigint", [True, False, False, True]),
        ("v:a::bigint <> 5", [True, True, False, True]),
        ("v:a::bigint < 10", [True, False, False, True]),
        ("v:a::bigint <= 10", [True, True, False, True]),
        ("10 > v:a::bigint", [True, False, False, True]),
        ("v:a::bigint > 9", [False, True, False, True]),
        ("v:a::bigint >= 9", [True, True, False, True]),
        ("v:a::bigint IN (30, 12)", [False, True, False, True]),
        ("v:a::bigint IN (30, NULL)", [False, False, False, True]),
        ("v:a::bigint NOT IN (1, NULL)", [False, False, False, False]),
        ("v:a::bigint NOT IN (1)", [True, True, False, True]),
        ("v:a::bigint BETWEEN 9 AND 9", [True, False, False, True]),
        ("NOT v:a::bigint BETWEEN 0 AND 9", [False, True, False, True]),
        ("NOT (v:a::bigint < 10)", [False, True, False, True]),
        ("v:a::bigint IS NULL", [False, True, True, True]),
        ("v:a IS NULL", [False, True, True, True]),
        ("v:a::bigint IS NOT NULL", [True, True, False, True]),
        ("v:a::bigint <=> NULL", [False, True, True, True]),
        ("v:a::bigint <=> 5", [True, False, False, True]),
        ("NOT (v:a::bigint <=> 5)", [True, True, True, True]),
        ("v:a::bigint = NULL", [False, False, False, False]),
        ("v:a::bigint = 5 AND v:a::bigint + 1 > 7", [True, False, False, True]),
        ("v:a::bigint = 5 OR v:a::bigint + 1 > 7", [True, True, True, True]),
        ("v:a::bigint = 5 AND unknown = 3", [True, False, False, True]),
        ("v:a::bigint = 5 OR v:a::bigint = 15", [True, True, False, True]),
        ("NOT (v:a::bigint = 5 OR v:a::bigint >= 10)", [True, False, False, True]),
        ("c < 10", [True, False, False, True]),
        ("1 = 2", [False] * 4),
        ("1 = 1 OR c < 10", [True] * 4),
        ("v:a::bigint = v:b::bigint", [True] * 4),
        ("is_variant_null(v:a)", [True] * 4),
    ],
)
def test_integers(sql: str, expected: list[bool]) -> None:
    assert kept(sql, INTS) == expected


JANUARY = (dt.date(2024, 1, 1), dt.date(2024, 1, 31))


@pytest.mark.parametrize(
    ("leaf", "value_range", "sql", "expected"),
    [
        # Casts that keep the number.
        (pa.int64(), (1, 5), "v:a::int = 7", False),
        (pa.int64(), (-(2**40), 2**40), "v:a::int = 7", True),
        (pa.int32(), (1, 5), "v:a::double > 5.5", False),
        (pa.int32(), (1, 5), "v:a::decimal(10,2) = 4.50", True),
        (pa.decimal128(9, 2), (Decimal("1.00"), Decimal("1.50")), "v:a::decimal(9,2) > 1.501", False),
        (pa.decimal128(9, 2), (Decimal("1.00"), Decimal("1.50")), "v:a::decimal(18,4) > 1.4999", True),
        (pa.float32(), (0.1, 0.2), "v:a::double = 0.1D", False),  # 0.1f is 0.10000000149...
        # Rounding: 1.46 becomes 1.5, so 1.5 is found where the maximum is 1.46.
        (pa.decimal128(9, 2), (Decimal("1.00"), Decimal("1.46")), "v:a::decimal(9,1) = 1.5", True),
        (pa.decimal128(9, 2), (Decimal("1.00"), Decimal("1.44")), "v:a::decimal(9,1) = 1.5", False),
        (pa.int64(), (2**53 + 1, 2**53 + 1), "v:a::double = 9007199254740992D", True),
        (pa.float64(), (1.0, 5.9), "v:a::int >= 6", True),  # loose by one, never tight by one
        (pa.float64(), (1.0, 5.9), "v:a::int = 5", True),
        (pa.float64(), (-5.9, -5.1), "v:a::int = -5", True),
        (pa.decimal128(38, 20), (Decimal("126.9"), Decimal("126." + "9" * 20)), "v:a::tinyint = 127", True),
        (pa.float64(), (0.0, 16777217.0), "v:a::float > 16777217D", True),
        # Casts that do not keep order say nothing.
        (pa.int64(), (2, 10), "v:a::string < '2'", True),  # '10' < '2'
        (pa.string(), ("10", "9"), "v:a::int = 50", True),
        (pa.string(), ("2024-01-01", "2024-12-31"), "v:a::date = DATE '2023-06-01'", True),
        (pa.int64(), (2, 10), "v:a::boolean = false", True),
        (pa.string(), ("a", "b"), "v:a::string = 5", True),
        # Texts compare by their bytes.
        (pa.string(), ("b", "d"), "v:a::string = 'a'", False),
        (pa.string(), ("b", "d"), "v:a::string > 'd'", False),
        (pa.string(), ("Z", "a"), "v:a::string = 'b'", False),
        (pa.string(), ("\uffff", "\U00010000"), "v:a::string = '\U00010000'", True),
        (pa.large_string(), ("b", "d"), "v:a::string = 'a'", False),
        # Prefixes.
        (pa.string(), ("app.feed.like", "app.feed.post"), "v:a::string LIKE 'app.graph%'", False),
        (pa.string(), ("app.feed.like", "app.feed.post"), "v:a::string LIKE 'app.feed%'", True),
        (pa.string(), ("ab", "ac"), "v:a::string LIKE 'abc%'", True),
        (pa.string(), ("b", "c"), "v:a::string LIKE 'a_%'", False),
        (pa.string(), ("b", "c"), "v:a::string LIKE '%a'", True),
        (pa.string(), ("b", "c"), "v:a::string LIKE 'a'", False),
        (pa.string(), ("aa", "ab"), "v:a::string NOT LIKE 'a%'", False),
        (pa.string(), ("aa", "b"), "v:a::string NOT LIKE 'a%'", True),
        (pa.string(), ("aa", "ab"), "v:a::string NOT LIKE 'a%b'", True),
        # A bound that was cut short: 'abc...' has the minimum 'ab' and, rounded up, the maximum 'ac'.
        (pa.string(), ("ab", "ac"), "v:a::string = 'abcdef'", True),
        (pa.string(), ("ab", None), "v:a::string = 'abcdef'", True),
        (pa.string(), ("ab", None), "v:a::string < 'ab'", False),
        (pa.binary(), (b"\x01", b"\xfe"), "v:a::binary = X'ff'", False),
        (pa.bool_(), (False, False), "v:a::boolean", False),
        (pa.bool_(), (False, True), "v:a::boolean", True),
        (pa.bool_(), (True, True), "NOT v:a::boolean", False),
        (pa.date32(), JANUARY, "v:a::date = '2024-02-01'", False),
        (pa.date32(), JANUARY, "v:a::timestamp >= TIMESTAMP '2024-02-02 00:00:00'", False),
        (pa.uuid(), (bytes(16), b"\x10" * 16), "v:a::uuid = '20000000-0000-0000-0000-000000000000'", False),
        (pa.uuid(), (bytes(16), b"\x10" * 16), "v:a::uuid = '10000000-0000-0000-0000-000000000000'", True),
    ],
)  # fmt: skip
def test_leaf_types_and_casts(
    leaf: pa.DataType, value_range: tuple[Any, Any], sql: str, expected: bool
) -> None:
    stats = Stats(pa.binary(16) if leaf == pa.uuid() else leaf, [(*value_range, 0, 10)])
    if leaf == pa.uuid():
        plain = stats.bounds(Column("a"))
        assert plain is not None
        low, high = (pa.ExtensionArray.from_storage(leaf, side) for side in (plain.minimum, plain.maximum))
        stats.bounds = lambda ref: Bounds(low, high, plain.null_count, plain.row_count)  # type: ignore[method-assign]
    assert kept(sql, stats) == [expected]


def test_a_cast_that_may_fail_makes_nulls() -> None:
    wide = Stats(pa.int64(), [(1, 2**40, 0, 10)])
    assert kept("v:a::int IS NULL", wide) == [True]
    assert kept("v:a::bigint IS NULL", wide) == [False]
    assert kept("v:a::double IS NULL", wide) == [False]


FLOATS = [(1.0, 2.0, 0, 10)]


@pytest.mark.parametrize(
    ("sql", "without_nan", "with_nan"),
    [
        ("v:a::double > 5", False, True),  # NaN is greater than everything
        ("v:a::double >= 5", False, True),
        ("v:a::double < 0", False, False),
        ("v:a::double = 5", False, False),
        ("v:a::double <> 5", True, True),
        ("v:a::double = double('NaN')", False, True),
        ("v:a::double >= double('NaN')", False, True),
        ("v:a::double > double('NaN')", False, False),
        ("v:a::double < double('NaN')", True, True),
        ("v:a::double IN (double('NaN'), 7)", False, True),
        ("isnan(v:a::double)", False, True),
        ("NOT (v:a::double <= 5)", False, True),
        ("v:a::int > 5", False, False),  # NaN can't be cast to int
    ],
)
def test_nan(sql: str, without_nan: bool, with_nan: bool) -> None:
    assert kept(sql, Stats(pa.float64(), FLOATS, nan=[False])) == [without_nan]
    assert kept(sql, Stats(pa.float64(), FLOATS, nan=[True])) == [with_nan]
    assert kept(sql, Stats(pa.float64(), FLOATS, nan=[None])) == [with_nan]
    assert kept(sql, Stats(pa.float64(), FLOATS)) == [with_nan]  # whether there is a NaN is unknown
    assert kept(sql, Stats(pa.float32(), FLOATS)) == [with_nan]


def test_nan_as_a_bound_is_no_bound() -> None:
    assert kept("v:a::double < 0", Stats(pa.float64(), [(math.nan, math.nan, 0, 10)], nan=[True])) == [True]


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize(
    "sql", ["v:a::double = 0", "v:a::double = -0.0D", "v:a::double >= 0", "v:a::double <= 0"]
)
def test_both_zeros_are_one(zero: float, sql: str) -> None:
    stats = Stats(pa.float64(), [(zero, zero, 0, 10)], nan=[False])
    assert kept(sql, stats) == [True]
    assert kept("v:a::double <> 0", stats) == [False]


def test_infinities() -> None:
    stats = Stats(
        pa.float64(), [(math.inf, math.inf, 0, 1), (-math.inf, -math.inf, 0, 1)], nan=[False, False]
    )
    assert kept("v:a::double = double('inf')", stats) == [True, False]
    assert kept("v:a::float = float('-inf')", stats)[1]
    assert kept("v:a::float = float('inf')", stats)[0]


def test_time_zones_widen_what_depends_on_them() -> None:
    day = dt.datetime(2024, 3, 10, tzinfo=dt.UTC)
    stats = Stats(pa.timestamp("us", "UTC"), [(day, day, 0, 1)])
    assert kept("v:a::date = DATE '2024-03-09'", stats, "America/Los_Angeles") == [True]
    assert kept("v:a::date = DATE '2024-03-06'", stats, "America/Los_Angeles") == [False]
    assert kept("v:a::timestamp = TIMESTAMP '2024-03-10 00:00:00'", stats) == [True]
    assert kept("v:a::timestamp = TIMESTAMP '2024-03-10 00:00:00'", stats, "Europe/Paris") == [False]
    assert kept("v:a::timestamp > '2024-03-10'", stats) == [False]


def test_nanoseconds_are_cut_to_microseconds() -> None:
    stats = Stats(pa.timestamp("ns", "UTC"), [(1_500, 1_999, 0, 1)])
    assert kept("v:a::timestamp = TIMESTAMP '1970-01-01 00:00:00.000001'", stats) == [True]
    assert kept("v:a::timestamp > TIMESTAMP '1970-01-01 00:00:01'", stats) == [False]


def test_nanoseconds_are_pruned_exactly() -> None:
    stats = Stats(pa.timestamp("ns", "UTC"), [(1_500, 1_999, 0, 1), (2_001, 2_500, 0, 1)])
    assert kept("a = '1970-01-01 00:00:00.000001700Z'", stats) == [True, False]
    assert kept("a > '1970-01-01 00:00:00.000001999Z'", stats) == [False, True]
    assert kept("a IN ('1970-01-01 00:00:00.000002001Z')", stats) == [False, True]


def test_many_options_and_containers() -> None:
    ranges = [(number * 10, number * 10 + 9, 0, 10) for number in range(1000)]
    keep = kept(
        f"v:a::bigint IN ({', '.join(str(number * 1000) for number in range(10))})", Stats(pa.int64(), ranges)
    )
    assert [number for number, flag in enumerate(keep) if flag] == list(range(0, 1000, 100))


def test_a_constant_that_fits_nothing_prunes_nothing() -> None:
    assert kept("v:a::bigint = 'x'", INTS) == [True, True, False, True]  # evaluation reports it


def test_no_containers() -> None:
    assert kept("v:a::bigint = 5 AND v:a::double < 3 OR v:a IS NULL", Stats(pa.int64(), [])) == []


def test_containers_without_rows() -> None:
    assert kept("v:a::bigint = 1", Stats(pa.int64(), [(1, 2, 0, 0)])) == [False]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("v:a::string <=> NULL", [False, True]),
        ("v:a::string <=> CAST(NULL AS STRING)", [False, True]),
        # A string that is not null may be null as a boolean or a number.
        ("v:a::string <=> CAST(NULL AS BOOLEAN)", [True, True]),
        ("v:a::string <=> CAST(NULL AS BIGINT)", [True, True]),
        ("NOT (v:a::string <=> 5)", [True, True]),
    ],
)
def test_a_comparison_may_make_nulls(sql: str, expected: list[bool]) -> None:
    assert kept(sql, Stats(pa.string(), [("", "b", 0, 10), ("", "b", 1, 10)])) == expected
