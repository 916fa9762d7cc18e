"""The Variants of a table's schema, wherever they are nested."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.schema.types import Array, DeltaType, Map, Struct
from shredlake.kernels.arrow.nested import children


@dataclass(frozen=True)
class VariantPlace:
    """A Variant somewhere in a table's schema.

    `name` is the name that users write (`v`, `s.v`, `l.element`, `m.value`). `physical` is the group in the
    file (`v`, `s.v`, `l.list.element`, `m.key_value.value`), and `groups` are its parts. `steps` lead to it
    through an Arrow column.
    """

    name: str
    physical: str
    steps: tuple[str, ...]
    groups: tuple[str, ...]


def variant_places(schema: Struct) -> Iterator[VariantPlace]:
    """Every Variant of a schema, in the order of its columns.

    >>> from shredlake.delta.schema.types import Field
    >>> schema = Struct((Field("v", "variant"), Field("l", Array("variant"))))
    >>> [(place.name, place.physical) for place in variant_places(schema)]
    [('v', 'v'), ('l.element', 'l.list.element')]
    """

    def visit(kind: DeltaType, names: tuple[str, ...], groups: tuple[str, ...]) -> Iterator[VariantPlace]:
        match kind:
            case "variant":
                yield VariantPlace(".".join(names), ".".join(groups), names, groups)
            case Struct():
                for item in kind.fields:
                    yield from visit(item.type, (*names, item.name), (*groups, item.physical_name))
            case Array():
                yield from visit(kind.element, (*names, "element"), (*groups, "list", "element"))
            case Map():
                yield from visit(kind.key, (*names, "key"), (*groups, "key_value", "key"))
                yield from visit(kind.value, (*names, "value"), (*groups, "key_value", "value"))

    yield from visit(schema, (), ())


def type_at(schema: pa.Schema, place: VariantPlace) -> pa.DataType | None:
    """The Arrow type at a place of another schema, ignoring case, or None if the schema lacks the place.

    >>> place = VariantPlace("s.v", "s.v", ("s", "v"), ("s", "v"))
    >>> type_at(pa.schema([("S", pa.struct([("V", pa.int8())]))]), place)
    DataType(int8)
    """
    found: pa.DataType = pa.struct(list(schema))
    for step in place.steps:
        below = [(names[-1], item.type) for names, item in children(found)]
        alike = [one for one in below if one[0].casefold() == step.casefold()]
        if not alike:
            return None
        found = next((type_ for name, type_ in alike if name == step), alike[0][1])
    return found


def variants_at(rows: pa.Table | pa.RecordBatch, place: VariantPlace) -> pa.ChunkedArray:
    """The Variants at a place of some rows; those in lists and maps one after the other."""
    found = rows.column(place.steps[0])
    column = found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])
    for step in place.steps[1:]:
        if pa.types.is_struct(column.type):
            column = pc.struct_field(column, [step])
        elif pa.types.is_map(column.type):
            part = 0 if step == "key" else 1
            arrays = [(chunk.keys, chunk.items)[part] for chunk in column.chunks]
            kind = column.type.key_type if part == 0 else column.type.item_type
            column = pa.chunked_array(arrays, type=kind)
        else:
            column = pc.list_flatten(column)
    return column
