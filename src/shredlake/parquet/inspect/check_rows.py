"""Finds violations of the specification in the rows, one batch at a time.

Each level of a Variant is checked as a whole column. Only the entries that fail a columnar test are examined
one by one, to describe them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake import kernels
from shredlake.caches import cached
from shredlake.errors import MalformedVariant
from shredlake.kernels.validate import malformed_rows
from shredlake.parquet.entries import Entries, Place, objects_and_arrays
from shredlake.parquet.inspect.rules import Violation
from shredlake.parquet.variant_columns import VariantColumn
from shredlake.shredding.schema import (
    ARRAY_ELEMENT,
    Array,
    Object,
    Scalar,
    ShreddingSchema,
    Steps,
    Untyped,
    node_path,
)
from shredlake.variant.metadata import Dictionary

MICROS_PER_DAY: Final = 86_400_000_000
PREVIEW: Final = 16


@dataclass(frozen=True)
class Residual:
    """The entries of a level that have a `value`."""

    entries: Entries
    indices: pa.Array
    """Their positions among the entries."""
    column: pa.StructArray
    """The metadata and value of each entry."""
    typed: pa.Array
    """Whether there is also a `typed_value`."""
    is_object: pa.Array
    is_array: pa.Array


class DataCheck:
    """Checks one Variant column in one batch: `variants` are its groups, `place` locates them."""

    def __init__(self, column: VariantColumn, variants: pa.StructArray, place: Place) -> None:
        self.column = column
        self.variants = variants
        self.place = place
        self.metadata = _binary(variants.field("metadata"))
        self.dictionaries = self.metadata.dictionary_encode()

    def run(self) -> Iterator[Violation]:
        """Yields the violations: those of the dictionaries first, then level by level."""
        active = pc.is_valid(self.variants)
        broken = {}
        for index, metadata in enumerate(self.dictionaries.dictionary.to_pylist()):
            try:
                Dictionary(metadata).validate()
            except MalformedVariant as error:
                broken[index] = error
        if broken:
            indices = self.dictionaries.indices
            hit = pc.is_in(indices, pa.array(list(broken), indices.type))
            root = Entries(self.column.root, self.variants, self.place, active)
            for index in pc.indices_nonzero(pc.and_(active, hit)).to_pylist():
                problem = broken[indices[index].as_py()].problem
                yield self.breach("malformed-metadata", root, index, problem)
            active = pc.and_not(active, hit)
        for entries in Entries(self.column.root, self.variants, self.place, active).walk():
            yield from self.level(entries)

    def level(self, entries: Entries) -> Iterator[Violation]:
        has_value, has_typed = entries.has("value"), entries.has("typed_value")
        yield from self.presence(entries, pc.or_(has_value, has_typed))
        value, typed = entries.part("value"), entries.part("typed_value")
        if value is not None and pc.any(has_value).as_py():
            yield from self.residual(self.residual_of(entries, _binary(value), has_value, has_typed))
        if typed is not None and isinstance(entries.level.node, Scalar):
            yield from self.scalars(entries, typed, has_typed)

    def presence(self, entries: Entries, present: pa.Array) -> Iterator[Violation]:
        """A value must be present, except for a field; a field's name must be in the metadata."""
        steps = entries.level.steps
        if steps and steps[-1] is not ARRAY_ELEMENT:
            without = self.without_name(str(steps[-1]), entries)
            if without is not None:
                wrong = pc.and_(present, without)
                yield from self.breaches("missing-name", entries, wrong, lambda _: "not in the metadata")
            return
        rule = "missing-element" if steps else "missing-value"
        absent = pc.and_not(entries.active, present)
        yield from self.breaches(rule, entries, absent, lambda _: "value and typed_value are both null")

    def without_name(self, name: str, entries: Entries) -> pa.Array | None:
        """The entries whose dictionary lacks the name; None if there are none, as expected."""
        without = self.lacking.get(name)
        if without is None:
            return None
        owners = entries.place.owners(self.place)
        used = self.dictionaries.indices if owners is None else self.dictionaries.indices.take(owners)
        return pc.is_in(used, pa.array(without, used.type))

    @cached_property
    def lacking(self) -> dict[str, list[int]]:
        """The shredded names that some dictionaries lack, each with the numbers of those dictionaries."""
        wanted = {step for level in self.column.levels() for step in level.steps if isinstance(step, str)}
        found: dict[str, list[int]] = {}
        for number, metadata in enumerate(self.dictionaries.dictionary.to_pylist()):
            for name in wanted - names_in(metadata):
                found.setdefault(name, []).append(number)
        return found

    def residual_of(
        self, entries: Entries, value: pa.Array, has_value: pa.Array, has_typed: pa.Array
    ) -> Residual:
        indices = pc.indices_nonzero(has_value)
        values = value.take(indices)
        owners = entries.place.owners(self.place)
        metadata = self.metadata.take(indices if owners is None else owners.take(indices))
        return Residual(
            entries,
            indices,
            pa.StructArray.from_arrays([metadata, values], fields=list(kernels.variant())),
            has_typed.take(indices),
            *objects_and_arrays(values),
        )

    def residual(self, residual: Residual) -> Iterator[Violation]:
        """Violations in the `value`s of a level, on their own and in combination with `typed_value`."""
        broken = malformed_rows(residual.column)
        for position, error in broken.items():
            index = residual.indices[position].as_py()
            yield self.breach(error.rule, residual.entries, index, error.problem, error.path)
        beside = residual.typed
        match residual.entries.level.node:
            case Object(fields):
                not_object = pc.and_not(beside, residual.is_object)
                yield from self.residual_breaches("residual-not-object", residual, not_object)
                unshredded = pc.and_not(residual.is_object, beside)
                yield from self.residual_breaches("object-not-shredded", residual, unshredded)
                yield from self.shredded_too(residual, [name for name, _ in fields], broken)
            case Array():
                yield from self.residual_breaches("conflict", residual, beside)
                unshredded = pc.and_not(residual.is_array, beside)
                yield from self.residual_breaches("array-not-shredded", residual, unshredded)
            case Scalar():
                yield from self.residual_breaches("conflict", residual, beside)

    def shredded_too(
        self, residual: Residual, names: list[str], broken: Mapping[int, MalformedVariant]
    ) -> Iterator[Violation]:
        """Finds objects in `value` with fields that have columns of their own.

        Shredding the objects by these names alone finds them in one compiled pass.
        """
        sound = residual.is_object
        if broken:
            sound = pc.and_(sound, pa.array([i not in broken for i in range(len(sound))]))
        positions = pc.indices_nonzero(sound)
        if not len(positions):
            return
        schema = ShreddingSchema(Object(tuple((name, Untyped()) for name in names)))
        fields = kernels.shred(residual.column.take(positions), schema).field("typed_value")
        for name in names:
            values = fields.field(name).field("value")
            for hit in pc.indices_nonzero(pc.is_valid(values)).to_pylist():
                index = residual.indices[positions[hit].as_py()].as_py()
                found = f"value has the field {name!r} = {_hex(values[hit])}"
                yield self.breach("field-in-value", residual.entries, index, found, node_path((name,)))

    def scalars(self, entries: Entries, typed: pa.Array, has_typed: pa.Array) -> Iterator[Violation]:
        """Finds values outside the range of their column's type."""
        if pa.types.is_time64(typed.type):
            micros = typed.view(pa.int64())
            wrong = pc.or_(pc.less(micros, 0), pc.greater_equal(micros, MICROS_PER_DAY))
            wrong = pc.and_(has_typed, wrong.fill_null(False))
            yield from self.breaches(
                "malformed-typed-value", entries, wrong, lambda i: f"a time of {micros[i]} microseconds"
            )
            return
        try:
            typed.validate(full=True)
        except pa.ArrowInvalid:
            for index in pc.indices_nonzero(has_typed).to_pylist():
                one = pa.concat_arrays([typed.slice(index, 1)])
                try:
                    one.validate(full=True)
                except pa.ArrowInvalid as error:
                    yield self.breach("malformed-typed-value", entries, index, str(error))

    def residual_breaches(self, rule: str, residual: Residual, wrong: pa.Array) -> Iterator[Violation]:
        values, typed = residual.column.field("value"), residual.entries.part("typed_value")
        for position in pc.indices_nonzero(wrong).to_pylist():
            index = residual.indices[position].as_py()
            both = residual.typed[position].as_py()
            beside = f" beside typed_value {_text(typed[index])}" if typed is not None and both else ""
            yield self.breach(rule, residual.entries, index, f"value {_hex(values[position])}{beside}")

    def breaches(
        self, rule: str, entries: Entries, wrong: pa.Array, found: Callable[[int], str]
    ) -> Iterator[Violation]:
        for index in pc.indices_nonzero(wrong).to_pylist():
            yield self.breach(rule, entries, index, found(index))

    def breach(self, rule: str, entries: Entries, index: int, found: str, below: str = "$") -> Violation:
        row, indices = entries.place.find(index)
        depth = len(self.place.find(0)[1]) if len(self.variants) else 0
        path = path_with_indices(entries.level.steps, indices[depth:]) + below[1:]
        return Violation(rule, self.column.name, path, found, row, indices[:depth])


@cached(4096, "names in dictionaries")
def names_in(metadata: bytes) -> frozenset[str]:
    """The names in a dictionary; empty if it is malformed, which another rule reports."""
    try:
        return frozenset(Dictionary(metadata).names())
    except MalformedVariant:
        return frozenset()


def path_with_indices(steps: Steps, indices: tuple[int, ...]) -> str:
    """The path of a level with the array positions filled in."""
    left = iter(indices)
    return "".join(
        ["$", *(f"[{next(left)}]" if step is ARRAY_ELEMENT else node_path((step,))[1:] for step in steps)]
    )


def _binary(array: pa.Array) -> pa.Array:
    return array if pa.types.is_binary(array.type) else array.cast(pa.binary())


def _hex(value: pa.Scalar) -> str:
    data = value.as_py()
    return data[:PREVIEW].hex(" ") + (" ..." if len(data) > PREVIEW else "") if data else "of no bytes"


def _text(scalar: pa.Scalar) -> str:
    text = str(scalar)
    return text if len(text) <= 60 else text[:60] + "..."
