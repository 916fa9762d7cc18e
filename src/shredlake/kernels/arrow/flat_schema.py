"""A shredding schema in the form for the compiled kernels: a flat list of nodes, parents first.

```
struct<b bigint, a array<string>>

   0 object ─ fields (name 1 ─▶ 1), (name 0 ─▶ 2)
   1 scalar
   2 array  ─ element 3                   names, in byte order: 0 a, 1 b
   3 scalar
```
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import accumulate
from typing import Final

import pyarrow as pa

from shredlake.caches import IdentityCache, cached
from shredlake.kernels.arrow.types import group_type, typed_value_type
from shredlake.shredding.schema import Array, Node, Object, Scalar
from shredlake.variant.types import (
    DECIMAL_PRECISION,
    INTEGER_WIDTHS,
    PRIMITIVE_IDS,
    PRIMITIVES,
    TRUE_ID,
    VariantType,
)


class Kind(IntEnum):
    """The kind of a node; the kernels use these numbers."""

    UNTYPED = 0
    SCALAR = 1
    OBJECT = 2
    ARRAY = 3


WIDTHS: Final[dict[VariantType, int]] = {
    **{kind: PRIMITIVES[id_].width or 0 for kind, id_ in PRIMITIVE_IDS.items()},
    **INTEGER_WIDTHS,
    **dict.fromkeys(DECIMAL_PRECISION, 16),
    VariantType.BOOLEAN: 0,
}
"""Bytes per row of each scalar's Arrow column; 0 for bits and variable lengths."""


@dataclass(frozen=True)
class PlanNode:
    """One node. `fields` are (number of the name, index of the node), in byte order of the names."""

    kind: Kind
    node: Node
    type_id: int = 0
    width: int = 0
    precision: int = 0
    scale: int = 0
    element: int = 0
    below_array: bool = False
    fields: tuple[tuple[int, int], ...] = ()

    @cached_property
    def typed_type(self) -> pa.DataType | None:
        """The Arrow type of its `typed_value`."""
        return typed_value_type(self.node)

    @cached_property
    def group_type(self) -> pa.StructType:
        """The Arrow type of its group, as a field or an element."""
        return group_type(self.node)


@dataclass(frozen=True)
class Plan:
    """The flattened schema."""

    nodes: tuple[PlanNode, ...]
    names: tuple[bytes, ...]

    @property
    def root(self) -> Node:
        """The schema that was flattened."""
        return self.nodes[0].node

    @cached_property
    def all_names(self) -> bytes:
        """The concatenated names."""
        return b"".join(self.names)

    @cached_property
    def name_starts(self) -> list[int]:
        """The start of each name in the concatenated names, and the end of the last one."""
        starts = [0]
        for name in self.names:
            starts.append(starts[-1] + len(name))
        return starts

    @cached_property
    def places(self) -> IdentityCache[pa.StructType, list[tuple[int, int, int]] | None]:
        """The results of `shredded.places_in` by the types of columns."""
        return IdentityCache(pa.DataType.equals)

    @cached_property
    def shapes(self) -> list[tuple[int, int, int, int, int, int, int, int, bool]]:
        """Kind, type, width, precision, scale, element, first field, fields, below an array, by node."""
        return [
            (
                int(node.kind), node.type_id, node.width, node.precision, node.scale, node.element,
                start, len(node.fields), node.below_array,
            )
            for node, start in zip(self.nodes, self.first_children, strict=False)
        ]  # fmt: skip

    @cached_property
    def depth(self) -> int:
        """Returns the depth of nested objects and arrays."""
        depths = [0] * len(self.nodes)
        for index, node in enumerate(self.nodes):
            below = [node.element] if node.kind is Kind.ARRAY else [child for _, child in node.fields]
            for child in below:
                depths[child] = depths[index] + 1
        return max(depths)

    @cached_property
    def children(self) -> list[int]:
        """The nodes of all objects' fields, node by node, in the order of the schema."""
        return [child for node in self.nodes for child in sorted(child for _, child in node.fields)]

    @cached_property
    def first_children(self) -> list[int]:
        """The index of each node's first child, and the end of the last node's children."""
        return list(accumulate((len(node.fields) for node in self.nodes), initial=0))

    @cached_property
    def fields(self) -> list[tuple[int, int]]:
        """The fields of all objects, node by node."""
        return [field for node in self.nodes for field in node.fields]


_recent: Final[IdentityCache[Node, Plan]] = IdentityCache(operator.is_, "flat schemas")


def plan_of(root: Node) -> Plan:
    """Flattens a schema.

    >>> from shredlake.shredding import ShreddingSchema
    >>> plan = plan_of(ShreddingSchema.parse("struct<b bigint, a array<string>>").root)
    >>> plan.names, plan.nodes[0].fields
    ((b'a', b'b'), ((0, 2), (1, 1)))
    """
    return _recent.get(root, _plan_of)


@cached(64, "flat schemas by value")
def _plan_of(root: Node) -> Plan:
    found: set[bytes] = set()
    _collect_names(root, found)
    names = tuple(sorted(found))
    numbers = {name: number for number, name in enumerate(names)}
    nodes: list[PlanNode] = []
    _flatten(root, False, nodes, numbers)
    return Plan(tuple(nodes), names)


def _collect_names(node: Node, found: set[bytes]) -> None:
    match node:
        case Object(fields):
            for name, child in fields:
                found.add(name.encode())
                _collect_names(child, found)
        case Array(element):
            _collect_names(element, found)


def _flatten(node: Node, below_array: bool, nodes: list[PlanNode], numbers: dict[bytes, int]) -> int:
    index = len(nodes)
    nodes.append(PlanNode(Kind.UNTYPED, node, below_array=below_array))
    match node:
        case Scalar(kind, precision, scale):
            type_id = TRUE_ID if kind is VariantType.BOOLEAN else PRIMITIVE_IDS[kind]
            nodes[index] = PlanNode(
                Kind.SCALAR, node, type_id, WIDTHS[kind], precision or 0, scale or 0, below_array=below_array
            )
        case Object(fields):
            children = [
                (numbers[name.encode()], _flatten(child, below_array, nodes, numbers))
                for name, child in fields
            ]
            nodes[index] = PlanNode(
                Kind.OBJECT, node, below_array=below_array, fields=tuple(sorted(children))
            )
        case Array(element):
            below = _flatten(element, True, nodes, numbers)
            nodes[index] = PlanNode(Kind.ARRAY, node, element=below, below_array=below_array)
    return index
