"""How the files of one layout serve a path: as a plain column that Spark reads, or through our own reader.

| the path leads to                           | in the file                                     | served as |
|---------------------------------------------|-------------------------------------------------|-----------|
| a typed leaf whose `value` is empty         | every value is in `typed_value`                 | TYPED     |
| a typed leaf whose `value` holds something  | most values in `typed_value`, some in `value`   | MIXED     |
| nothing shredded, under an empty `value`    | no value at all                                 | ABSENT    |
| anything else                               | inside a `value`, or of a type Spark can't read | WORKER    |

TYPED, MIXED and ABSENT are SQL over the columns of the file, so Spark prunes to the leaf and pushes filters
down to row groups and pages. WORKER is read by the Python worker with pyarrow and our kernels.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from shredlake.expr.ast import And, Column, Compare, Expr, Get, In, Literal, Or, name_parts
from shredlake.parquet.layout import ColumnLayout
from shredlake.shredding.schema import ARRAY_ELEMENT, Array, Node, Object, Scalar, Steps, node_ddl, node_path
from shredlake.variant.types import VariantType


class Service(enum.Enum):
    """Who answers for a path."""

    TYPED = "typed"
    MIXED = "typed, and some rows from value"
    ABSENT = "always null"
    WORKER = "read by the worker"


Names = tuple[str | int, ...]
"""The way to a column of a file: names of groups, and the index where the way leads into a list."""


@dataclass(frozen=True)
class Served:
    """How one path is answered from the files of one layout."""

    service: Service
    sql: str = "NULL"
    """The value of a typed row, as SQL over the file's columns."""
    typed: Names = ()
    """The column that holds it, and its type in Spark."""
    typed_ddl: str = ""
    fails: str = "false"
    """Where a typed row has a value that does not cast, as SQL, if that is to be an error."""
    residual: Names = ()
    """The `value` beside it, where a row may be stored instead."""
    never_null: frozenset[Names] = field(default=frozenset(), compare=False)
    """The groups on the way to it that are there wherever the group above them is."""
    reason: str = ""
    """Why it is not simply TYPED, for `explain()`."""


NATIVE: Final = frozenset(VariantType) - {
    VariantType.NULL,
    VariantType.TIME,
    VariantType.UUID,
    VariantType.TIMESTAMP_NANOS,
    VariantType.TIMESTAMP_NTZ_NANOS,
    VariantType.OBJECT,
    VariantType.ARRAY,
}
"""The types of leaves that every supported Spark reads as plain columns."""

INTEGERS: Final = ("tinyint", "smallint", "int", "bigint")
DECIMALS: Final = ("decimal",)
NUMBERS: Final = (*INTEGERS, *DECIMALS)

# Casts for which Spark's own CAST of a plain column is what variant_get does with the value in it.
# Not here: decimals to text (a Variant drops trailing zeros), and whatever the tests have not compared.
SAME_CAST: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(INTEGERS, (*INTEGERS, "decimal", "float", "double", "string")),
    "decimal": (*INTEGERS, "decimal", "float", "double"),
    "float": ("float", "double", "string"),
    "double": ("double", "string"),
    "boolean": ("boolean", "string"),
    "string": ("string", *INTEGERS, "decimal", "float", "double", "date", "timestamp", "timestamp_ntz"),
    "binary": ("binary", "string"),
    "date": ("date", "string"),
    "timestamp": ("timestamp",),
    "timestamp_ntz": ("timestamp_ntz",),
}


def serve(get: Get, column: str, layout: ColumnLayout | None) -> Served:
    """Plans one path over files of one layout; `column` is the Variant's physical name, dotted.

    >>> from shredlake.expr.parse import parse_columns
    >>> from shredlake.shredding.schema import ShreddingSchema
    >>> schema = ShreddingSchema.parse("struct<user struct<id bigint>, kind string>")
    >>> layout = ColumnLayout(schema, frozenset({"$['user']['id']"}))
    >>> def show(sql):
    ...     [projection] = parse_columns([sql])
    ...     served = serve(projection.expr, "v", layout)
    ...     return served.service.name, served.sql
    >>> show("v:kind::string")
    ('TYPED', '`v`.`typed_value`.`kind`.`typed_value`')
    >>> show("v:user.id::int")
    ('MIXED', 'try_cast(`v`.`typed_value`.`user`.`typed_value`.`id`.`typed_value` AS int)')
    >>> show("v:nowhere::int"), show("v:user::string")[0]
    (('ABSENT', 'NULL'), 'WORKER')
    """
    if layout is None:
        return Served(Service.WORKER, reason=f"{get.column} is not shredded")
    if get.type is None:
        return Served(Service.WORKER, reason=f"{get.path} is asked for as a Variant")
    names: list[str | int] = list(name_parts(column))
    node: Node = layout.schema.root
    steps: Steps = ()
    objects = layout.objects or ()
    never_null = {tuple(names)} if len(names) == 1 and "$" in objects else set()
    for step in get.path.steps:
        child = _child(node, step)
        if child is None:
            return _inside_value(get, steps, layout)
        if isinstance(node, Object) and _collides(node, str(step)):
            return Served(Service.WORKER, reason=f"{get.path}: Spark does not tell names apart by case")
        if isinstance(step, str) and not step:
            return Served(Service.WORKER, reason=f"{get.path}: Spark has no empty names")
        if node_path(steps) in objects:
            never_null.add((*names, "typed_value"))
        names += ["typed_value", step]
        if layout.objects is not None and isinstance(step, str):
            never_null.add(tuple(names))
        node = child
        steps = (*steps, ARRAY_ELEMENT if isinstance(step, int) else step)
    if not isinstance(node, Scalar):
        if isinstance(node, (Object, Array)):
            return Served(Service.WORKER, reason=f"{get.path} is an object or array here, cast as a whole")
        return _inside_value(get, steps, layout)
    if node.type not in NATIVE:
        return Served(Service.WORKER, reason=f"{get.path} is stored as {node_ddl(node)}, which Spark lacks")
    leaf, have, want = sql_of((*names, "typed_value")), node_ddl(node), get.type.name
    if have != want and family(want) not in SAME_CAST[family(have)]:
        return Served(Service.WORKER, reason=f"{get.path} is {have}, read as {want}")
    # A CAST that can fail does not do so outside of ANSI mode; one that can't is better understood by Spark.
    sure = always_casts(have, want)
    cast = leaf if have == want else f"{'cast' if sure else 'try_cast'}({leaf} AS {want})"
    mixed = node_path(steps) in layout.residual
    return Served(
        Service.MIXED if mixed else Service.TYPED,
        cast,
        (*names, "typed_value"),
        have,
        f"({leaf} IS NOT NULL AND {cast} IS NULL)" if get.strict and not sure else "false",
        (*names, "value") if mixed else (),
        frozenset(never_null),
        f"{get.path} is mixed" if mixed else "",
    )


def _inside_value(get: Get, steps: Steps, layout: ColumnLayout) -> Served:
    """A path that ends above all shredded columns lives in the `value` of the deepest level on its way."""
    if node_path(steps) in layout.residual:
        return Served(Service.WORKER, reason=f"{get.path} is not shredded")
    return Served(Service.ABSENT)


def _child(node: Node, step: str | int) -> Node | None:
    if isinstance(node, Object) and isinstance(step, str):
        return dict(node.fields).get(step)
    if isinstance(node, Array) and isinstance(step, int):
        return node.element
    return None


def _collides(node: Object, name: str) -> bool:
    return sum(other.casefold() == name.casefold() for other, _ in node.fields) > 1


def family(ddl: str) -> str:
    """A type without its parameters."""
    return ddl.partition("(")[0]


DIGITS: Final = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
"""Digits of the largest numbers."""


def always_casts(have: str, want: str) -> bool:
    """Whether every value of one type has one in the other.

    >>> always_casts("int", "bigint"), always_casts("bigint", "int"), always_casts("int", "decimal(12,2)")
    (True, False, True)
    """
    source, target = family(have), family(want)
    if have == want or (target in ("float", "double") and source not in ("string",)):
        return True
    if target == "string":
        return source in (*INTEGERS, "float", "double", "boolean", "date", "binary")
    if source in INTEGERS and target in INTEGERS:
        return INTEGERS.index(source) <= INTEGERS.index(target)
    if target == "decimal":
        precision, scale = _parameters(want)
        if source in INTEGERS:
            return precision - scale >= DIGITS[source]
        if source == "decimal":
            own_precision, own_scale = _parameters(have)
            return scale >= own_scale and precision - scale >= own_precision - own_scale
    return False


def _parameters(ddl: str) -> tuple[int, int]:
    precision, scale = ddl.partition("(")[2].rstrip(")").split(",")
    return int(precision), int(scale)


def sql_of(names: Names) -> str:
    """A column of a file as Spark SQL: fields in backticks, elements of lists by `get`, which is null beyond.

    >>> sql_of(("v", "typed_value", "tags", "typed_value", 0, "typed_value"))
    'get(`v`.`typed_value`.`tags`.`typed_value`, 0).`typed_value`'
    """
    text = ""
    for name in names:
        if isinstance(name, int):
            text = f"get({text}, {name})"
        else:
            quoted = "`" + name.replace("`", "``") + "`"
            text = f"{text}.{quoted}" if text else quoted
    return text


def read_schema(columns: Mapping[Names, str], never_null: Collection[Names] = ()) -> str:
    """The DDL of a read that touches these columns and nothing else.

    >>> print(read_schema({("id",): "bigint", ("v", "typed_value", "a", "value"): "binary",
    ...                    ("v", "typed_value", "a", "typed_value"): "int"}))
    `id` bigint, `v` struct<`typed_value`: struct<`a`: struct<`value`: binary, `typed_value`: int>>>
    >>> read_schema({("v", "typed_value"): "int"}, [("v",)])
    '`v` struct<`typed_value`: int> NOT NULL'
    """
    tree: dict[str | int, object] = {}
    for names, ddl in columns.items():
        below = tree
        for name in names[:-1]:
            below = below.setdefault(0 if isinstance(name, int) else name, {})  # type: ignore[assignment]
        below[names[-1]] = ddl

    def render(node: object, way: Names) -> str:
        if not isinstance(node, dict):
            return str(node)
        if 0 in node:
            return f"array<{render(node[0], (*way, 0))}>"
        return f"struct<{', '.join(fields(node, way, ': '))}>"

    def fields(node: dict[str | int, object], above: Names, between: str) -> Iterator[str]:
        for name, child in node.items():
            way = (*above, name)
            quoted = "`" + str(name).replace("`", "``") + "`"
            yield f"{quoted}{between}{render(child, way)}{' NOT NULL' if way in never_null else ''}"

    return ", ".join(fields(tree, (), " "))


def is_false_of_null(node: Expr) -> bool:
    """Whether an expression of such nodes alone is never true of a null."""
    if isinstance(node, Compare):
        return node.op != "<=>"
    return isinstance(node, And | Or | In | Column | Get | Literal)


def is_narrowed(ref: Column | Get, group: Mapping[Get, Served]) -> bool:
    """Whether the path is a whole column of integers, read as narrower ones."""
    served = group.get(ref) if isinstance(ref, Get) else None
    return (
        isinstance(ref, Get)
        and served is not None
        and ref.type is not None
        and served.typed_ddl in INTEGERS
        and ref.type.name in INTEGERS
        and not always_casts(served.typed_ddl, ref.type.name)
        and not any(isinstance(name, int) for name in served.typed)
    )
