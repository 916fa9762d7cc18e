"""Thousands of damaged Variants, the same for the same seed, for tests that hold for any bytes."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

from fuzz.damage import change_bytes
from shredlake.variant.scalars import (
    Date,
    Decimal4,
    Decimal8,
    Decimal16,
    Float32,
    Int8,
    Int16,
    Int32,
    Int64,
    Timestamp,
    TimestampNanos,
    TimestampNtzNanos,
)
from shredlake.variant.value import Variant

SCALARS: list[object] = [
    None, True, False, Int8(-1), Int16(300), Int32(70_000), Int64(2**62), 1.5, Float32(0.1), Decimal4("1.10"),
    Decimal8("-12345678.90"), Decimal16("12345678912345678.90"), date(2025, 4, 16), Date(2**31 - 1),
    time(12, 33, 54), datetime(2025, 4, 16), datetime(2025, 4, 16, tzinfo=UTC), Timestamp(2**62),
    TimestampNanos(1), TimestampNtzNanos(-1), UUID(int=7), b"", b"\x00\xff" * 9, "", "short", "é😀",
    "long" * 30,
]  # fmt: skip

ODD_NUMBERS: list[object] = [
    0.0, -0.0, 1e7, 9999999.0, 1e-3, 9.99e-4, 123456789.0, 1e21, 1e22, 1.5e300, 5e-324, 1e-323, 2e-323,
    1e-322, 2.2250738585072014e-308, 1.7976931348623157e308, math.nan, math.inf, -math.inf, 0.1, 1 / 3,
    Float32(0.1), Float32(1e-45), Float32(3e-45), Float32(3.4028235e38), Float32(16777216.0), Float32(-1e-3),
    Date(-(2**31)), Date(0), Date(2**31 - 1), Timestamp(-(2**63)), Timestamp(2**63 - 1), TimestampNanos(-1),
]  # fmt: skip
"""Numbers and dates at the limits of their types, and those that printers get wrong."""

SEEDS: list[Variant] = [
    *map(Variant.of, SCALARS),
    Variant.of(SCALARS),
    Variant.of({f"field {index}": scalar for index, scalar in enumerate(SCALARS)}),
    Variant.of({"a": {"b": {"c": [1, [2, [3, {"a": None}]]]}}, "\uffff": 1, "\U00010000": 2}),
    Variant.of([{"id": index, "name": f"user {index}", "tags": ["x", "y"]} for index in range(5)]),
    Variant.of({f"key {index}": index for index in range(300)}),
    Variant.of([[]] * 300),
    Variant.of({"price": Decimal("1.10"), "": {"": {"": []}}}),
]


def mutated(count: int, seed: int) -> Iterator[tuple[bytes, bytes]]:
    """`count` pairs of metadata and value, most of them damaged in a place or a few."""
    source = random.Random(seed)
    for _ in range(count):
        variant = source.choice(SEEDS)
        metadata, value = variant.metadata, variant.value
        if source.random() < 0.1:
            metadata = source.choice(SEEDS).metadata
        if source.random() < 0.4:
            metadata = change_bytes(metadata, source)
        if source.random() < 0.9:
            value = change_bytes(value, source)
        yield metadata, value


def large_texts(dice: random.Random) -> list[str]:
    """JSON of more than 1,000 entries, and of up to 1,000 levels: what makes the stacks of kernels grow."""
    count, depth = dice.randrange(1000, 6000), dice.randrange(60, 1000)
    numbers = ",".join(str(number) for number in range(count))
    fields = ",".join(f'"key {number}":{number}' for number in range(count))
    return [
        f"[{numbers}]",
        f"{{{fields}}}",
        '{"a":' * depth + "1" + "}" * depth,
        "[" * depth + "1" + "]" * depth,
        '[{"a":' * (depth // 2) + f"[{numbers}]" + "}]" * (depth // 2),
    ]
