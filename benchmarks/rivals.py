"""The published rules by which other engines choose what to shred, as data, for comparison.

| rule                | Spark 4.3               | Iceberg                  | DuckDB 2.0                    |
|---------------------|-------------------------|--------------------------|-------------------------------|
| looks at            | the file's first 4,096  | the file's first 100     | the file's first row group    |
| a field must be in  | 10% of the rows         | 10% of the rows, nulls   | one row                       |
|                     |                         | aside                    |                               |
| at most             | 300 columns in all      | 300 fields an object     | no limit                      |
| types that differ   | not typed               | the most common type     | the most common type          |
| integers            | bigint                  | the widest seen          | as read (JSON: bigint)        |
| decimals            | 18 or 38 digits, ints   | as many digits as seen,  | only if all are alike (JSON:  |
|                     | included                | ints apart               | double)                       |
| only nulls          | a variant column        | no column                | an int column                 |
| only empty arrays   | array of variant        | no column                | array of int                  |
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from shredlake.shredding.inference.fit import classes, exact_scalar, fitting
from shredlake.shredding.inference.profile import PathProfile, Profile
from shredlake.shredding.schema import (
    ARRAY_ELEMENT,
    Array,
    Node,
    Object,
    Scalar,
    ShreddingSchema,
    Steps,
    Untyped,
    decimal,
)
from shredlake.variant.types import VariantType


class Mixed(enum.Enum):
    """How a path with values of several types is stored."""

    NOT_TYPED = "not typed"
    MOST_COMMON = "the most common type"


class Budget(enum.Enum):
    """The unit that the limit of a layout counts."""

    COLUMNS = "columns in all"
    FIELDS = "fields of an object"
    NOTHING = "no limit"


class Numbers(enum.Enum):
    """How numbers are typed."""

    MERGED = "ints and decimals are one type; bigint, or 18 or 38 digits"
    APART = "ints as wide as the widest, decimals with the digits seen"
    JSON = "ints are bigint, what has a point is double"


class Empty(enum.Enum):
    """How a path without typed values is stored."""

    VARIANT = "variant"
    DROPPED = "no column"
    INT = "int"


@dataclass(frozen=True, slots=True)
class Rules:
    """One engine's rules."""

    engine: str
    looks_at: int
    """Rows at the start of each file."""
    min_share: float
    budget: Budget
    limit: int
    mixed: Mixed
    numbers: Numbers
    empty: Empty
    counts_nulls: bool


SPARK: Final = Rules(
    "Spark", 4096, 0.1, Budget.COLUMNS, 300, Mixed.NOT_TYPED, Numbers.MERGED, Empty.VARIANT, True
)
ICEBERG: Final = Rules(
    "Iceberg", 100, 0.1, Budget.FIELDS, 300, Mixed.MOST_COMMON, Numbers.APART, Empty.DROPPED, False
)
DUCKDB: Final = Rules(
    "DuckDB", 122_880, 0.0, Budget.NOTHING, 0, Mixed.MOST_COMMON, Numbers.JSON, Empty.INT, True
)
RIVALS: Final = (SPARK, ICEBERG, DUCKDB)

MAX_DEPTH: Final = 50


def infer_by(rules: Rules, profile: Profile) -> ShreddingSchema:
    """The layout that an engine's rules choose, from the profile of the rows it looks at.

    >>> from shredlake.shredding.inference.profile_reference import profile_values
    >>> from shredlake.variant.value import Variant
    >>> rows = [{"status": n if n % 50 else "n/a"} | ({"rare": 1} if n % 40 == 0 else {}) for n in range(100)]
    >>> profile = profile_values(Variant.of(row) for row in rows)
    >>> [str(infer_by(rules, profile)) for rules in RIVALS]
    ['struct<status variant>', 'struct<status tinyint>', 'struct<rare bigint, status bigint>']
    """
    root = _Chooser(rules, profile).node(profile.root, MAX_DEPTH, in_array=False)
    return ShreddingSchema(root if root is not None else Untyped())


def typed_by(rules: Rules, path: PathProfile, node: Node) -> int:
    """How many values of a path go to a typed column; DuckDB reads decimals as doubles."""
    if not isinstance(node, Scalar):
        return 0
    if rules.numbers is Numbers.JSON and node.type is VariantType.DOUBLE:
        return sum(
            count for kind, count in path.types.items() if kind.is_decimal or kind is VariantType.DOUBLE
        )
    return fitting(path, node)


def with_decimals(schema: ShreddingSchema, profile: Profile) -> ShreddingSchema:
    """The layout of an engine that reads fractions as doubles, for data where they are decimals.

    >>> from decimal import Decimal
    >>> from shredlake.shredding.inference.profile_reference import profile_values
    >>> from shredlake.variant.value import Variant
    >>> profile = profile_values([Variant.of({"x": Decimal("1.5")})])
    >>> str(with_decimals(ShreddingSchema.parse("struct<x double>"), profile))
    'struct<x decimal(9,1)>'
    """
    found = dict(profile.paths())

    def change(node: Node, steps: Steps) -> Node:
        match node:
            case Object(fields):
                return Object(tuple((name, change(child, (*steps, name))) for name, child in fields))
            case Array(element):
                return Array(change(element, (*steps, ARRAY_ELEMENT)))
            case Scalar(VariantType.DOUBLE) if any(
                kind.is_decimal for kind in found.get(steps, profile.root).types
            ):
                return exact_scalar(found.get(steps, profile.root))
        return node

    return ShreddingSchema(change(schema.root, ()))


class _Chooser:
    def __init__(self, rules: Rules, profile: Profile) -> None:
        self.rules = rules
        present = profile.rows - profile.nulls
        self.least = max(rules.min_share * present, 1)
        self.columns_left = rules.limit if rules.budget is Budget.COLUMNS else 1 << 30

    def node(self, path: PathProfile, depth: int, *, in_array: bool) -> Node | None:
        """The node of a path; None for no column at all."""
        self.columns_left -= 1
        if self.columns_left <= 0 or depth == 0:
            return Untyped()
        kind = self.kind(path)
        if kind is None:
            return self.without_values()
        if kind is VariantType.NULL:
            return Untyped()
        if kind is VariantType.OBJECT:
            return self.object(path, depth, in_array=in_array)
        if kind is VariantType.ARRAY:
            return self.array(path, depth)
        self.columns_left -= 1
        return self.scalar(path, kind)

    def kind(self, path: PathProfile) -> VariantType | None:
        """The class that types the path; NULL if it is not typed, None if it has no values."""
        counts = classes(path) if self.rules.numbers is Numbers.MERGED else self.separate(path)
        if not counts:
            return None
        if self.rules.mixed is Mixed.NOT_TYPED and len(counts) > 1:
            return VariantType.NULL
        return max(counts, key=lambda kind: (counts[kind], _TIES.index(kind) if kind in _TIES else -1))

    def separate(self, path: PathProfile) -> dict[VariantType, int]:
        """Values by type, ints together, decimals together."""
        counts: dict[VariantType, int] = {}
        for kind, count in path.types.items():
            if kind is VariantType.NULL:
                continue
            if kind.is_integer:
                kind = VariantType.INT64
            elif kind.is_decimal:
                kind = VariantType.DOUBLE if self.rules.numbers is Numbers.JSON else VariantType.DECIMAL16
            counts[kind] = counts.get(kind, 0) + count
        return counts

    def without_values(self) -> Node | None:
        if self.rules.empty is Empty.INT:
            return Scalar(VariantType.INT32)
        return Untyped() if self.rules.empty is Empty.VARIANT else None

    def object(self, path: PathProfile, depth: int, *, in_array: bool) -> Node | None:
        fields = []
        for child in self.kept(path, in_array=in_array):
            if self.columns_left <= 0:
                break
            node = self.node(child, depth - 1, in_array=in_array)
            if node is not None:
                fields.append((str(child.name), node))
        if fields:
            return Object(tuple(fields))
        return Untyped() if self.rules.empty is Empty.VARIANT else None

    def kept(self, path: PathProfile, *, in_array: bool) -> list[PathProfile]:
        """The fields frequent enough, by name; if there are too many, the most frequent."""

        def frequency(child: PathProfile) -> int:
            seen = child.count if in_array or not self.rules.counts_nulls else child.rows
            return seen if self.rules.counts_nulls else seen - child.nulls

        frequent = [
            child for child in path.children if isinstance(child.name, str) and frequency(child) >= self.least
        ]
        if self.rules.budget is not Budget.NOTHING:
            frequent = sorted(frequent, key=lambda child: (-frequency(child), child.name))[: self.rules.limit]
        return sorted(frequent, key=lambda child: str(child.name))

    def array(self, path: PathProfile, depth: int) -> Node | None:
        element = path.by_name.get(ARRAY_ELEMENT)
        if element is None or (self.rules.counts_nulls and element.rows < self.least):
            node = self.without_values()
        else:
            node = self.node(element, depth - 1, in_array=True)
        return Array(node) if node is not None else None

    def scalar(self, path: PathProfile, kind: VariantType) -> Node | None:
        if kind is VariantType.INT64 and self.rules.numbers is Numbers.MERGED:
            return self.merged(path)
        if kind is VariantType.INT64 and self.rules.numbers is Numbers.APART:
            return Scalar(max((seen for seen in path.types if seen.is_integer), key=_WIDTHS.index))
        if kind is VariantType.DECIMAL16:
            whole, scale = max(path.digits, default=1), max(path.scales, default=0)
            return decimal(min(max(whole + scale, 1), 38), min(scale, max(38 - whole, 0)))
        if kind is VariantType.UUID and self.rules is SPARK:
            return Untyped()
        return Scalar(kind)

    def merged(self, path: PathProfile) -> Node:
        whole, scale = max(path.digits, default=1), max(path.scales, default=0)
        if scale == 0 and not any(kind is VariantType.DECIMAL16 for kind in path.types):
            return Scalar(VariantType.INT64)
        if whole + scale > 38:
            return Untyped()
        return decimal(18 if whole + scale <= 18 else 38, scale)


_TIES: Final = [
    VariantType.BOOLEAN,
    VariantType.INT64,
    VariantType.FLOAT,
    VariantType.DOUBLE,
    VariantType.DECIMAL16,
    VariantType.DATE,
    VariantType.TIME,
    VariantType.TIMESTAMP,
    VariantType.TIMESTAMP_NTZ,
    VariantType.BINARY,
    VariantType.STRING,
    VariantType.TIMESTAMP_NANOS,
    VariantType.TIMESTAMP_NTZ_NANOS,
    VariantType.UUID,
]
"""Of two equally common types, the later one in this list wins; objects and arrays come first."""

_WIDTHS: Final = [VariantType.INT8, VariantType.INT16, VariantType.INT32, VariantType.INT64]
