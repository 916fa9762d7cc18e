"""Enforces a table's constraints (NOT NULL, CHECK, invariants) and fills in defaults and generated columns.

The log stores all expressions as Spark SQL. The local evaluator supports a subset of Spark SQL. If a table
has an expression outside that subset, the write is refused before anything is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.protocol.properties import TableProperties
from shredlake.delta.read.conform import conform, fit
from shredlake.delta.schema import partitions
from shredlake.delta.schema.change_feed import check_feed
from shredlake.delta.schema.types import Array, DeltaType, Field, Map, Struct, arrow_schema, arrow_type, walk
from shredlake.errors import ConstraintViolation, InvalidExpression, InvalidSchema, UnsupportedExpression
from shredlake.expr import Expr, parse_columns, parse_predicate
from shredlake.expr.evaluate import evaluate, matching
from shredlake.expr.parse import check_condition
from shredlake.kernels import from_arrow, from_json, to_json
from shredlake.kernels.arrow.types import is_variant

if TYPE_CHECKING:
    from sqlglot import exp

GENERATED = "delta.generationExpression"
INVARIANT = "delta.invariants"
DEFAULT = "CURRENT_DEFAULT"

LONGEST_SHOWN = 200
"""The maximum number of characters of a value that an error message shows."""


@dataclass(frozen=True)
class Check:
    """A boolean expression that must be true for every row; null violates it."""

    name: str
    text: str
    kind: str


def checks_of(schema: Struct, properties: Mapping[str, str]) -> Iterator[Check]:
    """Yields the CHECK constraints and invariants of a table."""
    for name, text in TableProperties(properties).checks.items():
        yield Check(name, text, "CHECK constraint")
    for name, item in walk(schema):
        if INVARIANT in item.metadata:
            yield Check(name, _invariant_text(item.metadata[INVARIANT], name), "invariant")


def _invariant_text(raw: Any, name: str) -> str:
    try:
        return str(json.loads(raw)["expression"]["expression"])
    except (ValueError, LookupError, TypeError, RecursionError):
        raise InvalidSchema(f"the invariant of column {name} can't be read: {raw!r}") from None


def check_definitions(schema: Struct, properties: Mapping[str, str]) -> None:
    """Refuse definitions that no engine accepts: generated Variants, and expressions that do not parse."""
    for name, item in walk(schema):
        if GENERATED in item.metadata and item.type == "variant":
            raise InvalidSchema(
                f"column {name} is generated and of type variant; a generated column may read a variant but "
                "can't be one. Give it the type of a path of the variant"
            )
    check_feed(schema, TableProperties(properties))
    for check in checks_of(schema, properties):
        with suppress(UnsupportedExpression):  # Spark may support it; our own writes will refuse it
            _parsed_check(check, schema)


# ── Filling in ──────────────────────────────────────────────────────────────────────────────────────────


def check_generated(schema: Struct) -> None:
    """Refuse generated columns whose expression reads a missing column or another generated column.

    >>> made = {GENERATED: "nope + 1"}
    >>> check_generated(Struct((Field("id", "long"), Field("n", "long", metadata=made))))
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidExpression: generated column n: column nope does not exist; ...
    """
    for name, item in walk(schema):
        if GENERATED in item.metadata and item not in schema.fields:
            raise InvalidSchema(f"{name} is generated, but only whole columns can be, not fields of them")
    plain = [item for item in schema.fields if GENERATED not in item.metadata]
    rows = arrow_schema(Struct(tuple(plain))).empty_table()
    for item in schema.fields:
        if GENERATED in item.metadata:
            with suppress(UnsupportedExpression):  # Spark may support it
                _generated(item, rows)


def complete(
    table: pa.Table,
    schema: Struct,
    partition_columns: Sequence[str] = (),
    *,
    first_row: int | None = 0,
) -> pa.Table:
    """Conform rows to the table, and fill in missing columns that are generated or have a default.

    If the rows include a generated column, its values must equal its expression. Partition values are
    converted to the values that will be read back, so that constraints check the stored values.

    >>> made = {GENERATED: "a + 1"}
    >>> schema = Struct((Field("a", "long"), Field("b", "long", metadata=made)))
    >>> complete(pa.table({"a": [1, None]}), schema).column("b").to_pylist()
    [2, None]
    """
    present = {name.casefold() for name in table.column_names}
    given = {
        item.name: default_values(item, table.num_rows)
        for item in schema.fields
        if DEFAULT in item.metadata and item.name.casefold() not in present
    }
    full = conform(table, schema, given, first_row=first_row)
    for name in partition_columns:
        place = full.schema.get_field_index(name)
        values = partitions.stored(full.column(place), schema.fields[place].type)
        full = full.set_column(place, full.field(place), values)
    for item in schema.fields:
        if GENERATED not in item.metadata:
            continue
        values = _generated(item, full)
        if item.name in partition_columns:
            values = partitions.stored(values, item.type)
        if item.name.casefold() in present:
            _check_generated(full, item, values)
        else:
            full = full.set_column(full.schema.get_field_index(item.name), full.field(item.name), values)
    return full


def _generated(item: Field, rows: pa.Table) -> pa.ChunkedArray:
    found = _evaluated(str(item.metadata[GENERATED]), rows, f"generated column {item.name}")
    return fit(found, item.type, item.name)


def default_values(item: Field, count: int) -> pa.Array:
    """Returns a column of `count` rows that all hold the default value of a field."""
    text, what = item.metadata[DEFAULT], f"default of column {item.name}"
    one = pa.table({"\0": pa.array([True])})
    value = _variant_default(text, what) if item.type == "variant" else _evaluated(text, one, what)
    fitted = fit(value, item.type, item.name).combine_chunks()
    return fitted.take(pa.array([0] * count, pa.int64()))


def _variant_default(text: str, what: str) -> pa.ChunkedArray:
    """Evaluate the default of a Variant column: NULL, `parse_json('...')`, or a constant cast to variant."""
    from sqlglot import exp

    one = pa.table({"\0": pa.array([True])})
    match parsed(text, what):
        case exp.ParseJSON(this=exp.Literal(is_string=True, this=document)):
            return pa.chunked_array([from_json(pa.array([document]))])
        case exp.Cast(this=inner, to=kind) if kind.is_type("variant"):
            return pa.chunked_array([from_arrow(_evaluated(inner.sql("databricks"), one, what).chunk(0))])
        case _:
            return _evaluated(text, one, what)


def parsed(text: str, what: str) -> exp.Expr:
    """Parses an expression from the log into a syntax tree."""
    from sqlglot.errors import ParseError, SqlglotError

    from shredlake.expr.tokens import SPARK, spark_tokens

    try:
        trees = SPARK.parser().parse(spark_tokens(text), text)
    except SqlglotError as error:
        raise refused(what, text, error) from None
    if len(trees) != 1 or trees[0] is None:
        raise refused(what, text, ParseError("expected one expression"))
    return trees[0]


def _evaluated(text: str, table: pa.Table, what: str) -> pa.ChunkedArray:
    with _named(what, text):
        found = evaluate(parse_columns([text])[0].expr, table)
    return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])


def _check_generated(table: pa.Table, item: Field, expected: pa.ChunkedArray) -> None:
    column = table.column(item.name)
    both_null = pc.and_(pc.is_null(column), pc.is_null(expected))
    same = pc.or_(both_null, pc.fill_null(pc.equal(column, expected), False))
    row = _first_false(same)
    if row is not None:
        raise ConstraintViolation(
            f"row {row}: generated column {item.name} is {column[row].as_py()!r}, but its expression "
            f"{item.metadata[GENERATED]} gives {expected[row].as_py()!r}; leave the column out to have it "
            "filled in"
        )


def refused(what: str, text: str, error: Exception) -> UnsupportedExpression:
    """Returns the error for an expression that only Spark can evaluate."""
    return UnsupportedExpression(
        f"{what}: the local evaluator does not know {text!r} ({error}). Nothing was written; write through "
        "Spark "
        "(shredlake.spark), which evaluates any expression"
    )


@contextmanager
def _named(what: str, text: str) -> Iterator[None]:
    """Names the constraint or column in errors about its expression."""
    try:
        yield
    except UnsupportedExpression as error:
        raise refused(what, text, error) from None
    except InvalidExpression as error:
        raise InvalidExpression(f"{what}: {error}") from None


def _parsed_check(check: Check, schema: Struct) -> Expr:
    with _named(f"{check.kind} {check.name}", check.text):
        parsed_text = parse_predicate(check.text)
        check_condition(parsed_text, pa.schema(list(arrow_type(schema))))
    return parsed_text


def _checked(check: Check, expr: Expr, table: pa.Table) -> pa.Array:
    with _named(f"{check.kind} {check.name}", check.text):
        return matching(expr, table)


# ── Enforcing ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Constraints:
    """The constraints of a table, parsed once per write."""

    schema: Struct
    checks: tuple[tuple[Check, Expr], ...]

    @staticmethod
    def of(schema: Struct, properties: Mapping[str, str]) -> Constraints:
        found = []
        for check in checks_of(schema, properties):
            found.append((check, _parsed_check(check, schema)))
        return Constraints(schema, tuple(found))

    def enforce(self, table: pa.Table, first_row: int | None = 0) -> None:
        """Raises `ConstraintViolation` if a row of a conformed table violates a constraint.

        Errors number the rows from `first_row`; pass None if row numbers would mean nothing to the caller.

        >>> from shredlake.delta.schema.types import Field
        >>> constraints = Constraints.of(Struct((Field("id", "long", nullable=False),)), {})
        >>> constraints.enforce(pa.table({"id": pa.array([1, None], pa.int64())}))
        Traceback (most recent call last):
        ...
        shredlake.errors.ConstraintViolation: row 1 has no value for id, which is NOT NULL; ...
        """
        for item in self.schema.fields:
            if item.nullable and not _demands(item.type):
                continue
            column = table.column(item.name).combine_chunks()
            broken = _first_null(column, item.type, item.nullable, item.name, np.arange(len(column)))
            if broken is not None:
                raise ConstraintViolation(
                    f"{_numbered(first_row, broken[0])} has no value for {broken[1]}, which is NOT NULL; "
                    "nothing was written"
                )
        for check, expr in self.checks:
            held = _checked(check, expr, table)
            row = _first_false(held)
            if row is not None:
                raise ConstraintViolation(
                    f"{_numbered(first_row, row)} breaks the {check.kind} {check.name} ({check.text}): "
                    f"{shown(table, row)}"
                )


Rows = np.ndarray[tuple[int], np.dtype[np.int64]]


def _first_null(
    column: pa.Array, kind: DeltaType, nullable: bool, where: str, rows: Rows
) -> tuple[int, str] | None:
    """Returns the row and name of the first null in a NOT NULL field; `rows` maps each value to its row."""
    if not nullable and column.null_count:
        return int(rows[pc.index(pc.is_null(column), True).as_py()]), where
    if not _demands(kind):
        return None
    rows = rows[column.is_valid().to_numpy(zero_copy_only=False)]
    for child, inner, owners in _children(column.drop_null(), kind):
        found = _first_null(inner, child.type, child.nullable, f"{where}.{child.name}", rows[owners])
        if found is not None:
            return found
    return None


def _children(column: pa.Array, kind: DeltaType) -> Iterator[tuple[Field, pa.Array, Any]]:
    """Yields the children of a struct, list or map column, each with the row that every value belongs to."""
    match kind:
        case Struct():
            for child in kind.fields:
                yield child, pc.struct_field(column, [child.name]), slice(None)
        case Array():
            owners = pc.list_parent_indices(column).to_numpy()
            yield Field("element", kind.element, kind.contains_null), pc.list_flatten(column), owners
        case Map():
            dense = column.take(pa.array(np.arange(len(column))))  # entries start at the first row
            owners = np.repeat(np.arange(len(dense)), np.diff(dense.offsets.to_numpy()))
            yield Field("key", kind.key, False), dense.keys, owners
            yield Field("value", kind.value, kind.value_contains_null), dense.items, owners


def _demands(kind: DeltaType) -> bool:
    """Whether a type contains a field, element or value that is NOT NULL."""
    match kind:
        case Struct():
            return any(not child.nullable or _demands(child.type) for child in kind.fields)
        case Array():
            return not kind.contains_null or _demands(kind.element)
        case Map():
            return not kind.value_contains_null or _demands(kind.value)
        case _:
            return False


def _first_false(held: pa.Array | pa.ChunkedArray) -> int | None:
    row = int(pc.index(held, False).as_py())
    return None if row < 0 else row


def _numbered(first_row: int | None, row: int) -> str:
    return "a row" if first_row is None else f"row {first_row + row}"


def shown(table: pa.Table, row: int) -> str:
    """Format a row for an error message: on one line, with long values truncated and Variants as JSON."""
    parts = []
    for name in table.column_names:
        value = table.column(name).slice(row, 1)
        text = repr(value[0].as_py())
        if is_variant(value.type) and value.null_count == 0:
            text = str(to_json(value)[0].as_py())
        parts.append(f"{name}={text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + '...'}")
    return ", ".join(parts).replace("\n", " ")
