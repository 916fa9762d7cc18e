"""Decides for every writer which paths of each Variant are shredded in new files.

For every Variant of the table, wherever it is nested, the first of these that applies decides:

1. The table: unless `delta.enableVariantShredding` is exactly `true` and the protocol has the feature,
   nothing is shredded.
2. The pin: the property `shredlake.shredding.<column>` holds a schema as DDL, or `none`.
3. The call: the `shredding=` argument gives a schema, or None for unshredded.
4. The data: a layout is inferred from a sample, close to the layout of the table's newest file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.protocol.features import supports
from shredlake.delta.protocol.layout_tag import LAYOUT_TAG, parse_layout_tag, tagged_layout
from shredlake.delta.protocol.properties import PIN_PREFIX, TableProperties
from shredlake.delta.schema.types import Struct
from shredlake.delta.schema.variants import VariantPlace, variant_places, variants_at
from shredlake.delta.stats.records import recorded_rows
from shredlake.errors import InvalidSchema
from shredlake.kernels.profile import profile
from shredlake.shredding.inference.infer import infer_schema
from shredlake.shredding.inference.profile import Profile
from shredlake.shredding.request import Request, Shredding, requests
from shredlake.shredding.schema import ShreddingSchema, Untyped

Layout: TypeAlias = dict[str, str]
"""DDL per shredded Variant, by physical name; Variants that are not shredded are absent."""

Sample: TypeAlias = Callable[[VariantPlace], Profile | None]
"""Profiles the data of one Variant; None if there is none. Called only if a layout must be inferred."""

WELL_KNOWN = 10_000
"""Once a table has this many rows, a stream keeps its layout; until then every batch may change it."""

UNSHREDDED = "none"
"""The pin of a Variant that is never shredded."""


def may_shred(snapshot: Snapshot) -> bool:
    """Whether new files may be shredded: the property is exactly `true` and the protocol has the feature."""
    return snapshot.settings.asks_to_shred and supports(snapshot.protocol, "variantShredding")


def choose(
    snapshot: Snapshot,
    given: Shredding,
    sample: Sample,
    *,
    column: str | None = None,
    keep: bool = False,
) -> Layout:
    """The layout of new files.

    `column` is the Variant that a `given` schema without a name is for. With `keep` a table that is not
    small keeps the layout of its newest file, and no sample is taken.

    >>> from shredlake.example import example_table
    >>> snapshot = example_table("layout").snapshot
    >>> choose(snapshot, None, lambda place: None)  # the pin wins
    {'v': 'struct<a bigint>'}
    """
    return LayoutRules.of(snapshot, given, column=column, keep=keep).choose(sample)


@dataclass(frozen=True)
class LayoutRules:
    """Everything that decides a layout, except the data.

    It can be pickled: a worker that has the rows chooses their layout as the driver would.
    """

    table: Snapshot
    """Without its files."""
    asked: Mapping[str, Request]
    previous: Mapping[str, ShreddingSchema]
    """How the table's newest file is shredded, if a layout may have to be inferred."""
    keep: bool = False
    """Whether the previous layout is kept without a look at the data."""

    @staticmethod
    def of(
        snapshot: Snapshot, given: Shredding, *, column: str | None = None, keep: bool = False
    ) -> LayoutRules:
        asked = asked_for(snapshot, given, column)
        infers = may_shred(snapshot) and "infer" in asked.values()
        previous = newest_layout(snapshot) if infers else {}
        return LayoutRules(
            snapshot.without_files(), asked, previous, keep and bool(previous) and is_well_known(snapshot)
        )

    def choose(self, sample: Sample) -> Layout:
        """The layout of new files; `sample` is called for Variants whose layout is inferred."""

        def wanted(place: VariantPlace) -> ShreddingSchema | None:
            request: Request = self.asked[place.name]
            if request != "infer":
                return request
            before = self.previous.get(place.physical)
            if self.keep and before is not None:
                return before
            found = sample(place)
            return before if found is None else infer_schema(found, previous=before)

        return _allowed(self.table, wanted)


def asked_for(snapshot: Snapshot, given: Shredding, column: str | None = None) -> dict[str, Request]:
    """The request of a call for each Variant of the table. Refuses names that the table does not have."""
    return requests(given, [place.name for place in snapshot.variants], column)


def of_rows(rows: pa.Table) -> Sample:
    """Samples rows in memory by taking all of them."""
    return lambda place: profile(variants_at(rows, place))


def layout_like(snapshot: Snapshot, add: Add, rows: pa.Table) -> Layout:
    """The layout of a file that receives rows from another file: the pin, or the layout of the other file.

    If the other file comes from another writer, its layout is unknown, and one is inferred from the rows.
    """
    known = tagged_layout(add)
    if known is None:
        return choose(snapshot, "infer", of_rows(rows))
    return _allowed(snapshot, lambda place: known.get(place.physical))


def _allowed(snapshot: Snapshot, wanted: Callable[[VariantPlace], ShreddingSchema | None]) -> Layout:
    """The wanted layout, as far as the table's properties, pins and protocol allow it."""
    if not may_shred(snapshot):
        return {}
    layout = {}
    for place in snapshot.variants:
        pin = pin_of(snapshot.settings, place)
        schema = wanted(place) if pin is None else parse_pin(pin)
        if schema is not None and not isinstance(schema.root, Untyped):
            layout[place.physical] = str(schema)
    return layout


# ── Pins ────────────────────────────────────────────────────────────────────────────────────────────────


def pin_of(properties: TableProperties, place: VariantPlace) -> str | None:
    """The pin of a Variant. An exact match of the name wins over one that differs in case."""
    pins = properties.pins
    if place.name in pins:
        return pins[place.name]
    folded = place.name.casefold()
    return next((text for name, text in pins.items() if name.casefold() == folded), None)


def parse_pin(text: str) -> ShreddingSchema | None:
    """The schema of a pin; None for `none`."""
    return None if text == UNSHREDDED else ShreddingSchema.parse(text)


def check_pins(schema: Struct, properties: TableProperties) -> None:
    """Refuses pins of columns that are not Variants, and pins that are not schemas.

    >>> check_pins(Struct(()), TableProperties({"shredlake.shredding.v": "none"}))
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidSchema: shredlake.shredding.v: the table has no Variant 'v'; it has: none
    """
    places = [place.name for place in variant_places(schema)]
    folded = {name.casefold() for name in places}
    for name, text in properties.pins.items():
        if name.casefold() not in folded:
            known = ", ".join(places) or "none"
            raise InvalidSchema(f"{PIN_PREFIX}{name}: the table has no Variant {name!r}; it has: {known}")
        try:
            parse_pin(text)
        except InvalidSchema as error:
            raise InvalidSchema(f"{PIN_PREFIX}{name}: {error}") from None


# ── The layout that the table has ───────────────────────────────────────────────────────────────────────


def newest_layout(snapshot: Snapshot) -> dict[str, ShreddingSchema]:
    """How the table's newest file is shredded, by physical name; empty if no file records its layout.

    Files of the commits after the checkpoint are newer than those in it, and come newest commit first.

    >>> from shredlake.example import example_table
    >>> {name: str(schema) for name, schema in newest_layout(example_table("newest layout").snapshot).items()}
    {'v': 'struct<a bigint>'}
    """
    text = _first_tag(snapshot.files.recent.column("tags"))
    if text is None and snapshot.files.parts:
        files = snapshot.files.table(["modificationTime", "tags"])
        newest_first = pc.sort_indices(files.column("modificationTime"), sort_keys=[("", "descending")])
        text = _first_tag(files.column("tags").take(newest_first))
    try:
        return {} if text is None else parse_layout_tag(text)
    except InvalidSchema:  # a damaged tag only costs the layout that it describes
        return {}


def _first_tag(tags: pa.ChunkedArray) -> str | None:
    layouts = pc.drop_null(pc.map_lookup(tags, pa.scalar(LAYOUT_TAG), "first"))
    return layouts[0].as_py() if len(layouts) else None


def is_well_known(snapshot: Snapshot) -> bool:
    """Whether a table has enough rows for its layout to be settled."""
    if snapshot.files.parts:
        return True  # old enough for a checkpoint
    rows = 0
    for text in snapshot.files.recent.column("stats"):
        rows += recorded_rows(text.as_py()) or 0
        if rows >= WELL_KNOWN:
            return True
    return False
