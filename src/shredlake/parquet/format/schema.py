"""A Parquet schema as a tree that prints in the notation of the format's documents.

```
required group schema {
  optional group event (VARIANT(1)) {
    required binary metadata;
    optional binary value;
    optional int64 typed_value (TIMESTAMP(true, MICROS));
  }
}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from shredlake.errors import InvalidFile
from shredlake.parquet.format.thrift import Struct

MAX_SCHEMA_DEPTH: Final = 256
"""The maximum depth of a schema: a Variant of 100 nested objects has twice as many levels."""

# Field numbers of SchemaElement, and of the union LogicalType.
ELEMENT_TYPE: Final = 1
ELEMENT_TYPE_LENGTH: Final = 2
ELEMENT_REPETITION: Final = 3
ELEMENT_NAME: Final = 4
ELEMENT_NUM_CHILDREN: Final = 5
ELEMENT_CONVERTED_TYPE: Final = 6
ELEMENT_SCALE: Final = 7
ELEMENT_PRECISION: Final = 8
ELEMENT_LOGICAL_TYPE: Final = 10

LOGICAL_DECIMAL: Final = 5
LOGICAL_TIME: Final = 7
LOGICAL_TIMESTAMP: Final = 8
LOGICAL_INTEGER: Final = 10
LOGICAL_VARIANT: Final = 16

PHYSICAL_TYPES: Final = (
    "boolean",
    "int32",
    "int64",
    "int96",
    "float",
    "double",
    "binary",
    "fixed_len_byte_array",
)
REPETITIONS: Final = ("required", "optional", "repeated")
TIME_UNITS: Final = {1: "MILLIS", 2: "MICROS", 3: "NANOS"}

PLAIN_LOGICAL_TYPES: Final = {
    1: "STRING",
    2: "MAP",
    3: "LIST",
    4: "ENUM",
    6: "DATE",
    11: "UNKNOWN",
    12: "JSON",
    13: "BSON",
    14: "UUID",
    15: "FLOAT16",
    17: "GEOMETRY",
    18: "GEOGRAPHY",
}
"""Logical types without parameters, or whose parameters are not printed."""

CONVERTED_TYPES: Final = (
    "STRING",
    "MAP",
    "MAP_KEY_VALUE",
    "LIST",
    "ENUM",
    "DECIMAL",
    "DATE",
    "TIME(true, MILLIS)",
    "TIME(true, MICROS)",
    "TIMESTAMP(true, MILLIS)",
    "TIMESTAMP(true, MICROS)",
    "INT(8, false)",
    "INT(16, false)",
    "INT(32, false)",
    "INT(64, false)",
    "INT(8, true)",
    "INT(16, true)",
    "INT(32, true)",
    "INT(64, true)",
    "JSON",
    "BSON",
    "INTERVAL",
)
"""Converted types of old files, named as the equivalent logical types."""


@dataclass(frozen=True)
class SchemaNode:
    """A group or a leaf of a Parquet schema."""

    name: str
    repetition: str
    physical: str | None
    """The physical type of a leaf; None for a group."""
    annotation: str | None
    """The logical type as text, such as `STRING`, `LIST`, `TIMESTAMP(true, MICROS)` or `VARIANT(1)`."""
    children: tuple[SchemaNode, ...]
    path: tuple[str, ...]
    """The names from below the root to this node."""
    index: int
    """Position among the footer's schema elements."""
    column: int | None
    """Position among the leaves, which is the column's position in each row group. None for a group."""
    length: int | None = None
    """Bytes of a fixed_len_byte_array."""

    @property
    def dotted(self) -> str:
        """The column's name in pyarrow's notation."""
        return ".".join(self.path)

    @property
    def is_group(self) -> bool:
        return self.physical is None

    def child(self, name: str) -> SchemaNode | None:
        found = self.by_name.get(name)
        return found[0] if found else None

    @cached_property
    def by_name(self) -> dict[str, list[SchemaNode]]:
        """The children by name. Only malformed files have several children with the same name."""
        found: dict[str, list[SchemaNode]] = {}
        for child in self.children:
            found.setdefault(child.name, []).append(child)
        return found

    def find(self, path: Sequence[str]) -> SchemaNode:
        node = self
        for name in path:
            step = node.child(name)
            if step is None:
                raise InvalidFile(f"the Parquet schema has no {'.'.join(path)!r}")
            node = step
        return node

    def walk(self) -> Iterator[SchemaNode]:
        """Yields this node and all nodes below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def leaves(self) -> Iterator[SchemaNode]:
        return (node for node in self.walk() if not node.is_group)

    def __str__(self) -> str:
        return "\n".join(_lines(self, 0))


def _lines(node: SchemaNode, depth: int) -> Iterator[str]:
    indent = "  " * depth
    note = f" ({node.annotation})" if node.annotation else ""
    if not node.is_group:
        length = f"({node.length})" if node.length is not None else ""
        yield f"{indent}{node.repetition} {node.physical}{length} {node.name}{note};"
        return
    yield f"{indent}{node.repetition} group {node.name}{note} {{"
    for child in node.children:
        yield from _lines(child, depth + 1)
    yield f"{indent}}}"


def schema_tree(elements: Sequence[Struct]) -> SchemaNode:
    """Builds the tree from the footer's flat, depth-first list of elements."""
    position = columns = 0

    def build(parents: tuple[str, ...]) -> SchemaNode:
        nonlocal position, columns
        if position >= len(elements):
            raise InvalidFile(f"the Parquet schema ends early: {len(elements)} elements are not enough")
        if len(parents) > MAX_SCHEMA_DEPTH:
            raise InvalidFile(f"the Parquet schema nests deeper than {MAX_SCHEMA_DEPTH}")
        index, element = position, elements[position]
        position += 1
        name = _name(element)
        path = (*parents, name) if index else ()
        count = element.integer(ELEMENT_NUM_CHILDREN) or 0
        physical = element.integer(ELEMENT_TYPE)
        if count < 0 or (count and physical is not None):
            raise InvalidFile(f"the Parquet schema has {name!r} with {count} fields and the type {physical}")
        column = None
        if physical is not None and not count:
            column, columns = columns, columns + 1
        children = tuple(build(path) for _ in range(count))
        return SchemaNode(
            name=name,
            repetition=_one_of(REPETITIONS, element.integer(ELEMENT_REPETITION) or 0, name),
            physical=None if column is None else _one_of(PHYSICAL_TYPES, physical or 0, name),
            annotation=_annotation(element),
            children=children,
            path=path,
            index=index,
            column=column,
            length=element.integer(ELEMENT_TYPE_LENGTH) if physical == 7 else None,
        )

    root = build(())
    if position != len(elements):
        raise InvalidFile(f"the Parquet schema has {len(elements) - position} elements outside its root")
    return root


def _name(element: Struct) -> str:
    raw = element.binary(ELEMENT_NAME) or b""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidFile(f"the Parquet schema has a name that is not UTF-8: {raw!r} ({error})") from error


def _one_of(words: Sequence[str], number: int, name: str) -> str:
    if not 0 <= number < len(words):
        raise InvalidFile(
            f"the Parquet schema gives {name!r} the unknown number {number}, expected one of {words}"
        )
    return words[number]


def _annotation(element: Struct) -> str | None:
    logical = element.struct(ELEMENT_LOGICAL_TYPE)
    if logical is not None and logical.fields:
        number = next(iter(logical))
        return _logical_text(number, logical.struct(number) or Struct())
    converted = element.integer(ELEMENT_CONVERTED_TYPE)
    if converted is None or not 0 <= converted < len(CONVERTED_TYPES):
        return None
    text = CONVERTED_TYPES[converted]
    if text == "DECIMAL":
        return f"DECIMAL({element.integer(ELEMENT_PRECISION)}, {element.integer(ELEMENT_SCALE) or 0})"
    return text


def _logical_text(number: int, parameters: Struct) -> str:
    match number:
        case _ if number in PLAIN_LOGICAL_TYPES:
            return PLAIN_LOGICAL_TYPES[number]
        case _ if number == LOGICAL_DECIMAL:
            return f"DECIMAL({parameters.integer(2)}, {parameters.integer(1) or 0})"
        case _ if number in (LOGICAL_TIME, LOGICAL_TIMESTAMP):
            kind = "TIME" if number == LOGICAL_TIME else "TIMESTAMP"
            unit = next(iter(parameters.struct(2) or {}), 0)
            return f"{kind}({_lower(parameters.flag(1))}, {TIME_UNITS.get(unit, '?')})"
        case _ if number == LOGICAL_INTEGER:
            return f"INT({parameters.integer(1)}, {_lower(parameters.flag(2))})"
        case _ if number == LOGICAL_VARIANT:
            version = parameters.integer(1)
            return "VARIANT" if version is None else f"VARIANT({version})"
        case _:
            return f"UNKNOWN_{number}"


def _lower(flag: bool | None) -> str:
    return "true" if flag else "false"
