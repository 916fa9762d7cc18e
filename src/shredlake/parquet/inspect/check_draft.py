"""Finds violations of the older draft layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shredlake import kernels
from shredlake.errors import InvalidSchema, MalformedVariant
from shredlake.kernels.arrow.nested import Names
from shredlake.kernels.validate import malformed_rows
from shredlake.parquet.entries import Place, groups_in, objects_and_arrays
from shredlake.parquet.inspect.check_rows import path_with_indices
from shredlake.parquet.inspect.rules import Violation
from shredlake.parquet.io.source import Source
from shredlake.parquet.legacy.columns import variant_array
from shredlake.parquet.legacy.types import draft_schema, draft_types
from shredlake.parquet.read.stream import BATCH_ROWS, batches, parquet_file
from shredlake.shredding.legacy import DraftNode, split_untyped
from shredlake.shredding.schema import ARRAY_ELEMENT, Object, ShreddingSchema, Steps, Untyped


def draft_violations(
    source: Source, progress: Callable[[int, int], None] | None = None
) -> Iterator[Violation]:
    """Yields the violations of the draft layout in a file; nothing if no column has that layout."""
    with parquet_file(source) as file:
        sound: dict[Names, DraftNode] = {}
        for names, type_ in draft_types(file.schema_arrow).items():
            try:
                sound[names] = draft_schema(type_)
            except InvalidSchema as error:
                yield Violation("draft-layout", ".".join(names), error.path or "$", error.problem)
        if not sound:
            return
        for first_row, batch in batches(source, file, sorted({names[0] for names in sound}), BATCH_ROWS):
            for names, node in sound.items():
                groups, place = groups_in(batch, names, first_row)
                check = _Check(".".join(names), place)
                yield from check.level(Level(groups, node, place, groups.is_valid(), ()))
            if progress is not None:
                progress(first_row + batch.num_rows, file.metadata.num_rows)


@dataclass(frozen=True)
class Level:
    """One level of a draft column in one batch."""

    group: pa.StructArray
    node: DraftNode
    place: Place
    active: pa.Array
    steps: Steps


class _Check:
    def __init__(self, column: str, place: Place) -> None:
        self.column = column
        self.place = place

    def level(self, level: Level) -> Iterator[Violation]:
        node = level.node
        parts = dict(zip((field.name for field in level.group.type), level.group.flatten(), strict=True))
        has = {part: pc.and_(level.active, parts[part].is_valid()) for part in node.parts}
        residual = has.pop(node.untyped or "", None)
        filled = [there.cast(pa.int8()) for there in has.values()]
        if len(filled) > 1:
            several = pc.greater(reduce(pc.add, filled), 1)
            yield from self.breaches("draft-alternatives", level, several, "more than one part is filled")
        if not level.steps or level.steps[-1] is ARRAY_ELEMENT:
            there = [*has.values(), *([] if residual is None else [residual])]
            missing = pc.and_not(level.active, reduce(pc.or_, there))
            yield from self.breaches("draft-missing", level, missing, "all parts are null")
        if residual is not None and pc.any(residual).as_py():
            yield from self.residual(level, parts, has, residual)
        if node.object is not None:
            group = parts["object"]
            for name, child in node.object.items():
                field = Level(group.field(name), child, level.place, has["object"], (*level.steps, name))
                yield from self.level(field)
        if node.array is not None:
            elements, place = level.place.inside(parts["array"])
            active = has["array"].take(place.parents)
            yield from self.level(Level(elements, node.array, place, active, (*level.steps, ARRAY_ELEMENT)))

    def residual(
        self, level: Level, parts: dict[str, pa.Array], has: dict[str, pa.Array], there: pa.Array
    ) -> Iterator[Violation]:
        """Violations in the `untyped_value`s of a level."""
        residuals = parts[level.node.untyped or ""]
        indices, pieces = [], []
        for index in pc.indices_nonzero(there).to_pylist():
            try:
                pieces.append(split_untyped(residuals[index].as_py()))
                indices.append(index)
            except MalformedVariant as error:
                yield self.breach("draft-malformed", level, index, error.problem)
        column = variant_array(pieces)
        broken = malformed_rows(column)
        for position, problem in broken.items():
            yield self.breach("draft-malformed", level, indices[position], problem.problem, problem.path)
        is_object, is_array = objects_and_arrays(column.field("value"))
        filled = {part: array.take(pa.array(indices, pa.int64())) for part, array in has.items()}
        for rule, wrong in self.beside(is_object, is_array, filled):
            for position in pc.indices_nonzero(wrong).to_pylist():
                others = [part for part, array in filled.items() if array[position].as_py()]
                texts = [f"{part} {str(parts[part][indices[position]])[:60]}" for part in others]
                found = " beside ".join([f"untyped_value {pieces[position].to_json()[:60]}", *texts])
                yield self.breach(rule, level, indices[position], found)
        if level.node.object is not None:
            yield from self.field_twice(level, column, indices, is_object, broken)

    def beside(
        self, is_object: pa.Array, is_array: pa.Array, has: dict[str, pa.Array]
    ) -> Iterator[tuple[str, pa.Array]]:
        """Finds residuals that contradict the other parts."""
        for part, there in has.items():
            if part == "object":
                yield "draft-residual", pc.and_not(there, is_object)
                yield "draft-not-shredded", pc.and_not(is_object, there)
            else:
                yield "draft-conflict", there
                if part == "array":
                    yield "draft-not-shredded", pc.and_not(is_array, there)

    def field_twice(
        self, level: Level, column: pa.StructArray, indices: list[int], is_object: pa.Array, broken: Any
    ) -> Iterator[Violation]:
        assert level.node.object is not None
        keep = [i for i in pc.indices_nonzero(is_object).to_pylist() if i not in broken]
        names = list(level.node.object)
        schema = ShreddingSchema(Object(tuple((name, Untyped()) for name in names)))
        fields = kernels.shred(column.take(pa.array(keep, pa.int64())), schema).field("typed_value")
        for name in names:
            for hit in pc.indices_nonzero(fields.field(name).field("value").is_valid()).to_pylist():
                found = f"untyped_value has the field {name!r}"
                yield self.breach("draft-field-twice", level, indices[keep[hit]], found)

    def breaches(self, rule: str, level: Level, wrong: pa.Array, found: str) -> Iterator[Violation]:
        for index in pc.indices_nonzero(wrong).to_pylist():
            yield self.breach(rule, level, index, found)

    def breach(self, rule: str, level: Level, index: int, found: str, below: str = "$") -> Violation:
        row, indices = level.place.find(index)
        depth = len(self.place.find(0)[1])
        path = path_with_indices(level.steps, indices[depth:]) + below[1:]
        return Violation(rule, self.column, path, found, row, indices[:depth])
