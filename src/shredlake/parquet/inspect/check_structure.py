"""Finds violations of the specification in a file's schema."""

from __future__ import annotations

from collections.abc import Iterator

from shredlake.parquet.format.schema import SchemaNode
from shredlake.parquet.inspect.rules import Violation
from shredlake.parquet.variant_columns import (
    DECIMAL_CARRIERS,
    is_annotated,
    is_plain_binary,
    list_element,
    scalar_of,
)
from shredlake.shredding.schema import ARRAY_ELEMENT, Steps, node_path
from shredlake.variant.types import VariantType

DECIMAL_PHYSICAL_TYPES = {
    VariantType.DECIMAL4: ("int32",),
    VariantType.DECIMAL8: ("int64",),
    VariantType.DECIMAL16: ("binary", "fixed_len_byte_array"),
}


def check_structure(group: SchemaNode) -> Iterator[Violation]:
    """Yields the violations in the layout of one Variant group, even if it cannot be read.

    >>> from shredlake.parquet.format.schema import SchemaNode
    >>> leaf = SchemaNode("value", "optional", "binary", None, (), ("v", "value"), 1, 0)
    >>> broken = SchemaNode("v", "optional", None, "VARIANT(1)", (leaf,), ("v",), 0, None)
    >>> [violation.rule for violation in check_structure(broken)]
    ['metadata-column', 'value-repetition']
    """
    return _StructureCheck(group.dotted).variant(group)


def value_repetitions(steps: Steps, *, shredded: bool) -> tuple[str, ...]:
    """The allowed repetitions of a level's `value`, which is null if `typed_value` is set or a field missing.

    An element is never missing, so without `typed_value` its `value` is required, as in Spark.
    """
    if shredded:
        return ("optional",)
    if not steps:
        return ("required",)
    return ("required", "optional") if steps[-1] is ARRAY_ELEMENT else ("optional",)


class _StructureCheck:
    def __init__(self, column: str) -> None:
        self.column = column

    def breach(self, rule: str, steps: Steps, found: str) -> Violation:
        return Violation(rule, self.column, node_path(steps), found)

    def variant(self, group: SchemaNode) -> Iterator[Violation]:
        if group.annotation != "VARIANT(1)":
            found = f"annotation {group.annotation}" if is_annotated(group) else "no VARIANT annotation"
            yield self.breach("annotation", (), found)
        metadata = group.child("metadata")
        if metadata is None:
            yield self.breach("metadata-column", (), "no metadata")
        else:
            if not is_plain_binary(metadata):
                yield self.breach("metadata-column", (), str(metadata))
            if metadata.repetition != "required":
                yield self.breach("metadata-required", (), str(metadata))
        if group.child("value") is None and group.child("typed_value") is not None:
            yield self.breach("value-column", (), "no value")
        yield from self.level(group, (), ("metadata", "value", "typed_value"))

    def level(
        self, group: SchemaNode, steps: Steps, known: tuple[str, ...] = ("value", "typed_value")
    ) -> Iterator[Violation]:
        for child in group.children:
            if child.name not in known and not child.name.startswith("_"):
                yield self.breach("unknown-field", steps, f"field {child.name!r}")
        yield from self.duplicates(group, steps)
        value, typed = group.child("value"), group.child("typed_value")
        if value is None and typed is None:
            yield self.breach("no-value", steps, "neither value nor typed_value")
        if value is not None:
            if not is_plain_binary(value):
                yield self.breach("value-type", steps, str(value))
            right = value_repetitions(steps, shredded=typed is not None)
            if value.repetition not in right:
                found = f"{value} where {' or '.join(right)} is right"
                yield self.breach("value-repetition", steps, found)
        if typed is not None:
            if typed.repetition != "optional":
                yield self.breach("typed-value-repetition", steps, f"{typed.repetition} typed_value")
            yield from self.typed(typed, steps)

    def typed(self, typed: SchemaNode, steps: Steps) -> Iterator[Violation]:
        if not typed.is_group:
            yield from self.scalar(typed, steps)
        elif typed.annotation is None:
            yield from self.fields(typed, steps)
        elif typed.annotation == "LIST":
            yield from self.elements(typed, steps)
        else:
            yield self.breach("typed-value-type", steps, f"a group annotated {typed.annotation}")

    def scalar(self, typed: SchemaNode, steps: Steps) -> Iterator[Violation]:
        scalar = scalar_of(typed)
        if scalar is None:
            yield self.breach("typed-value-type", steps, str(typed))
        elif typed.physical in DECIMAL_CARRIERS:
            right = DECIMAL_PHYSICAL_TYPES.get(scalar.type, (typed.physical,))
            if typed.physical not in right:
                yield self.breach("typed-value-type", steps, f"{typed} where {' or '.join(right)} is right")

    def fields(self, typed: SchemaNode, steps: Steps) -> Iterator[Violation]:
        if not typed.children:
            yield self.breach("typed-value-type", steps, "an object without fields")
        yield from self.duplicates(typed, steps)
        for field in typed.children:
            yield from self.group("field-group", field, (*steps, field.name))

    def elements(self, typed: SchemaNode, steps: Steps) -> Iterator[Violation]:
        element = list_element(typed)
        if element is None:
            yield self.breach("three-level-list", steps, " ".join(str(typed).split()))
            return
        names = (typed.children[0].name, element.name)
        if names != ("list", "element"):
            yield self.breach("three-level-list", steps, f"groups named {names[0]} and {names[1]}")
        yield from self.group("element-group", element, (*steps, ARRAY_ELEMENT))

    def group(self, rule: str, group: SchemaNode, steps: Steps) -> Iterator[Violation]:
        """A field or an element: a required group, which is a level of its own."""
        if not group.is_group or group.repetition != "required":
            kind = "group" if group.is_group else "column"
            yield self.breach(rule, steps, f"{group.repetition} {kind}")
        if group.is_group:
            yield from self.level(group, steps)

    def duplicates(self, group: SchemaNode, steps: Steps) -> Iterator[Violation]:
        names = [child.name for child in group.children]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield self.breach("duplicate-field", steps, f"{names.count(name)} fields named {name!r}")
