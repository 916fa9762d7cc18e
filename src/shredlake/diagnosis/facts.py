"""The features that a table or a file requires of its readers, as a set of words that the rules name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from shredlake.delta.log.files import as_adds
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.read.layouts import FileLayouts
from shredlake.parquet.inspect.inspect import inspect
from shredlake.shredding.schema import ShreddingSchema

Subject = Literal["table", "file"]


@dataclass(frozen=True)
class Facts:
    """A table or file, and its needs.

    Needs are `variant`, `shredded`, `annotated`, `not annotated`, `deletion vectors`, `feature NAME` for
    reader features, and `shredded TYPE` for the types of shredded paths.
    """

    subject: Subject
    address: str
    needs: frozenset[str]


def table_facts(snapshot: Snapshot) -> Facts:
    """The needs of a table, from its log, and from the footers of files that shredlake did not write."""
    return Facts("table", snapshot.storage.uri, frozenset(_table_needs(snapshot)))


def _table_needs(snapshot: Snapshot) -> Iterator[str]:
    yield from (f"feature {name}" for name in snapshot.protocol.reader_features or ())
    if snapshot.variants:
        yield "variant"
    adds = as_adds(snapshot.files.table())
    if any(add.deletion_vector is not None for add in adds):
        yield "deletion vectors"
    for layout in FileLayouts(snapshot, lambda items, work: map(work, items)).of(adds):
        for column in layout.values():
            yield from _shredded(column.schema)


def file_facts(path: str) -> Facts:
    """The needs of a Parquet file."""
    needs: set[str] = set()
    for column in inspect(path).variants:
        needs |= {"variant", "annotated" if column.annotated else "not annotated"}
        if column.shredding is not None:
            needs |= set(_shredded(ShreddingSchema.parse(column.shredding)))
    return Facts("file", path, frozenset(needs))


def _shredded(schema: ShreddingSchema) -> Iterator[str]:
    yield "shredded"
    for _, node in schema.leaves():
        yield f"shredded {str(ShreddingSchema(node)).partition('(')[0]}"
