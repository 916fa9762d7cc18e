"""The older draft of shredding, one value at a time.

Each level is a group of up to four optional parts; at most one of the last three is set:

```
untyped_value   (or variant_value) metadata and value of a Variant, concatenated: anything else
object          a group of fields, each of them a level
array           a three-level list, each element a level
typed_value     a scalar
```

| others | untyped_value | meaning |
|---|---|---|
| null | null | missing |
| null | non-null | any value |
| object | null | the object |
| object | an object | the object, with these fields in addition |
| array, typed_value | null | the array, the scalar |
| any other combination | | invalid |

Other parts are ignored if their names start with an underscore, and an error if not. The names
`_metadata_key_paths` and `_spark...` are reserved for Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from shredlake.errors import InvalidSchema, ShreddingConflict
from shredlake.shredding.reference import exact_number, python_scalar
from shredlake.shredding.schema import Array, Node, Object, Scalar, ShreddingSchema, Untyped
from shredlake.variant import Path, Variant, VariantBuilder, VariantType
from shredlake.variant.layout import scalar_at
from shredlake.variant.metadata import Dictionary

UNTYPED_SPELLINGS: Final = ("untyped_value", "variant_value")
PARTS: Final = (*UNTYPED_SPELLINGS, "object", "array", "typed_value")


@dataclass(frozen=True)
class DraftNode:
    """One level of a draft schema: its parts, in the order of the file.

    >>> node = DraftNode(untyped="untyped_value", typed=Scalar(VariantType.INT64))
    >>> node.parts
    ('untyped_value', 'typed_value')
    """

    untyped: str | None = None
    """The name of the residual's part; None if there is none."""
    object: Mapping[str, DraftNode] | None = None
    array: DraftNode | None = None
    typed: Scalar | None = None
    parts: tuple[str, ...] = ()
    """The parts' names in the file's order; by default the residual comes first."""

    def __post_init__(self) -> None:
        there = [self.object is not None, self.array is not None, self.typed is not None]
        names = [name for name, is_there in zip(PARTS[-3:], there, strict=True) if is_there]
        if self.untyped is not None:
            names.insert(0, self.untyped)
        if not names:
            raise InvalidSchema("a level of the draft layout needs at least one part")
        object.__setattr__(self, "parts", self.parts or tuple(names))


@dataclass(frozen=True)
class DraftValue:
    """One value of a draft level. A field or element that is None has a null group."""

    untyped: bytes | None = None
    object: Mapping[str, DraftValue | None] | None = None
    array: Sequence[DraftValue | None] | None = None
    typed: Any = None
    """Raw content of the scalar, as in `reference.py`."""

    @property
    def is_missing(self) -> bool:
        return self.untyped is None and self.object is None and self.array is None and self.typed is None


MISSING: Final = DraftValue()


def draft_node(schema: ShreddingSchema | Node, spelling: str = "untyped_value") -> DraftNode:
    """The draft level equivalent to a current schema, with a residual at every level.

    >>> draft_node(ShreddingSchema.parse("struct<a bigint>")).object["a"].typed
    Scalar(bigint)
    """
    match schema.root if isinstance(schema, ShreddingSchema) else schema:
        case Scalar() as scalar:
            return DraftNode(spelling, typed=scalar)
        case Object(fields):
            return DraftNode(spelling, object={name: draft_node(child, spelling) for name, child in fields})
        case Array(element):
            return DraftNode(spelling, array=draft_node(element, spelling))
        case Untyped():
            return DraftNode(spelling)


def current_node(node: DraftNode) -> Node:
    """The current node for a draft level; of several alternatives the object, then the array.

    >>> current_node(draft_node(ShreddingSchema.parse("struct<a array<bigint>>")))
    Object(fields=(('a', Array(element=Scalar(bigint))),))
    """
    if node.object:
        return Object(tuple((name, current_node(child)) for name, child in node.object.items()))
    if node.array is not None:
        return Array(current_node(node.array))
    return node.typed or Untyped()


def split_untyped(piece: bytes) -> Variant:
    """The Variant in an `untyped_value`; its metadata header tells where the metadata ends.

    >>> split_untyped(b"\\x01\\x01\\x00\\x02hi" + b"\\x02\\x01\\x00\\x00\\x02\\x0c\\x05")
    Variant({"hi":5})
    """
    end = Dictionary(piece, exact=False).end
    return Variant(piece[:end], piece[end:])


def join_untyped(variant: Variant) -> bytes:
    """Encodes a Variant as an `untyped_value`, with only the names it needs.

    >>> join_untyped(Variant.of(5)).hex(" ")
    '01 00 00 0c 05'
    """
    small = VariantBuilder().append_variant(variant).build()
    return small.metadata + small.value


def shred_draft(variant: Variant, node: DraftNode) -> DraftValue:
    """Splits a value by a draft schema.

    An exact number goes to a `typed_value` of any exact type that loses no digit; nothing else is cast.

    >>> node = draft_node(ShreddingSchema.parse("struct<a bigint>"))
    >>> shred_draft(Variant.of({"a": 5}), node).object["a"].typed
    5
    """
    return _shred(variant, node, ())


def _shred(variant: Variant, node: DraftNode, steps: Steps) -> DraftValue:
    if node.object is not None and variant.type is VariantType.OBJECT:
        return _shred_object(variant, node, node.object, steps)
    if node.array is not None and variant.type is VariantType.ARRAY:
        # An array is always shredded whole.
        elements = [_shred(item, node.array, (*steps, index)) for index, item in enumerate(variant)]
        return DraftValue(array=elements)
    if node.typed is not None:
        typed = _typed(variant, node.typed)
        if typed is not None:
            return DraftValue(typed=typed)
    return DraftValue(untyped=_residual(variant, node, steps))


def _shred_object(
    variant: Variant, node: DraftNode, fields: Mapping[str, DraftNode], steps: Steps
) -> DraftValue:
    values: dict[str, DraftValue | None] = dict.fromkeys(fields)
    rest = VariantBuilder().start_object()
    left = 0
    for name, value in variant.items():
        if name in fields:
            values[name] = _shred(value, fields[name], (*steps, name))
        else:
            rest.key(name).append_variant(value)
            left += 1
    # The fields that are not in the schema stay together, as an object.
    residual = _residual(rest.end().build(), node, steps) if left else None
    return DraftValue(untyped=residual, object=values)


def _residual(variant: Variant, node: DraftNode, steps: Steps) -> bytes:
    if node.untyped is None:
        raise ShreddingConflict(
            f"{Path(steps).normalized()}: {variant} does not fit the schema, and there is no untyped_value"
        )
    return join_untyped(variant)


def _typed(variant: Variant, node: Scalar) -> Any:
    """The raw content in the column's type, or None if it does not fit."""
    buffer = variant.value
    if variant.type in (VariantType.OBJECT, VariantType.ARRAY, VariantType.NULL):
        return None
    kind, raw = scalar_at(buffer, 0, len(buffer))
    if kind.is_exact_number and node.type.is_exact_number:
        return exact_number(kind, raw, node, exact_types=False)
    return raw if kind is node.type else None


def reconstruct_draft(
    value: DraftValue | None, node: DraftNode, *, reject_conflicts: bool = False
) -> Variant | None:
    """Reconstructs a value; None if it is missing.

    Parts that contradict each other are an error. By default, a field that is also in `untyped_value` is read
    from its column, and a missing element reads as Variant null; `reject_conflicts` makes both an error.

    >>> node = draft_node(ShreddingSchema.parse("struct<a bigint>"))
    >>> reconstruct_draft(shred_draft(Variant.of({"a": 5, "b": 6}), node), node)
    Variant({"a":5,"b":6})
    """
    if value is None or value.is_missing:
        return None
    work = _Reconstruction(reject_conflicts)
    work.level(value, node, ())
    return work.builder.build()


Steps: TypeAlias = tuple[str | int, ...]


@dataclass
class _Reconstruction:
    reject_conflicts: bool
    builder: VariantBuilder = field(default_factory=VariantBuilder)

    def level(self, value: DraftValue, node: DraftNode, steps: Steps) -> None:
        filled = [value.object is not None, value.array is not None, value.typed is not None]
        if sum(filled) > 1:
            raise self.conflict("more than one of object, array and typed_value is filled", steps)
        rest = None if value.untyped is None else split_untyped(value.untyped).validate()
        if value.object is not None:
            assert node.object is not None
            self.object(value.object, rest, node.object, steps)
        elif rest is not None and True in filled:
            # The draft's algorithm accepts a Variant null beside a scalar, but its table does not.
            if self.reject_conflicts or value.array is not None or rest.type is not VariantType.NULL:
                part = "an array" if value.array is not None else "a typed_value"
                raise self.conflict(f"untyped_value ({rest}) beside {part}", steps)
            self.builder.append(None)
        elif value.array is not None:
            assert node.array is not None
            self.array(value.array, node.array, steps)
        elif value.typed is not None:
            assert node.typed is not None
            self.builder.append(python_scalar(node.typed, value.typed))
        elif rest is not None:
            self.builder.append_variant(rest)

    def object(
        self,
        values: Mapping[str, DraftValue | None],
        rest: Variant | None,
        fields: Mapping[str, DraftNode],
        steps: Steps,
    ) -> None:
        if rest is not None and rest.type is not VariantType.OBJECT:
            raise self.conflict(f"untyped_value ({rest}) beside an object is not an object", steps)
        self.builder.start_object()
        written = set()
        for name, node in fields.items():
            value = values.get(name)
            if value is not None and not value.is_missing:
                self.builder.key(name)
                self.level(value, node, (*steps, name))
                written.add(name)
        for name, item in rest.items() if rest is not None else ():
            if name in fields and self.reject_conflicts:
                raise self.conflict("the field is shredded and in untyped_value as well", (*steps, name))
            if name not in written:
                self.builder.key(name).append_variant(item)
        self.builder.end()

    def array(self, values: Sequence[DraftValue | None], node: DraftNode, steps: Steps) -> None:
        self.builder.start_array()
        for index, value in enumerate(values):
            if value is not None and not value.is_missing:
                self.level(value, node, (*steps, index))
            elif self.reject_conflicts:
                raise self.conflict("an element is missing", (*steps, index))
            else:
                self.builder.append(None)
        self.builder.end()

    def conflict(self, problem: str, steps: Steps) -> ShreddingConflict:
        return ShreddingConflict(f"{Path(steps).normalized()}: {problem}")
