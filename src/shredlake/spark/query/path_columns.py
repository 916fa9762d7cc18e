"""Decides how to read a path from files of one layout: as a plain Spark column, or with shredlake's reader.

| the path leads to                           | in the file                                     | served as |
|---------------------------------------------|-------------------------------------------------|-----------|
| a typed leaf whose `value` is empty         | every value is in `typed_value`                 | TYPED     |
| a typed leaf whose `value` holds something  | most values in `typed_value`, some in `value`   | MIXED     |
| nothing shredded, under an empty `value`    | no value at all                                 | ABSENT    |
| anything else                               | inside a `value`, or of a type Spark can't read | WORKER    |

Spark reads TYPED, MIXED and ABSENT paths as columns of the file, so it prunes columns and pushes filters down
to row groups and pages. Python workers read WORKER paths with pyarrow and shredlake's kernels.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from shredlake.expr.ast import And, Column, Compare, Expr, Get, In, Literal, Or, name_parts
from shredlake.expr.types import PRESENT, from_arrow
from shredlake.parquet.variant_columns import ColumnLayout
from shredlake.shredding.schema import (
    ARRAY_ELEMENT,
    Array,
    Node,
    Object,
    Scalar,
    Steps,
    Untyped,
    node_ddl,
    node_path,
)
from shredlake.spark.arrow import DIGITS
from shredlake.spark.columns import Names
from shredlake.variant.types import VariantType


class Service(enum.Enum):
    """The way in which a path is read."""

    TYPED = "typed"
    MIXED = "typed, and some rows from value"
    ABSENT = "always null"
    WORKER = "read by the worker"


@dataclass(frozen=True)
class Served:
    """How one path is read from files of one layout."""

    service: Service
    typed: Names = ()
    """The column that holds typed values. `typed_ddl` is its type in Spark."""
    typed_ddl: str = ""
    cast: str = ""
    """The conversion to the requested type: `cast`, `try_cast`, or empty for none."""
    may_fail: bool = False
    """Whether a typed value may fail to cast, and such a failure must raise an error."""
    residual: Names = ()
    """The `value` column next to it, which may hold a row's value instead."""
    never_null: frozenset[Names] = field(default=frozenset(), compare=False)
    """The groups on the path to the column that are null only if their parent group is null."""
    reason: str = ""
    """Why the service is not TYPED, for `explain()`."""
    fields: tuple[tuple[str, Served], ...] = ()
    """For an object that is read as a struct: how each field is read. The object is there if `typed` is."""
    present: tuple[Names, ...] = ()
    """For a question whether there is a value: columns and groups, one of which is not null if there is."""
    element: Served | None = None
    """For an array that is read as an array: how its elements are read, by names within an element."""

    def columns(self) -> Iterator[tuple[Names, str]]:
        """The columns with typed values that are read, and their types."""
        if self.element is not None:
            yield from (((*self.typed, 0, *names), ddl) for names, ddl in self.element.columns())
        elif self.fields:
            for _, field_ in self.fields:
                yield from field_.columns()
        elif self.typed:
            yield self.typed, self.typed_ddl


NATIVE: Final = frozenset(VariantType) - {
    VariantType.NULL,
    VariantType.TIME,
    VariantType.UUID,
    VariantType.TIMESTAMP_NANOS,
    VariantType.TIMESTAMP_NTZ_NANOS,
    VariantType.OBJECT,
    VariantType.ARRAY,
}
"""The leaf types that every supported Spark version reads as plain columns."""

INTEGERS: Final = ("tinyint", "smallint", "int", "bigint")
DECIMALS: Final = ("decimal",)
NUMBERS: Final = (*INTEGERS, *DECIMALS)

# Casts for which Spark's CAST of a plain column gives the same result as variant_get on the value.
# Decimals to strings are missing (a Variant drops trailing zeros), and so are casts that no test compares.
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
    """Decides how to read one path from files of one layout. `column` is the Variant's dotted physical name.

    >>> from shredlake.expr.parse import parse_columns
    >>> from shredlake.shredding.schema import ShreddingSchema
    >>> schema = ShreddingSchema.parse("struct<user struct<id bigint>, kind string>")
    >>> layout = ColumnLayout(schema, frozenset({"$['user']['id']"}))
    >>> def show(sql):
    ...     [projection] = parse_columns([sql])
    ...     served = serve(projection.expr, "v", layout)
    ...     return served.service.name, ".".join(served.typed), served.cast
    >>> show("v:kind::string")
    ('TYPED', 'v.typed_value.kind.typed_value', '')
    >>> show("v:user.id::int")
    ('MIXED', 'v.typed_value.user.typed_value.id.typed_value', 'try_cast')
    >>> show("v:nowhere::int")[0], show("v:user::string")[0]
    ('ABSENT', 'WORKER')
    """
    if get.type == PRESENT and not get.path.steps:
        group = name_parts(column)
        always = layout is not None and len(group) == 1 and "$" in (layout.objects or ())
        never: frozenset[Names] = frozenset([group] if always else [])
        return Served(Service.TYPED, (*group, "metadata"), "binary", never_null=never, present=(group,))
    if layout is None:
        return Served(Service.WORKER, reason=f"{get.column} is not shredded")
    if get.type is None:
        return Served(Service.WORKER, reason=f"{get.path} is read as a Variant")
    level = _level(get, column, layout)
    if isinstance(level, Served):
        return level
    found = _at_level(get, level, layout)
    return replace(found, never_null=level.never_null) if found.typed else found


@dataclass(frozen=True)
class _Level:
    """The level of a shredded Variant to which a path leads."""

    node: Node
    names: Names
    """The group that holds its `value` and `typed_value`."""
    steps: Steps
    mixed: bool
    """Whether its `value` holds something."""
    never_null: frozenset[Names]


def _level(get: Get, column: str, layout: ColumnLayout) -> _Level | Served:
    """The level of a path; or how the path is read if it has no level, or one that Spark can't find."""
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
            return Served(Service.WORKER, reason=f"{get.path}: Spark ignores case in names")
        if isinstance(step, str) and not step:
            return Served(Service.WORKER, reason=f"{get.path}: Spark does not support empty names")
        if node_path(steps) in objects:
            never_null.add((*names, "typed_value"))
        names += ["typed_value", step]
        if layout.objects is not None and isinstance(step, str):
            never_null.add(tuple(names))
        node = child
        steps = (*steps, ARRAY_ELEMENT if isinstance(step, int) else step)
    return _Level(node, tuple(names), steps, node_path(steps) in layout.residual, frozenset(never_null))


def _at_level(get: Get, level: _Level, layout: ColumnLayout) -> Served:
    """How to read what the path leads to: whether there is a value, a leaf, or an object or array."""
    node, typed = level.node, (*level.names, "typed_value")
    if get.type == PRESENT:
        return _presence(node, level.names, level.mixed) or _not_seen(get)
    if isinstance(node, Scalar):
        return _leaf(get, node, level)
    if isinstance(node, (Object, Array)):
        reason = f"{get.path} is an object or array here, cast as a whole"
        whole = _whole(get, node, typed, level.steps, layout)
        return whole or Served(Service.WORKER, reason=reason)
    return _inside_value(get, level.steps, layout)


def _leaf(get: Get, node: Scalar, level: _Level) -> Served:
    """How to read a typed leaf, and the values of other types in its `value`."""
    assert get.type is not None
    if node.type not in NATIVE:
        return Served(Service.WORKER, reason=f"{get.path} is stored as {node_ddl(node)}, which Spark lacks")
    have, want = node_ddl(node), get.type.name
    cast = _cast(have, want)
    if cast is None:
        return Served(Service.WORKER, reason=f"{get.path} is {have}, read as {want}")
    return Served(
        Service.MIXED if level.mixed else Service.TYPED,
        typed=(*level.names, "typed_value"),
        typed_ddl=have,
        cast=cast,
        may_fail=bool(get.strict) and cast == "try_cast",
        residual=(*level.names, "value") if level.mixed else (),
        reason=f"{get.path} is mixed" if level.mixed else "",
    )


def _cast(have: str, want: str) -> str | None:
    """The conversion of a typed column as `Served.cast`; None if Spark's is not that of variant_get.

    Outside ANSI mode, a failing CAST does not raise. Where a cast can't fail, Spark optimises CAST better.
    """
    if have == want:
        return ""
    if family(want) not in SAME_CAST[family(have)]:
        return None
    return "cast" if always_casts(have, want) else "try_cast"


def _presence(node: Node, level: Names, mixed: bool) -> Served | None:
    """How to read whether there is a value at a level of a Variant; None if Spark can read no column for it.

    A group is null if every column below it is, so one column of `typed_value` is enough.
    """
    leaf: Names = (*level, "typed_value")
    while not isinstance(node, Scalar):
        if isinstance(node, Array):
            node, leaf = node.element, (*leaf, 0, "typed_value")
        elif isinstance(node, Object):
            typed = [one for one in node.fields if not isinstance(one[1], Untyped)]
            if not typed or not typed[0][0] or _collides(node, typed[0][0]):
                return None
            node, leaf = typed[0][1], (*leaf, typed[0][0], "typed_value")
        else:
            return None
    if node.type not in NATIVE:
        return None
    value = (*level, "value") if mixed else ()
    present = ((*level, "typed_value"), *([value] if mixed else []))
    return Served(Service.TYPED, typed=leaf, typed_ddl=node_ddl(node), residual=value, present=present)


def _not_seen(get: Get) -> Served:
    return Served(Service.WORKER, reason=f"no column tells whether {get.path} is there")


def _whole(get: Get, node: Object | Array, typed: Names, steps: Steps, layout: ColumnLayout) -> Served | None:
    """Reads an object as a struct or an array as an array, if its typed columns hold everything asked for.

    A value of another type is null, so what `value` holds matters only to a cast that must not fail.
    """
    assert get.type is not None
    kind = get.type.arrow
    if get.strict and node_path(steps) in layout.residual:
        return None
    if isinstance(node, Object) and pa.types.is_struct(kind):
        found = []
        for item in kind:
            child = dict(node.fields).get(item.name)
            if child is None and node_path(steps) in layout.residual:
                return None
            served = Served(Service.ABSENT)
            if child is not None:
                inner = _part(
                    get, item.type, child, (*typed, item.name, "typed_value"), (*steps, item.name), layout
                )
                if inner is None or _collides(node, item.name) or not item.name:
                    return None
                served = inner
            found.append((item.name, served))
        absent = all(one.service is Service.ABSENT for _, one in found)
        return (
            None
            if absent
            else Served(Service.TYPED, typed=typed, typed_ddl=get.type.name, fields=tuple(found))
        )
    if isinstance(node, Array) and pa.types.is_list(kind):
        below = (*steps, ARRAY_ELEMENT)
        element = _part(get, kind.value_type, node.element, ("typed_value",), below, layout)
        return element and Served(Service.TYPED, typed=typed, typed_ddl=get.type.name, element=element)
    return None


def _part(
    get: Get, kind: pa.DataType, node: Node, typed: Names, steps: Steps, layout: ColumnLayout
) -> Served | None:
    """How a part of a whole is read; None if its typed column does not hold all of it."""
    wanted = from_arrow(kind)
    if node_path(steps) in layout.residual:
        return None
    if isinstance(node, (Object, Array)):
        return _whole(replace(get, type=wanted), node, typed, steps, layout)
    if not isinstance(node, Scalar) or node.type not in NATIVE:
        return None
    have = node_ddl(node)
    cast = _cast(have, wanted.name)
    if cast is None or (get.strict and cast == "try_cast"):
        return None
    return Served(Service.TYPED, typed=typed, typed_ddl=have, cast=cast)


def _inside_value(get: Get, steps: Steps, layout: ColumnLayout) -> Served:
    """Handles a path without a column of its own, stored in the `value` of its deepest shredded level."""
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
    """The name of a type without its parameters."""
    return ddl.partition("(")[0]


def always_casts(have: str, want: str) -> bool:
    """Whether every value of the type `have` can be cast to the type `want`.

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


def read_schema(columns: Mapping[Names, Any], never_null: Collection[Names] = ()) -> dict[str, Any]:
    """The schema of a read of exactly these columns, in Spark's JSON format.

    Types in `columns` are in the same format. In DDL, Spark would substitute `${env:HOME}` even within names.

    >>> read = read_schema({("v", "typed_value", 0, "typed_value"): "long"}, [("v",)])
    >>> StructType = __import__("pyspark.sql.types").sql.types.StructType
    >>> StructType.fromJson(read).simpleString(), read["fields"][0]["nullable"]
    ('struct<v:struct<typed_value:array<struct<typed_value:bigint>>>>', False)
    """
    tree: dict[str | int, Any] = {}
    for names, kind in columns.items():
        below = tree
        for name in names[:-1]:
            below = below.setdefault(0 if isinstance(name, int) else name, _Group())
        below[names[-1]] = kind

    def render(node: Any, way: Names) -> Any:
        if not isinstance(node, _Group):
            return node
        if 0 in node:
            return {"type": "array", "elementType": render(node[0], (*way, 0)), "containsNull": True}
        return struct(node, way)

    def struct(node: Mapping[str | int, Any], above: Names) -> dict[str, Any]:
        return {"type": "struct", "fields": [
            {
                "name": name,
                "type": render(child, (*above, name)),
                "nullable": (*above, name) not in never_null,
                "metadata": {},
            }
            for name, child in node.items()
        ]}  # fmt: skip

    return struct(tree, ())


class _Group(dict[str | int, Any]):
    """A group of columns in a file."""


def is_false_of_null(node: Expr) -> bool:
    """Whether an expression made only of such nodes is never true for null."""
    if isinstance(node, Compare):
        return node.op != "<=>"
    return isinstance(node, And | Or | In | Column | Get | Literal)


def is_narrowed(ref: Column | Get, group: Mapping[Get, Served]) -> bool:
    """Whether the path is an integer column, outside any list, that is read as a narrower integer type."""
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
