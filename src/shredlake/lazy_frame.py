"""`scan_polars` and `arrow_dataset`: tables that Polars and DataFusion scan when a query runs.

Polars tells the source which columns it needs and which rows it filters. Columns are projections of our scan.
A filter is translated as far as it means the same in both engines, so that files, row groups and pages are
skipped; Polars then applies the whole filter to the rows that are left.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from shredlake.delta.read.scan import TableScan
from shredlake.expr import types
from shredlake.expr.ast import And, Compare, Expr, In, IsNull, Literal, Not, Or, Projection
from shredlake.kernels.cast_options import CastOptions
from shredlake.parquet.arrow_stream import library
from shredlake.table import Table

if TYPE_CHECKING:
    from polars import LazyFrame
    from pyarrow.dataset import Dataset

_COMPARISONS: Final = {"Eq": "=", "NotEq": "<>", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}

_BETWEEN: Final = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}

_EPOCH: Final = datetime(1970, 1, 1)


def scan_polars(
    table: Table | str | os.PathLike[str],
    columns: str | Sequence[str | Projection] | None = None,
    *,
    strict: bool = False,
    timezone: str = "UTC",
    threads: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> LazyFrame:
    """A table as a Polars `LazyFrame`; `columns` are those of `Table.scan`.

    Only the columns that the query uses are read. Comparisons, `is_in`, `is_between`, `is_null` and their
    combinations, on columns and on typed paths, skip files, row groups and pages.

    >>> import polars as pl
    >>> from shredlake.example import example_table
    >>> frame = scan_polars(example_table("polars"), ["id", "v:a::bigint AS a"])
    >>> frame.filter(pl.col("a") > 10).select("id").collect().rows()
    [(2,)]
    """
    polars, plugins = library("polars"), library("polars.io.plugins")
    opened = table if isinstance(table, Table) else Table(table, storage_options=storage_options)
    options = CastOptions.of(strict=strict, timezone=timezone)
    whole = TableScan(opened.snapshot, columns, None, options=options, threads=threads)
    outputs = {projection.name: projection for projection in whole.query.projections}
    arrow = {field.name: field.type for field in whole.schema}
    schema = polars.DataFrame(whole.schema.empty_table()).schema

    def read(
        with_columns: list[str] | None, predicate: Any, n_rows: int | None, batch_size: int | None
    ) -> Iterator[Any]:
        used = with_columns if with_columns is not None else list(outputs)
        tested = [] if predicate is None else predicate.meta.root_names()
        wanted = list(dict.fromkeys([*used, *tested])) or list(outputs)[:1]
        where = None
        if predicate is not None and n_rows is None:  # a limit comes before the filter
            where = translated(predicate, {name: (outputs[name].expr, arrow[name]) for name in outputs})
        projections = [outputs[name] for name in wanted]
        scan = TableScan(opened.snapshot, projections, where, options=options, threads=threads)
        for batch in (scan if n_rows is None else scan.limit(n_rows)).to_batches():
            for start in range(0, batch.num_rows, batch_size or batch.num_rows):
                frame = polars.DataFrame(batch.slice(start, batch_size or batch.num_rows))
                if predicate is not None:
                    frame = frame.filter(predicate)
                yield frame.select(used)

    frame: LazyFrame = plugins.register_io_source(read, schema=schema, is_pure=True)
    return frame


def arrow_dataset(
    table: Table | str | os.PathLike[str],
    columns: str | Sequence[str | Projection] | None = None,
    *,
    strict: bool = False,
    timezone: str = "UTC",
    threads: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset:
    """A table as a `pyarrow.dataset.Dataset`, e.g. for DataFusion; `columns` are those of `Table.scan`.

    DataFusion reads only the columns that a query uses, and its filters skip files, row groups and pages:
    `SessionContext().register_dataset("events", sl.arrow_dataset(...))`.

    >>> import pyarrow.compute as pc
    >>> from shredlake.example import example_table
    >>> dataset = arrow_dataset(example_table("dataset"), ["id", "v:a::bigint AS a"])
    >>> dataset.scanner(["id"], pc.field("a") > 10).to_table().to_pydict()
    {'id': [2]}
    """
    from shredlake.scan_dataset import ScanDataset  # imports pyarrow.dataset, which imports pandas

    opened = table if isinstance(table, Table) else Table(table, storage_options=storage_options)
    return ScanDataset(opened, columns, CastOptions.of(strict=strict, timezone=timezone), threads)


Columns: TypeAlias = Mapping[str, tuple[Expr, pa.DataType]]


def translated(predicate: Any, columns: Columns) -> Expr | None:
    """A condition that is true in every row for which a Polars predicate is true; None if there is none.

    >>> import polars as pl
    >>> from shredlake.expr import Column
    >>> from shredlake.expr.sql import spelled
    >>> columns = {"a": (Column("id"), pa.int64())}
    >>> spelled(translated((pl.col("a") > 5) & (pl.col("a") % 2 == 0), columns))
    'id > 5'
    """
    return _condition(json.loads(predicate.meta.serialize(format="json")), columns)


def _condition(node: Any, columns: Columns, exact: bool = False) -> Expr | None:
    """A condition that is implied by the node; with `exact`, one that means the same."""
    match node:
        case {"BinaryExpr": {"op": "And" | "LogicalAnd", "left": left, "right": right}}:
            found = [_condition(part, columns, exact) for part in (left, right)]
            parts = tuple(part for part in found if part is not None)
            if exact and len(parts) < 2:
                return None
            return And(parts) if len(parts) == 2 else next(iter(parts), None)
        case {"BinaryExpr": {"op": "Or" | "LogicalOr", "left": left, "right": right}}:
            either = _condition(left, columns, exact), _condition(right, columns, exact)
            return None if either[0] is None or either[1] is None else Or((either[0], either[1]))
        case {"BinaryExpr": {"op": op, "left": {"Column": name}, "right": literal}} if op in _COMPARISONS:
            return _comparison(_COMPARISONS[op], name, literal, columns)
        case {"Column": name} if name in columns and columns[name][1] == pa.bool_():
            return columns[name][0]
        case {"Function": {"input": [inner], "function": {"Boolean": "Not"}}}:
            negated = _condition(inner, columns, exact=True)
            return None if negated is None else Not(negated)
        case {"Function": {"input": [{"Column": name}], "function": {"Boolean": "IsNull"}}}:
            return IsNull(columns[name][0]) if name in columns else None
        case {"Function": {"input": [{"Column": name}], "function": {"Boolean": "IsNotNull"}}}:
            return Not(IsNull(columns[name][0])) if name in columns else None
        case {
            "Function": {
                "input": [{"Column": name}, low, high],
                "function": {"Boolean": {"IsBetween": {"closed": closed}}},
            }
        } if closed in _BETWEEN:
            ends = zip(_BETWEEN[closed], (low, high), strict=True)
            bounds = [_comparison(op, name, bound, columns) for op, bound in ends]
            return None if bounds[0] is None or bounds[1] is None else And((bounds[0], bounds[1]))
        case {
            "Function": {
                "input": [{"Column": name}, {"Literal": {"Scalar": {"List": options}}}],
                "function": {"Boolean": {"IsIn": {"nulls_equal": False}}},
            }
        }:
            return _membership(name, bytes(options), columns)
    return None


def _comparison(op: Any, name: str, literal: Any, columns: Columns) -> Expr | None:
    if name not in columns:
        return None
    expr, type_ = columns[name]
    constant = _literal(literal, type_)
    return None if constant is None else Compare(op, expr, constant)


def _membership(name: str, options: bytes, columns: Columns) -> Expr | None:
    """`is_in` of a list, which Polars serializes as an Arrow stream."""
    if name not in columns:
        return None
    expr, type_ = columns[name]
    kind = _CONSTANTS.get(type_)
    try:
        values = pa.ipc.open_stream(options).read_all().column(0).drop_null().to_pylist()
    except pa.ArrowException:
        return None
    if kind is None or not values or not all(type(value) is kind[0] for value in values):
        return None
    return In(expr, tuple(Literal(value, kind[1]) for value in values))


# The columns whose comparisons mean the same in Polars and here, with the Python type of their constants.
# Polars compares decimals, 32-bit floats, and integers with floats in other types than we do.
_CONSTANTS: Final[Mapping[pa.DataType, tuple[type, types.DataType]]] = {
    pa.bool_(): (bool, types.BOOLEAN),
    pa.int8(): (int, types.BIGINT),
    pa.int16(): (int, types.BIGINT),
    pa.int32(): (int, types.BIGINT),
    pa.int64(): (int, types.BIGINT),
    pa.float64(): (float, types.DOUBLE),
    pa.string(): (str, types.STRING),
    pa.date32(): (date, types.DATE),
    pa.timestamp("us"): (datetime, types.TIMESTAMP_NTZ),
    pa.timestamp("us", "UTC"): (datetime, types.TIMESTAMP),
}


def _literal(node: Any, type_: pa.DataType) -> Literal | None:
    """A constant that Polars compares with a column in the column's own type."""
    kind = _CONSTANTS.get(type_)
    match node:
        case {"Literal": {"Dyn": dict(constant)} | {"Scalar": dict(constant)}} if kind is not None:
            name, value = next(iter(constant.items()))
        case _:
            return None
    python, ours = kind
    match name, value:
        case (("Int" | "Int8" | "Int16" | "Int32" | "Int64"), int()) if python is int and abs(value) < 2**63:
            return Literal(value, ours)
        case (("Float" | "Float64"), float()) if python is float:
            return Literal(value, ours)
        case "String", str() if python is str:
            return Literal(value, ours)
        case "Boolean", bool() if python is bool:
            return Literal(value, ours)
        case "Date", int() if python is date:
            return _moment(lambda: (_EPOCH + timedelta(days=value)).date(), ours)
        case "Datetime", [int(micros), "Microseconds", zone] if python is datetime:
            if (zone is None) != (ours == types.TIMESTAMP_NTZ):
                return None
            start = _EPOCH if zone is None else _EPOCH.replace(tzinfo=UTC)
            return _moment(lambda: start + timedelta(microseconds=micros), ours)
    return None


def _moment(make: Callable[[], date], kind: types.DataType) -> Literal | None:
    try:
        return Literal(make(), kind)
    except OverflowError:  # Python ends at the year 9999
        return None
