"""Shreds and reconstructs one value, rule by rule as the specification states it. Slow on purpose: the
kernels are tested against this module, and it replaces them where they are not compiled.

A scalar's `typed_value` is its raw content, as `variant/layout.py` reads it: an int for integers, dates,
times and timestamps, the unscaled int for decimals (the node knows the scale), bool, float, str, or bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from shredlake.errors import MalformedVariant, ShreddingConflict
from shredlake.shredding.null_table import (
    CONFLICT_IS_AN_ERROR,
    MISSING_READS_AS_NULL,
    NULL_TABLE,
    Group,
    Meaning,
)
from shredlake.shredding.schema import Array, Node, Object, Scalar, Untyped
from shredlake.variant import Path, Variant, VariantBuilder, VariantType
from shredlake.variant.decode import EXACT
from shredlake.variant.layout import basic_type, container_at, scalar_at, value_end
from shredlake.variant.metadata import Dictionary, byte_width
from shredlake.variant.types import (
    ARRAY,
    DECIMAL_PRECISION,
    INTEGER_WIDTHS,
    MICROS_PER_DAY,
    OBJECT,
    PRIMITIVE,
    PRIMITIVES,
)


@dataclass(frozen=True, slots=True)
class Shredded:
    """One value after shredding: the two parts of its group."""

    value: bytes | None = None
    typed_value: Typed | None = None

    @property
    def meaning(self) -> Meaning:
        """The joint meaning of the two parts."""
        return NULL_TABLE[self.value is not None, self.typed_value is not None]


Typed: TypeAlias = "bool | int | float | str | bytes | dict[str, Shredded] | list[Shredded]"

MISSING: Final = Shredded()


def shred_value(variant: Variant, node: Node, *, exact_types: bool = False) -> Shredded:
    """Splits a value into the part that the node's type can represent and the binary rest.

    Exact numbers may be converted between exact types if no digit is lost, unless `exact_types`.

    >>> from shredlake.shredding.schema import ShreddingSchema
    >>> node = ShreddingSchema.parse("struct<id bigint, at date>").root
    >>> shred_value(Variant.of({"id": 5}), node)
    Shredded(value=None, typed_value={'id': Shredded(value=None, typed_value=5), 'at': Shredded(...)})
    """
    work = _Shredding(variant.dictionary, variant.value, exact_types)
    return work.group(node, 0, len(variant.value), ())


def reconstruct(
    metadata: bytes, shredded: Shredded, node: Node, *, reject_conflicts: bool = False
) -> Variant | None:
    """Reconstructs a value from its parts; None if it is missing.

    By default, reading fails on contradictions and otherwise follows the specification's preferences;
    `reject_conflicts` rejects everything that writers must not produce.

    >>> from shredlake.shredding.schema import ShreddingSchema
    >>> node = ShreddingSchema.parse("struct<id bigint>").root
    >>> reconstruct(b"\\x01\\x01\\x00\\x02id", Shredded(None, {"id": Shredded(None, 5)}), node)
    Variant({"id":5})
    """
    work = _Reconstruction(Dictionary(metadata), reject_conflicts)
    if not work.group(shredded, node, Group.COLUMN, ()):
        return None
    return work.builder.build()


Steps: TypeAlias = tuple[str | int, ...]


class _Shredding:
    """Traverses one value's bytes along a schema."""

    def __init__(self, dictionary: Dictionary, buffer: bytes, exact_types: bool) -> None:
        self.dictionary = dictionary
        self.buffer = buffer
        self.exact_types = exact_types

    def group(self, node: Node, start: int, limit: int, steps: Steps) -> Shredded:
        try:
            basic = basic_type(self.buffer, start, limit)
            end = value_end(self.buffer, start, limit)
            match node:
                case Object() if basic == OBJECT:
                    # An object goes to `typed_value`, even one without any of the shredded fields.
                    return self.object(node, start, limit, steps)
                case Array() if basic == ARRAY:
                    # An array goes to `typed_value` whole: `value` must be null.
                    return self.array(node, start, limit, steps)
                case Scalar() if basic < OBJECT:
                    typed = self.scalar(node, start, end)
                    if typed is not None:
                        return Shredded(None, typed)
            # A value that the type can't represent stays in `value`, including Variant null.
            return Shredded(self.buffer[start:end], None)
        except MalformedVariant as error:
            if error.path != "$" or not steps:
                raise
            raise MalformedVariant(
                error.problem, part=error.part, offset=error.offset, path=Path(steps).normalized()
            ) from None

    def object(self, node: Object, start: int, limit: int, steps: Steps) -> Shredded:
        container = container_at(self.buffer, start, limit)
        shredded = {name: MISSING for name, _ in node.fields}
        rest: list[tuple[int, bytes]] = []
        seen: set[bytes] = set()
        for index, (child, child_limit) in enumerate(container.children(self.buffer)):
            id_ = container.field_id(self.buffer, index)
            if self.dictionary.name_bytes(id_) in seen:
                raise MalformedVariant(f"two fields named {self.dictionary.name(id_)!r}", offset=start)
            seen.add(self.dictionary.name_bytes(id_))
            name = self.dictionary.name(id_)
            field = node.field(name)
            if field is None:
                # A field that is not shredded stays in the object's `value`, under the same field id.
                rest.append((id_, self.buffer[child : value_end(self.buffer, child, child_limit)]))
            else:
                # A shredded field is never in `value`: a value that its type can't hold goes to its own
                # `value`.
                shredded[name] = self.group(field, child, child_limit, (*steps, name))
        # `value` holds an object of the remaining fields, and is null if there are none.
        if len(rest) == container.count:
            return Shredded(self.buffer[start : container.end] if rest else None, shredded)
        return Shredded(encode_object(rest) if rest else None, shredded)

    def array(self, node: Array, start: int, limit: int, steps: Steps) -> Shredded:
        container = container_at(self.buffer, start, limit)
        # Every element is present: in `typed_value`, or in `value` (a null as Variant null), never in both.
        elements = [
            self.group(node.element, child, child_limit, (*steps, index))
            for index, (child, child_limit) in enumerate(container.children(self.buffer))
        ]
        return Shredded(None, elements)

    def scalar(self, node: Scalar, start: int, end: int) -> Typed | None:
        """The raw content in the node's type, or None if it does not fit."""
        if self.buffer[start] & 0b11 == PRIMITIVE and self.buffer[start] >> 2 >= len(PRIMITIVES):
            return None  # a type of a newer specification
        kind, raw = scalar_at(self.buffer, start, end)
        if node.type.is_exact_number and kind.is_exact_number:
            return exact_number(kind, raw, node, exact_types=self.exact_types)
        # Nothing else is cast: no string to number, no float to double, no micros to nanos.
        return raw if kind is node.type else None


def exact_number(
    kind: VariantType, raw: int | tuple[int, int], node: Scalar, *, exact_types: bool
) -> int | None:
    """Converts an exact number (raw content) to the node's type: an int, or a decimal's unscaled int.

    123 may become int64 or decimal(9,2); 1.23 never becomes int64.

    >>> from shredlake.shredding.schema import decimal
    >>> exact_number(VariantType.INT8, 123, decimal(9, 2), exact_types=False)
    12300
    >>> exact_number(VariantType.DECIMAL4, (123, 2), Scalar(VariantType.INT64), exact_types=False)
    """
    unscaled, scale = (raw, 0) if isinstance(raw, int) else raw
    wanted = node.scale or 0
    if exact_types and (kind is not node.type or scale != wanted):
        return None
    if scale > wanted:
        unscaled, lost = divmod(unscaled, 10 ** (scale - wanted))
        if lost:
            return None
    else:
        unscaled *= 10 ** (wanted - scale)
    bound = 10**node.precision if node.precision else 1 << 8 * INTEGER_WIDTHS[node.type] - 1
    lowest = -bound + 1 if node.precision else -bound
    return unscaled if lowest <= unscaled < bound else None


def encode_object(fields: list[tuple[int, bytes]]) -> bytes:
    """Encodes an object from (field id, value) pairs, already sorted by name.

    >>> encode_object([]), encode_object([(7, b"\\x00")])
    (b'\\x02\\x00\\x00', b'\\x02\\x01\\x07\\x00\\x01\\x00')
    """
    ids, values = [id_ for id_, _ in fields], [value for _, value in fields]
    total = sum(map(len, values))
    id_size, offset_size, large = byte_width(max(ids, default=0)), byte_width(total), len(fields) > 0xFF
    header = (large << 4 | id_size - 1 << 2 | offset_size - 1) << 2 | OBJECT
    ends = [sum(map(len, values[:index])) for index in range(len(values) + 1)]
    return b"".join(
        [
            bytes([header]),
            len(fields).to_bytes(4 if large else 1, "little"),
            *(id_.to_bytes(id_size, "little") for id_ in ids),
            *(end.to_bytes(offset_size, "little") for end in ends),
            *values,
        ]
    )


class _Reconstruction:
    """Builds one value from its shredded parts."""

    def __init__(self, dictionary: Dictionary, reject_conflicts: bool) -> None:
        self.dictionary = dictionary
        self.reject_conflicts = reject_conflicts
        self.builder = VariantBuilder()
        self.names = set(dictionary.names()) if reject_conflicts else set()

    def group(self, shredded: Shredded, node: Node, place: Group, steps: Steps) -> bool:
        """Appends the value of a group; returns False if it is missing and may be."""
        match shredded.meaning:
            case Meaning.MISSING:
                # Missing where a value is required (an array's element): becomes Variant null. The column
                # itself reports it, so that its owner can tell a missing field of a projection from a null.
                if MISSING_READS_AS_NULL[place] and place is not Group.COLUMN:
                    self.builder.append(None)
                    return True
                return False
            case Meaning.ANY_TYPE:
                assert shredded.value is not None
                self.untyped(shredded.value, node, steps)
            case Meaning.SHREDDED_TYPE:
                self.typed(shredded.typed_value, None, node, steps)
            case Meaning.PARTIAL_OBJECT:
                assert shredded.value is not None
                self.both(shredded.value, shredded.typed_value, node, place, steps)
        return True

    def untyped(self, value: bytes, node: Node, steps: Steps) -> None:
        variant = self.variant(value, steps)
        # Readers may assume that `value` does not hold a value that fits `typed_value`: an object if fields
        # are shredded, an array if elements are. By default the value is accepted.
        kind = value[0] & 0b11
        if self.reject_conflicts and isinstance(node, Object) and kind == OBJECT:
            raise self.conflict(
                "value holds an object and typed_value is null, although it shreds objects", steps
            )
        if self.reject_conflicts and isinstance(node, Array) and kind == ARRAY:
            raise self.conflict(
                "value holds an array and typed_value is null, although it shreds arrays", steps
            )
        self.builder.append_variant(variant)

    def both(self, value: bytes, typed: Any, node: Node, place: Group, steps: Steps) -> None:
        variant = self.variant(value, steps)
        if isinstance(node, Object) and value[0] & 0b11 == OBJECT:
            # A partially shredded object: the union of its parts.
            self.typed(typed, variant, node, steps)
            return
        # Writers may set both parts only for an object. For a field, a reader that continues must use
        # `typed_value`; for the column or an element nothing is specified, so it can't be read.
        if self.reject_conflicts or CONFLICT_IS_AN_ERROR[place]:
            problem = "a non-object value" if isinstance(node, Object) else f"a value ({variant})"
            raise self.conflict(f"conflict: {problem} beside a typed_value", steps)
        self.typed(typed, None, node, steps)

    def typed(self, typed: Any, rest: Variant | None, node: Node, steps: Steps) -> None:
        match node:
            case Object(fields):
                self.object(typed, rest, fields, steps)
            case Array(element):
                # An array from its elements; all of them are present.
                self.builder.start_array()
                for index, item in enumerate(typed):
                    self.group(item, element, Group.ELEMENT, (*steps, index))
                self.builder.end()
            case Scalar():
                # A primitive of exactly the shredded type.
                self.builder.append(python_scalar(node, typed))
            case Untyped():
                raise self.conflict("there is a typed_value, but the schema has none", steps)

    def object(
        self,
        typed: dict[str, Shredded],
        rest: Variant | None,
        fields: tuple[tuple[str, Node], ...],
        steps: Steps,
    ) -> None:
        self.builder.start_object()
        for name, node in fields:
            shredded = typed.get(name)
            if shredded is None:
                # A field group must be required; if a writer made it optional, null means missing.
                if self.reject_conflicts:
                    raise self.conflict("the field's group itself is null", (*steps, name))
                continue
            if shredded.meaning is Meaning.MISSING:
                # Both parts null: the field does not exist in the object.
                continue
            if self.reject_conflicts and name not in self.names:
                raise self.conflict("the field's name is not in the metadata", (*steps, name))
            self.builder.key(name)
            self.group(shredded, node, Group.FIELD, (*steps, name))
        shredded_names = {name for name, _ in fields}
        for name, field in rest.items() if rest is not None else ():
            # `value` must never contain a shredded field. If it does, the columns take precedence, even if
            # they say that the field is missing.
            if name not in shredded_names:
                self.builder.key(name).append_variant(field)
            elif self.reject_conflicts:
                raise self.conflict("the field is both shredded and in value", (*steps, name))
        self.builder.end()

    def variant(self, value: bytes, steps: Steps) -> Variant:
        """A `value` part with the metadata that all parts share; bytes after its end are ignored."""
        try:
            return Variant(self.dictionary.metadata, value[: value_end(value, 0, len(value))])
        except MalformedVariant as error:
            raise MalformedVariant(
                error.problem, part=error.part, offset=error.offset, path=Path(steps).normalized()
            ) from None

    def conflict(self, problem: str, steps: Steps) -> ShreddingConflict:
        return ShreddingConflict(f"{Path(steps).normalized()}: {problem}")


def python_scalar(node: Scalar, raw: Any) -> object:
    """Converts a shredded scalar to the Python object that is written as exactly the node's type.

    >>> from shredlake.shredding.schema import decimal
    >>> python_scalar(decimal(9, 2), 110), python_scalar(Scalar(VariantType.INT8), 5)
    (Decimal4('1.10'), Int8(5))
    """
    if node.type in DECIMAL_PRECISION:
        raw = raw, node.scale
    elif node.type is VariantType.TIME and not 0 <= raw < MICROS_PER_DAY:
        raise MalformedVariant(f"a time of day of {raw} microseconds")
    convert = EXACT.get(node.type)
    return raw if convert is None else convert(raw)
