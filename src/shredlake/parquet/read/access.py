"""The leaf columns that a reference needs: `v:a.b::bigint` reads only the leaf of `$.a.b`.

| the path ends | its values are in |
|---|---|
| at a shredded level | that level's `typed_value` and `value`, and all levels below |
| beyond the last shredded level | the `value` of that level, its deepest shredded ancestor |
| beyond a level that has no `value` | nowhere: null in every row |

Shredded fields are never in an ancestor's `value`, so ancestors are not read. Neither is a `value` that is
all null according to the footer. `metadata` is read only if its dictionary of names is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from shredlake.caches import cached
from shredlake.errors import InvalidExpression, InvalidFile, InvalidSchema
from shredlake.expr.ast import Column, Get, name_parts
from shredlake.kernels.arrow.nested import Names
from shredlake.parquet.format.schema import SchemaNode, schema_tree
from shredlake.parquet.format.thrift import LIST, List, Reader, Struct
from shredlake.parquet.read.draft import draft_columns
from shredlake.parquet.variant_columns import (
    Level,
    VariantColumn,
    has_variant_shape,
    is_annotated,
    variant_column,
)
from shredlake.shredding.schema import Scalar, Untyped
from shredlake.variant.path import Path


@dataclass(frozen=True)
class Access:
    """The leaves that one reference reads in one file. A leaf is given by its position in the file."""

    place: Names
    """The names from the root to the column or Variant group."""
    columns: frozenset[int] = frozenset()
    """Leaves that are always read."""
    residuals: frozenset[int] = frozenset()
    """`value` leaves, which are read unless they are all null."""
    metadata: int | None = None
    """The dictionary of names, which is read with a residual, or if `needs_names`."""
    needs_names: bool = False
    leaf: SchemaNode | None = None
    """The leaf whose statistics hold for the reference, provided that the residuals are all null."""

    def read(self, is_all_null: Callable[[int], bool]) -> frozenset[int]:
        """The leaves to read in a row group; `is_all_null` tells which `value` columns are all null there."""
        residuals = frozenset(column for column in self.residuals if not is_all_null(column))
        named = self.metadata is not None and (self.needs_names or bool(residuals))
        names = frozenset({self.metadata} if named and self.metadata is not None else ())
        return self.columns | residuals | names


@dataclass(frozen=True)
class FileColumns:
    """The columns of a file, and which groups are Variants."""

    schema: SchemaNode
    elements: tuple[Struct, ...]
    """The columns as the footer's flat list of leaves."""
    variants: dict[Names, VariantColumn] = field(default_factory=dict)
    drafts: frozenset[Names] = frozenset()
    """Variants in the older draft layout, which are read whole and then converted."""

    @staticmethod
    def of(raw: bytes, arrow: pa.Schema, declared: Iterable[str | Names], exact: bool = False) -> FileColumns:
        """Finds the Variants: those annotated, those with a Variant's shape, and those that the reader
        declares.

        With `exact`, only the declared ones count, because a table's schema is more reliable than a file's
        shape.

        `raw` is the footer's list of schema elements. The files of a table share a few schemas, so the result
        for each schema is cached.
        """
        drafts = draft_columns(raw, arrow)
        names = frozenset(name_parts(one) if isinstance(one, str) else one for one in declared)
        return _file_columns(raw, names, drafts & names if exact else drafts, exact)

    @cached_property
    def leaves(self) -> dict[int, SchemaNode]:
        return {leaf.column: leaf for leaf in self.schema.leaves() if leaf.column is not None}

    @cached_property
    def repeated(self) -> frozenset[int]:
        """The leaves inside lists and maps."""
        nodes = (node for node in self.schema.walk() if node.repetition == "repeated")
        return frozenset(column for node in nodes for column in _columns(node))

    @cached_property
    def in_maps(self) -> frozenset[int]:
        """The leaves inside maps. Arrow has no map without keys or values, so these are read together."""
        maps = (node for node in self.schema.walk() if node.annotation in ("MAP", "MAP_KEY_VALUE"))
        return frozenset(column for node in maps for column in _columns(node))

    @cached_property
    def all_variants(self) -> frozenset[Names]:
        return self.drafts | self.variants.keys()

    def find(self, parts: tuple[str, ...]) -> SchemaNode | None:
        """Finds a column or a field of structs; None if the file does not have it."""
        node: SchemaNode | None = self.schema
        for part in parts:
            if node is None or node.path in self.all_variants or node.annotation in ("LIST", "MAP"):
                return None
            if len(node.by_name.get(part, ())) > 1:
                raise InvalidFile(f"there are several columns named {part!r}, so the name is ambiguous")
            node = node.child(part)
        return node

    def access(self, reference: Column | Get) -> Access | None:
        """The leaves that a reference reads; None if the file lacks the column."""
        parts = name_parts(reference.name if isinstance(reference, Column) else reference.column)
        node = self.find(parts)
        if node is None:
            return None
        variant = self.variants.get(node.path)
        if isinstance(reference, Column):
            return self._whole(node)
        if node.path in self.drafts:
            return Access(node.path, frozenset(_columns(node)))
        if variant is None:
            raise InvalidExpression(
                f"{'.'.join(parts)} is not a Variant but {_described(node)}; a path such as "
                f"{'.'.join(parts)}:a needs a Variant column"
            )
        return variant_access(variant, reference.path)

    def raw(self, parts: tuple[str, ...]) -> Access | None:
        """Every leaf below a column, as stored in the file."""
        node = self.find(parts)
        return None if node is None else Access(node.path, frozenset(_columns(node)))

    def presence(self, parts: tuple[str, ...]) -> Access | None:
        """One leaf of a column, which is enough to tell which rows are null."""
        node = self.find(parts)
        if node is None:
            return None
        variant = self.variants.get(node.path)
        columns = [variant.metadata.column] if variant else list(_columns(node))[:1]
        return Access(node.path, frozenset(column for column in columns if column is not None))

    def _whole(self, node: SchemaNode) -> Access:
        inside = [variant for path, variant in self.variants.items() if path[: len(node.path)] == node.path]
        if inside == [self.variants.get(node.path)]:
            return variant_access(inside[0], Path())
        ignored = {
            column for variant in inside for column in set(_columns(variant.group)) - _level_columns(variant)
        }
        plain = not node.is_group and node.column not in self.repeated
        return Access(node.path, frozenset(_columns(node)) - ignored, leaf=node if plain else None)


def variant_access(variant: VariantColumn, path: Path) -> Access:
    """The leaves that a path into a Variant reads."""
    level, rest = descend(variant.root, path)
    place, metadata = variant.group.path, variant.metadata.column
    if rest:
        residual = frozenset(_columns(level.value)) if level.value else frozenset()
        return Access(place, residuals=residual, metadata=metadata)
    typed = {
        column for below in level.walk() if isinstance(below.node, Scalar) for column in _columns(below.typed)
    }
    residuals = {column for below in level.walk() if below.typed for column in _columns(below.value)}
    # Without `typed_value`, only the level's `value` tells whether the objects above it exist.
    untyped = {column for below in level.walk() if not below.typed for column in _columns(below.value)}
    if isinstance(level.node, Untyped) and path.steps:
        return Access(place, residuals=frozenset(untyped), metadata=metadata)
    columns, values = frozenset(typed | untyped), frozenset(residuals)
    if isinstance(level.node, Scalar) and path.steps:
        in_list = any(isinstance(step, int) for step in path.steps)
        return Access(place, columns, values, metadata, leaf=None if in_list else level.typed)
    return Access(place, columns, values, metadata, needs_names=True)


def descend(level: Level, path: Path) -> tuple[Level, tuple[str | int, ...]]:
    """The deepest shredded level on a path, and the remaining steps."""
    steps = path.steps
    for taken, step in enumerate(steps):
        below = level.fields.get(step) if isinstance(step, str) else level.element
        if below is None:
            return level, steps[taken:]
        level = below
    return level, ()


@cached(256, "columns of files")
def _file_columns(
    raw: bytes, declared: frozenset[Names], drafts: frozenset[Names], exact: bool
) -> FileColumns:
    found = Reader(raw).value(LIST)
    items = found.items if isinstance(found, List) else []
    elements = tuple(item for item in items if isinstance(item, Struct))
    schema = schema_tree(elements)
    variants = {group.path: variant_column(group) for group in _groups(schema, declared - drafts, exact)}
    return FileColumns(schema, elements, variants, drafts - variants.keys())


def _groups(node: SchemaNode, declared: frozenset[Names], exact: bool) -> Iterable[SchemaNode]:
    for child in node.children:
        if child.path in declared and not child.is_group:
            raise InvalidSchema(f"{child.dotted} is declared as a Variant but is {_described(child)}")
        if not child.is_group:
            continue
        if child.path in declared or (not exact and (is_annotated(child) or has_variant_shape(child))):
            yield child
        else:
            yield from _groups(child, declared, exact)


def _columns(node: SchemaNode | None) -> Iterable[int]:
    if node is None:
        return ()
    return (leaf.column for leaf in node.leaves() if leaf.column is not None)


def _level_columns(variant: VariantColumn) -> set[int]:
    """The leaves of a Variant, without fields that start with `_`, which the specification ignores."""
    access = variant_access(variant, Path())
    return {*access.columns, *access.residuals, *_columns(variant.metadata)}


def _described(node: SchemaNode) -> str:
    kind = node.physical or "a group"
    return f"{kind} ({node.annotation})" if node.annotation else kind
