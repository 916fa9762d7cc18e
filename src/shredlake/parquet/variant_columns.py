"""Finds the Variants of a file: the columns of every level of a shredded group.

```
optional group v (VARIANT(1)) {        VariantColumn  metadata, root ─┐
  required binary metadata;                                           │
  optional binary value;               Level $        value, typed ◀──┘
  optional group typed_value {           │
    required group a {                   └─ fields["a"]
      optional binary value;           Level $['a']   value, typed
      optional int64 typed_value;
} } }
```

Columns are found by name, never by position; fields whose names start with `_` are ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from shredlake.errors import InvalidSchema
from shredlake.parquet.format.schema import SchemaNode
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
    node_path,
)
from shredlake.variant.types import VariantType

SCALAR_COLUMNS: Final[dict[tuple[str, str | None], VariantType]] = {
    ("boolean", None): VariantType.BOOLEAN,
    ("int32", "INT(8, true)"): VariantType.INT8,
    ("int32", "INT(16, true)"): VariantType.INT16,
    ("int32", None): VariantType.INT32,
    ("int32", "INT(32, true)"): VariantType.INT32,
    ("int64", None): VariantType.INT64,
    ("int64", "INT(64, true)"): VariantType.INT64,
    ("float", None): VariantType.FLOAT,
    ("double", None): VariantType.DOUBLE,
    ("int32", "DATE"): VariantType.DATE,
    ("int64", "TIME(false, MICROS)"): VariantType.TIME,
    ("int64", "TIMESTAMP(true, MICROS)"): VariantType.TIMESTAMP,
    ("int64", "TIMESTAMP(true, NANOS)"): VariantType.TIMESTAMP_NANOS,
    ("int64", "TIMESTAMP(false, MICROS)"): VariantType.TIMESTAMP_NTZ,
    ("int64", "TIMESTAMP(false, NANOS)"): VariantType.TIMESTAMP_NTZ_NANOS,
    ("binary", None): VariantType.BINARY,
    ("binary", "STRING"): VariantType.STRING,
    ("fixed_len_byte_array", "UUID"): VariantType.UUID,
}
"""Physical and logical type of a `typed_value` to its Variant type; decimals are handled by precision."""

DECIMAL_CARRIERS: Final = ("int32", "int64", "binary", "fixed_len_byte_array")
_DECIMAL: Final = re.compile(r"DECIMAL\((\d+), (\d+)\)")


@dataclass(frozen=True)
class Level:
    """One level of a Variant: the group that contains `value` and `typed_value`."""

    steps: Steps
    node: Node
    """The schema of `typed_value`; `Untyped` if there is none."""
    value: SchemaNode | None
    """The residual's column, if the file has one."""
    typed: SchemaNode | None
    """`typed_value`: a leaf for a scalar, a group for an object or array."""
    fields: Mapping[str, Level]
    element: Level | None

    @property
    def path(self) -> str:
        """The normalised path, with `[*]` for array elements."""
        return node_path(self.steps)

    def walk(self) -> Iterator[Level]:
        """Yields this level and all levels below it, parents first."""
        yield self
        for child in self.fields.values():
            yield from child.walk()
        if self.element is not None:
            yield from self.element.walk()


@dataclass(frozen=True)
class VariantColumn:
    """A Variant column of a file, at any depth."""

    group: SchemaNode
    metadata: SchemaNode
    root: Level

    @property
    def name(self) -> str:
        """The names from the file's root to the group, dotted: `v`, `s.v`, `l.list.element`."""
        return self.group.dotted

    @property
    def annotated(self) -> bool:
        return is_annotated(self.group)

    @property
    def schema(self) -> ShreddingSchema | None:
        """The shredding schema; None if the column is not shredded."""
        return None if self.root.typed is None else ShreddingSchema(self.root.node)

    def levels(self) -> Iterator[Level]:
        return self.root.walk()

    def level(self, steps: Steps) -> Level | None:
        """The level of a path, or None if the file does not shred it."""
        found: Level | None = self.root
        for step in steps:
            if found is None:
                return None
            found = found.element if step is ARRAY_ELEMENT else found.fields.get(str(step))
        return found


def is_annotated(group: SchemaNode) -> bool:
    """Whether the group has the VARIANT annotation, of any version."""
    return group.annotation is not None and group.annotation.startswith("VARIANT")


def has_variant_shape(group: SchemaNode) -> bool:
    """Whether a group has the shape of a Variant, since older writers do not annotate it."""
    names = [child.name for child in group.children if not child.name.startswith("_")]
    metadata, value = group.child("metadata"), group.child("value")
    return (
        group.is_group
        and len(names) == len(set(names))
        and {"metadata"} < set(names) <= {"metadata", "value", "typed_value"}
        and metadata is not None
        and is_plain_binary(metadata)
        and (value is None or is_plain_binary(value))
    )


def variant_groups(schema: SchemaNode) -> Iterator[SchemaNode]:
    """The groups that are Variants, by annotation or by shape; Variants inside Variants do not count."""
    for child in schema.children:
        if child.is_group:
            if is_annotated(child) or has_variant_shape(child):
                yield child
            else:
                yield from variant_groups(child)


def variant_columns(schema: SchemaNode) -> tuple[VariantColumn, ...]:
    """The Variant columns of a file.

    >>> import io, pyarrow as pa, pyarrow.parquet as pq
    >>> from shredlake.kernels.arrow.types import shredded_type
    >>> from shredlake.parquet.format.footer import read_footer
    >>> v = shredded_type(ShreddingSchema.parse("struct<a bigint>"))
    >>> sink = io.BytesIO()
    >>> pq.write_table(pa.schema([("v", v)]).empty_table(), sink)
    >>> [column] = variant_columns(read_footer(sink).schema)
    >>> str(column.schema), [level.path for level in column.levels()]
    ('struct<a bigint>', ['$', "$['a']"])
    >>> column.level(("a",)).typed.dotted
    'v.typed_value.a.typed_value'
    """
    return tuple(variant_column(group) for group in variant_groups(schema))


def variant_column(group: SchemaNode) -> VariantColumn:
    """Reads one Variant group; raises InvalidSchema for a layout that the specification does not allow."""
    metadata = group.child("metadata")
    if metadata is None or not is_plain_binary(metadata):
        raise InvalidSchema(
            f"{group.dotted}: a Variant needs a binary column `metadata`, found {_names(group)}"
        )
    return VariantColumn(group, metadata, _level(group, (), known=("metadata", "value", "typed_value")))


def scalar_of(leaf: SchemaNode) -> Scalar | None:
    """The Variant type of a `typed_value` leaf, or None if the specification does not define one."""
    if leaf.physical in DECIMAL_CARRIERS and (match := _DECIMAL.fullmatch(leaf.annotation or "")):
        precision, scale = int(match[1]), int(match[2])
        return decimal(precision, scale) if 1 <= precision <= 38 and scale <= precision else None
    kind = SCALAR_COLUMNS.get((leaf.physical or "", leaf.annotation))
    if kind is None or (kind is VariantType.UUID and leaf.length != 16):
        return None
    return Scalar(kind)


def list_element(typed: SchemaNode) -> SchemaNode | None:
    """The element group of a three-level list, or None if the group is not such a list."""
    if typed.annotation != "LIST" or len(typed.children) != 1:
        return None
    [repeated] = typed.children
    if repeated.repetition != "repeated" or not repeated.is_group or len(repeated.children) != 1:
        return None
    return repeated.children[0]


def _level(group: SchemaNode, steps: Steps, known: tuple[str, ...] = ("value", "typed_value")) -> Level:
    value, typed = group.child("value"), group.child("typed_value")
    unknown = [c.name for c in group.children if c.name not in known and not c.name.startswith("_")]
    if unknown or not group.is_group or (value is None and typed is None):
        raise InvalidSchema(f"{group.dotted}: expected a group of {', '.join(known)}, found {_names(group)}")
    if value is not None and not is_plain_binary(value):
        raise InvalidSchema(f"{value.dotted}: value must be binary, found {value}")
    if typed is None:
        return Level(steps, Untyped(), value, None, {}, None)
    if not typed.is_group:
        scalar = scalar_of(typed)
        if scalar is None:
            raise InvalidSchema(f"{typed.dotted}: no Variant type is shredded as {typed}")
        return Level(steps, scalar, value, typed, {}, None)
    if typed.annotation is not None:
        inner = list_element(typed)
        if inner is None:
            raise InvalidSchema(
                f"{typed.dotted}: expected a three-level list or a group of fields, found {typed}"
            )
        element = _level(inner, (*steps, ARRAY_ELEMENT))
        return Level(steps, Array(element.node), value, typed, {}, element)
    fields = {child.name: _level(child, (*steps, child.name)) for child in typed.children}
    node = Object(tuple((child.name, fields[child.name].node) for child in typed.children))
    return Level(steps, node, value, typed, fields, None)


def is_plain_binary(leaf: SchemaNode) -> bool:
    """Whether a leaf holds binary without a logical type."""
    return leaf.physical == "binary" and leaf.annotation is None


def _names(group: SchemaNode) -> str:
    return ", ".join(child.name for child in group.children) or "no fields"


@dataclass(frozen=True)
class ColumnLayout:
    """The layout of one Variant column in a table's log: its shredding, and which residuals hold data."""

    schema: ShreddingSchema
    residual: frozenset[str]
    """Normalised paths of the levels whose `value` column holds at least one value."""
    objects: frozenset[str] | None = None
    """Normalised paths of the objects that every row has, as objects; None if unknown."""


def layout_json(columns: Mapping[str, ColumnLayout]) -> str:
    """Describes a file's shredded columns, short enough for a log entry; unshredded columns are omitted.

    >>> layout_json({"v": ColumnLayout(ShreddingSchema.parse("struct<a bigint>"), frozenset({"$['a']"}))})
    '{"v":{"shredding":"struct<a bigint>","residual":["$[\\'a\\']"]}}'
    """
    content: dict[str, dict[str, object]] = {}
    for name, column in columns.items():
        content[name] = {"shredding": str(column.schema), "residual": sorted(column.residual)}
        if column.objects is not None:
            content[name]["objects"] = sorted(column.objects)
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


LAYOUT_VERSION: Final = 1


def is_known_layout(text: str) -> bool:
    """Whether this version of shredlake understands a description of a file's layout.

    Version 1 has no version number. A later one adds `"version": n`, which is not an object like a column.

    >>> is_known_layout('{"v":{"shredding":"bigint","residual":[]}}'), is_known_layout('{"version":2}')
    (True, False)
    """
    if '"version"' not in text:
        return True
    try:
        version = json.loads(text).get("version", LAYOUT_VERSION)
    except (ValueError, AttributeError, RecursionError):
        return True  # not a description, so parsing it raises
    return not isinstance(version, int) or version == LAYOUT_VERSION


def parse_layout_json(text: str) -> dict[str, ColumnLayout]:
    """Parses a layout; the inverse of `layout_json`.

    >>> text = '{"v":{"shredding":"struct<a bigint>","residual":[]}}'
    >>> layout_json(parse_layout_json(text)) == text
    True
    """
    try:
        return {
            name: ColumnLayout(
                ShreddingSchema.parse(entry["shredding"]),
                frozenset(entry["residual"]),
                frozenset(entry["objects"]) if "objects" in entry else None,
            )
            for name, entry in json.loads(text).items()
        }
    except (InvalidSchema, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidSchema(f"not the description of a file's layout: {text[:200]!r} ({error})") from error
