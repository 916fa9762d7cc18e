"""Which paths of each Variant column are shredded: the pinned layout, the given schema, or inference.

A layout is pinned by the property `shredlake.shredding.<column>`, whose value is a schema in DDL, or `none`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.features import supports
from shredlake.delta.protocol.properties import PIN_PREFIX, TableProperties
from shredlake.delta.schema.types import Array, DeltaType, Map, Struct
from shredlake.errors import InvalidSchema
from shredlake.kernels.profile import infer_schema
from shredlake.shredding.schema import ShreddingSchema, Untyped

Shredding: TypeAlias = Mapping[str, ShreddingSchema | str | None] | Literal["infer"] | None


@dataclass(frozen=True)
class VariantPlace:
    """A Variant somewhere in a table's schema.

    `name` is how users say it (`v`, `s.v`, `l.element`, `m.value`), `physical` the group in the file
    (`v`, `s.v`, `l.list.element`, `m.key_value.value`), in parts `groups`, `steps` the way to it through an
    Arrow column.
    """

    name: str
    physical: str
    steps: tuple[str, ...]
    groups: tuple[str, ...]


def variant_places(schema: Struct) -> Iterator[VariantPlace]:
    """Every Variant of a schema, wherever in the tree.

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


def may_shred(snapshot: Snapshot) -> bool:
    """Whether Variants may be shredded in new files: where the property is exactly `true` and the protocol
    has the feature, so that readers expect it."""
    return snapshot.settings.asks_to_shred and supports(snapshot.protocol, "variantShredding")


def check_pins(schema: Struct, properties: TableProperties) -> None:
    """Refuses pinned layouts of columns that are not Variants, and those that are not schemas.

    >>> check_pins(Struct(()), TableProperties({"shredlake.shredding.v": "none"}))
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidSchema: shredlake.shredding.v: the table has no Variant 'v'; it has: none
    """
    places = [place.name for place in variant_places(schema)]
    for name, text in properties.pins.items():
        if name not in places:
            known = ", ".join(places) or "none"
            raise InvalidSchema(f"{PIN_PREFIX}{name}: the table has no Variant {name!r}; it has: {known}")
        if text != "none":
            try:
                ShreddingSchema.parse(text)
            except InvalidSchema as error:
                raise InvalidSchema(f"{PIN_PREFIX}{name}: {error}") from None


def choose(snapshot: Snapshot, given: Shredding, sample: pa.Table | None) -> dict[str, str]:
    """DDL per Variant of the table, by physical name; Variants that are not shredded are absent.

    Without `delta.enableVariantShredding=true` nothing is shredded, whatever else is asked for.
    """
    places = list(variant_places(snapshot.schema))
    asked = given if isinstance(given, Mapping) else {}
    unknown = sorted(set(asked) - {place.name for place in places})
    if unknown:
        known = ", ".join(place.name for place in places) or "none"
        raise InvalidSchema(f"shredding is given for {unknown[0]!r}; the Variant columns are: {known}")
    if not may_shred(snapshot):
        return {}
    chosen = {}
    for place in places:
        ddl = _layout(place, snapshot.settings.pins.get(place.name), asked, sample)
        if ddl is not None:
            chosen[place.physical] = ddl
    return chosen


def _layout(
    place: VariantPlace,
    pinned: str | None,
    asked: Mapping[str, ShreddingSchema | str | None],
    sample: pa.Table | None,
) -> str | None:
    if pinned is not None:
        return None if pinned == "none" else str(ShreddingSchema.parse(pinned))
    if place.name in asked and asked[place.name] != "infer":
        wanted = asked[place.name]
        return None if wanted is None else str(ShreddingSchema.parse(str(wanted)))
    if sample is None:
        return None
    inferred = infer_schema(column_at(sample, place.steps))
    return None if isinstance(inferred.root, Untyped) else str(inferred)


def column_at(table: pa.Table, steps: tuple[str, ...]) -> pa.ChunkedArray:
    """The Variants at a place, out of their lists and maps."""
    column = table.column(steps[0])
    for step in steps[1:]:
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
