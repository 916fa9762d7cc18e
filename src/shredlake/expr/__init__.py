"""Spark SQL expressions over columns and Variant paths, shared by all scans.

Modules in reading order: `types`, `ast`, `parse` (columns and conditions of a query; with `grammar`,
`tokens`, `parse_errors` and `constants`), `sort_key`, `evaluate` (with `coerce`, `arithmetic` and `like`),
`prune` (with `cast_bounds`), `sql` (back to text).
"""

from shredlake.expr.ast import (
    And,
    Arithmetic,
    Cast,
    Column,
    Compare,
    Expr,
    Get,
    In,
    IsNan,
    IsNull,
    IsVariantNull,
    Like,
    Literal,
    Negate,
    Not,
    Or,
    Projection,
    all_of,
    conjuncts,
    join_name,
    name_parts,
    references,
)
from shredlake.expr.evaluate import evaluate, resolve
from shredlake.expr.parse import parse_columns, parse_predicate
from shredlake.expr.prune import Bounds, StatsSource, may_match
from shredlake.expr.sql import to_sql
from shredlake.expr.types import DataType, from_arrow, parse_type

__all__ = [
    "And",
    "Arithmetic",
    "Bounds",
    "Cast",
    "Column",
    "Compare",
    "DataType",
    "Expr",
    "Get",
    "In",
    "IsNan",
    "IsNull",
    "IsVariantNull",
    "Like",
    "Literal",
    "Negate",
    "Not",
    "Or",
    "Projection",
    "StatsSource",
    "all_of",
    "conjuncts",
    "evaluate",
    "from_arrow",
    "join_name",
    "may_match",
    "name_parts",
    "parse_columns",
    "parse_predicate",
    "parse_type",
    "references",
    "resolve",
    "to_sql",
]
