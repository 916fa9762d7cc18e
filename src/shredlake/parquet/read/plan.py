"""Plans one query over many files of different layouts, with the same slots and output types for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from shredlake.errors import InvalidExpression, InvalidFile, InvalidSchema
from shredlake.expr.ast import Column, Expr, Get, Projection, join_name, name_parts
from shredlake.expr.evaluate import evaluate, matching
from shredlake.kernels.arrow.extension import with_marks
from shredlake.kernels.arrow.types import variant
from shredlake.kernels.cast_options import DEFAULT, CastOptions
from shredlake.parquet.nested import replace_variants
from shredlake.parquet.read.access import Access
from shredlake.parquet.read.bind import Binder, Bound, Presence, Reference, View, Viewed, column_of, prunable
from shredlake.parquet.read.open_file import OpenFile
from shredlake.parquet.read.statistics import Extreme
from shredlake.parquet.read.window import Live, Task

INSTANT = pa.timestamp("us", "UTC")
"""The meaning of INT96 to its writers; Arrow does not know the zone and reads it as a local time."""

VIEW_TYPES: Mapping[View, pa.DataType] = {"variant": variant(), "json": pa.string()}


@dataclass(frozen=True)
class Plan:
    """The tasks of a query, one per file."""

    tasks: tuple[Task, ...]
    schema: pa.Schema
    predicate: Expr | None
    options: CastOptions


def make_plan(
    files: Sequence[OpenFile],
    projections: Sequence[Projection] | None,
    predicate: Expr | None,
    *,
    views: View | Mapping[str, View],
    options: CastOptions = DEFAULT,
    live: Mapping[OpenFile, Live] | None = None,
    indexes: bool = False,
    runs: Mapping[str, Extreme] | None = None,
    check: bool = False,
    output_types: Sequence[pa.DataType | None] | None = None,
) -> Plan:
    """Plans a query over files; `live` marks the rows of some files that are not deleted.

    With `indexes`, strings may be returned dictionary-encoded; `runs` is
    that of `Task`. With `check`, the predicate is checked to be
    boolean, which the caller has not done. `output_types` are the types of the projections; None means
    unknown, and the type is then found by evaluating the projection over no rows.
    """
    if projections is None:
        projections = [Projection(name, Column(join_name((name,)))) for name in _top_level(files)]
    binder = Binder()
    lenient = options.overridden_by(False)  # types are found by evaluating no rows, where no cast fails
    conditions = binder.predicate(predicate)
    outputs = [binder.projection(each, _view(views, each.expr)) for each in projections]
    types = {reference: _type(reference, files) for reference in binder.slots}
    known_types = output_types or [None] * len(projections)
    schema = pa.schema(
        [
            with_marks(pa.field(each.name, known or _output_type(output, binder.slots, types, lenient)))
            for each, output, known in zip(projections, outputs, known_types, strict=True)
        ]
    )
    for condition in conditions if check else ():
        matching(condition.expr, _empty(condition, binder.slots, types), lenient)
    known = prunable([predicate] if predicate is not None else [])
    tasks = []
    for file in files:
        accesses = {reference: _access(file, reference) for reference in binder.slots}
        statistics = {reference: file.columns.access(reference) for reference in known}
        task = Task(
            file=file, slots=binder.slots, accesses=accesses, statistics=statistics, types=types,
            conditions=_cheapest_first(file, conditions, accesses), outputs=outputs, schema=schema,
            options=options, live=(live or {}).get(file), indexes=indexes, runs=runs,
        )  # fmt: skip
        tasks.append(task)
    return Plan(tuple(tasks), schema, predicate, options)


def _top_level(files: Iterable[OpenFile]) -> list[str]:
    return list(dict.fromkeys(name for file in files for name in file.arrow_schema.names))


def _view(views: View | Mapping[str, View], expr: Expr) -> View:
    if isinstance(views, str):
        return views
    return views.get(expr.name, "variant") if isinstance(expr, Column) else "variant"


def _access(file: OpenFile, reference: Reference) -> Access | None:
    match reference:
        case Presence(name):
            return file.columns.presence(name_parts(name))
        case Viewed(name, "struct"):
            return file.columns.raw(name_parts(name))
        case Viewed(name):
            return file.columns.access(Column(name))
        case _:
            return file.columns.access(reference)


def _type(reference: Reference, files: Sequence[OpenFile]) -> pa.DataType:
    """The type of a reference in all files together."""
    found: list[tuple[OpenFile, pa.DataType]] = []
    for file in files:
        type_ = _type_in(reference, file)
        if type_ is not None and all(type_ != known for _, known in found):
            found.append((file, type_))
    if not found:
        name = column_of(reference)
        raise InvalidExpression(
            f"no file has a column {name!r}; the columns are: {', '.join(_top_level(files))}"
        )
    first, unified = found[0]
    for file, type_ in found[1:]:
        try:
            both = [pa.schema([("column", unified)]), pa.schema([("column", type_)])]
            unified = pa.unify_schemas(both, promote_options="permissive").field(0).type
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InvalidSchema(
                f"{column_of(reference)} is {unified} in {first.name} and {type_} in {file.name}. "
                "Read the files separately"
            ) from error
    return unified


def _type_in(reference: Reference, file: OpenFile) -> pa.DataType | None:
    try:
        node = file.columns.find(name_parts(column_of(reference)))
    except InvalidFile as error:
        raise InvalidFile(f"{file.name}: {error}") from error
    if node is None:
        return None
    if isinstance(reference, Presence):
        return pa.bool_()
    if isinstance(reference, Get):
        return variant() if reference.type is None else reference.type.arrow
    if node.physical == "int96":
        return INSTANT
    type_ = file.arrow_schema.field(node.path[0]).type
    for name in node.path[1:]:
        type_ = type_.field(name).type
    view = reference.view if isinstance(reference, Viewed) else "variant"
    if view == "struct":
        return type_
    empty = pa.nulls(0, VIEW_TYPES[view])
    return replace_variants(pa.nulls(0, type_), node, file.columns.all_variants, lambda *_: empty).type


def _output_type(
    output: Bound,
    slots: Mapping[Reference, str],
    types: Mapping[Reference, pa.DataType],
    options: CastOptions,
) -> pa.DataType:
    """The type of an output column, found by evaluating it over no rows."""
    empty = _empty(output, slots, types)
    if isinstance(output.expr, Column):
        return empty.column(0).type
    return evaluate(output.expr, empty, options).type


def _empty(bound: Bound, slots: Mapping[Reference, str], types: Mapping[Reference, pa.DataType]) -> pa.Table:
    """An empty table of the columns that an expression reads."""
    slot_types = {slots[reference]: pa.nulls(0, types[reference]) for reference in bound.references}
    return pa.table(slot_types or {"rows": pa.nulls(0)})


def _cheapest_first(
    file: OpenFile, conditions: Sequence[Bound], accesses: Mapping[Reference, Access | None]
) -> tuple[Bound, ...]:
    """Sorts conditions by the bytes of their leaves: cheap ones leave fewer rows for the others."""

    def cost(condition: Bound) -> int:
        found = [accesses[reference] for reference in condition.references]
        columns = frozenset().union(*(access.columns | access.residuals for access in found if access))
        return sum(file.chunks.chunk(0, column).extent[1] for column in columns) if len(file.chunks) else 0

    return tuple(sorted(conditions, key=cost))
