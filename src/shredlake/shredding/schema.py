"""The shredding schema: a tree that defines which parts of a Variant are typed and which stay binary.

```
struct<event_ts bigint, user struct<id bigint, extra variant>, tags array<string>>

Object ─┬─ event_ts ─ Scalar(INT64)
        ├─ user ───── Object ─┬─ id ──── Scalar(INT64)
        │                     └─ extra ─ Untyped            kept as `value` only
        └─ tags ───── Array ─── element ─ Scalar(STRING)
```

The text form is Spark's DDL (`shredding/ddl.py`); the Arrow form is in `kernels/arrow/types.py`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from shredlake.errors import InvalidSchema
from shredlake.variant.identifiers import quote_if_needed
from shredlake.variant.types import DECIMAL_PRECISION, VariantType

MAX_DEPTH: Final = 200
"""The maximum depth of a schema, since Parquet and every engine recurse over it."""

DDL_NAMES: Final[dict[VariantType, str]] = {
    VariantType.BOOLEAN: "boolean",
    VariantType.INT8: "tinyint",
    VariantType.INT16: "smallint",
    VariantType.INT32: "int",
    VariantType.INT64: "bigint",
    VariantType.FLOAT: "float",
    VariantType.DOUBLE: "double",
    VariantType.DECIMAL4: "decimal",
    VariantType.DECIMAL8: "decimal",
    VariantType.DECIMAL16: "decimal",
    VariantType.DATE: "date",
    VariantType.TIME: "time",
    VariantType.TIMESTAMP: "timestamp",
    VariantType.TIMESTAMP_NANOS: "timestamp_nanos",
    VariantType.TIMESTAMP_NTZ: "timestamp_ntz",
    VariantType.TIMESTAMP_NTZ_NANOS: "timestamp_ntz_nanos",
    VariantType.BINARY: "binary",
    VariantType.STRING: "string",
    VariantType.UUID: "uuid",
}
"""The scalar types that can be shredded, and their names in DDL: the specification's table."""


class ArrayElement(enum.Enum):
    """The type of `ARRAY_ELEMENT`."""

    ARRAY_ELEMENT = "*"

    def __repr__(self) -> str:
        return self.name


ARRAY_ELEMENT: Final = ArrayElement.ARRAY_ELEMENT
"""The step from an array node to its element, in the steps of `ShreddingSchema.leaves()`."""

Steps: TypeAlias = tuple[str | ArrayElement, ...]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value of one type. Only decimals have precision and scale.

    >>> from shredlake.variant.types import VariantType
    >>> Scalar(VariantType.INT64)
    Scalar(bigint)
    """

    type: VariantType
    precision: int | None = None
    scale: int | None = None

    def __post_init__(self) -> None:
        if self.type not in DDL_NAMES:
            raise InvalidSchema(f"a scalar can't be shredded as {self.type.name}")
        if self.type not in DECIMAL_PRECISION:
            if self.precision is not None or self.scale is not None:
                raise InvalidSchema(f"{DDL_NAMES[self.type]} does not take a precision or scale")
            return
        if self.precision is None or self.scale is None:
            raise InvalidSchema("a decimal needs a precision and a scale, as in decimal(9,2)")
        if self.type is not decimal_type(self.precision, self.scale):
            wanted = decimal_type(self.precision, self.scale).name
            raise InvalidSchema(
                f"decimal({self.precision},{self.scale}) is a {wanted}, not a {self.type.name}"
            )

    def __repr__(self) -> str:
        return f"Scalar({node_ddl(self)})"


@dataclass(frozen=True, slots=True)
class Object:
    """An object whose named fields are shredded; other fields stay in its `value`. Keeps field order."""

    fields: tuple[tuple[str, Node], ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Schemas are cache keys, so the hash of a deep tree is cached.
        object.__setattr__(self, "_hash", hash(self.fields))
        if not self.fields:
            raise InvalidSchema("an object without fields can't be shredded; use variant")
        seen: set[str] = set()
        for name, _ in self.fields:
            if name in seen:
                raise InvalidSchema(f"field {quote_if_needed(name)} occurs twice")
            seen.add(name)
            try:
                name.encode()
            except UnicodeEncodeError:
                raise InvalidSchema(f"field name {name!r} is not valid Unicode") from None

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Object], tuple[tuple[tuple[str, Node], ...]]]:
        return Object, (self.fields,)  # hashes of strings differ between processes

    def field(self, name: str) -> Node | None:
        """The node of a shredded field, or None if the field is not shredded."""
        return dict(self.fields).get(name)


@dataclass(frozen=True, slots=True)
class Array:
    """An array, all of whose elements are shredded by one node."""

    element: Node


@dataclass(frozen=True, slots=True)
class Untyped:
    """A field or element kept as `value` only; `variant` in DDL."""


Node: TypeAlias = Scalar | Object | Array | Untyped


@dataclass(frozen=True, slots=True)
class ShreddingSchema:
    """The shredding of a Variant column.

    >>> schema = ShreddingSchema.parse("struct<id bigint, tags array<string>, `odd key` variant>")
    >>> str(schema)
    'struct<id bigint, tags array<string>, `odd key` variant>'
    >>> [node_path(steps) for steps, node in schema.leaves()]
    ["$['id']", "$['tags'][*]", "$['odd key']"]
    """

    root: Node

    def __post_init__(self) -> None:
        if depth(self.root) > MAX_DEPTH:
            raise InvalidSchema(f"the schema is nested deeper than {MAX_DEPTH} levels")

    @classmethod
    def parse(cls, ddl: str) -> ShreddingSchema:
        """Parses Spark DDL: `struct<a bigint, b struct<c string>, t array<decimal(9,2)>>`.

        Names that are not plain words are quoted in backticks; `variant` keeps a field as `value` only.
        `timestamp_nanos`, `timestamp_ntz_nanos`, `time` and `uuid` name the types that Spark lacks.

        >>> ShreddingSchema.parse("array<decimal(9,2)>").root
        Array(element=Scalar(decimal(9,2)))
        >>> ShreddingSchema.parse("struct<a uint>")
        Traceback (most recent call last):
        ...
        shredlake.errors.InvalidSchema: unknown type 'uint', at position 9 of 'struct<a uint>', node $['a']...
        """
        from .ddl import parse_node

        return cls(parse_node(ddl))

    def __str__(self) -> str:
        return node_ddl(self.root)

    def nodes(self) -> Iterator[tuple[Steps, Node]]:
        """Every node with the steps to it, parents first, in the schema's order."""
        yield from _walk((), self.root)

    def leaves(self) -> Iterator[tuple[Steps, Node]]:
        """The nodes that hold one value each: scalars and untyped ones."""
        return ((steps, node) for steps, node in self.nodes() if isinstance(node, Scalar | Untyped))


def decimal_type(precision: int, scale: int) -> VariantType:
    """The narrowest decimal type that holds `precision` digits.

    >>> decimal_type(10, 2).name
    'DECIMAL8'
    """
    if not 1 <= precision <= 38:
        raise InvalidSchema(f"decimal({precision},{scale}): the precision must be 1 to 38")
    if not 0 <= scale <= precision:
        raise InvalidSchema(f"decimal({precision},{scale}): the scale must be 0 to {precision}")
    return next(kind for kind, digits in DECIMAL_PRECISION.items() if precision <= digits)


def decimal(precision: int, scale: int) -> Scalar:
    """The node of a decimal.

    >>> decimal(9, 2)
    Scalar(decimal(9,2))
    """
    return Scalar(decimal_type(precision, scale), precision, scale)


def depth(node: Node) -> int:
    """Returns the depth of a node; a scalar has depth one. Iterative, since the input may be very deep."""
    deepest, waiting = 0, [(node, 1)]
    while waiting:
        node, level = waiting.pop()
        deepest = max(deepest, level)
        if isinstance(node, Object):
            waiting.extend((child, level + 1) for _, child in node.fields)
        elif isinstance(node, Array):
            waiting.append((node.element, level + 1))
    return deepest


def node_ddl(node: Node) -> str:
    """The DDL of one node.

    >>> node_ddl(Array(Untyped()))
    'array<variant>'
    """
    match node:
        case Scalar(kind, None, None):
            return DDL_NAMES[kind]
        case Scalar(kind, precision, scale):
            return f"{DDL_NAMES[kind]}({precision},{scale})"
        case Object(fields):
            listed = (f"{quote_if_needed(name)} {node_ddl(child)}" for name, child in fields)
            return f"struct<{', '.join(listed)}>"
        case Array(element):
            return f"array<{node_ddl(element)}>"
        case Untyped():
            return "variant"


def node_path(steps: Steps) -> str:
    """The normalised path (RFC 9535) of a node; `[*]` stands for the elements of an array.

    >>> node_path(("tags", ARRAY_ELEMENT, "it's"))
    "$['tags'][*]['it\\\\'s']"
    """
    return "$" + "".join(
        "[*]" if step is ARRAY_ELEMENT else f"['{_ESCAPED.sub(_escape, str(step))}']" for step in steps
    )


_ESCAPED = re.compile(r"[\x00-\x1f'\\]")
_SHORT_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "'": "\\'", "\\": "\\\\"}


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04x}"


def _walk(steps: Steps, node: Node) -> Iterator[tuple[Steps, Node]]:
    yield steps, node
    match node:
        case Object(fields):
            for name, child in fields:
                yield from _walk((*steps, name), child)
        case Array(element):
            yield from _walk((*steps, ARRAY_ELEMENT), element)
