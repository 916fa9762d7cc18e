"""The columns and paths of a table that a user may want to query, for completion."""

from __future__ import annotations

from collections.abc import Iterator

from shredlake.kernels.arrow.types import is_variant
from shredlake.shredding.schema import DDL_NAMES, Scalar
from shredlake.sql.path_tokens import is_word
from shredlake.sql.sources import DeltaSource, Source
from shredlake.variant.identifiers import quote


def known_paths(source: Source) -> list[str]:
    """The columns of a table, and the typed paths in the layout of its first file.

    >>> from shredlake.example import example_table
    >>> known_paths(DeltaSource(example_table("known-paths")))
    ['id', 'v', 'v:a::bigint']
    """
    names = [name if is_word(name) else quote(name) for name in source.schema.names]
    return [*names, *(_paths(source) if isinstance(source, DeltaSource) else ())]


def _paths(source: DeltaSource) -> Iterator[str]:
    if not any(is_variant(field.type) for field in source.schema):
        return
    data = source.table.scan().first_file()
    if data is None:
        return
    for names, variant in data.file.columns.variants.items():
        for level in variant.root.walk():
            steps = [step for step in level.steps if isinstance(step, str)]
            if isinstance(level.node, Scalar) and steps and len(steps) == len(level.steps):
                spelled = ".".join(step if is_word(step) else quote(step) for step in steps)
                yield f"{'.'.join(names)}:{spelled}::{_type(level.node)}"
    data.file.close()


def _type(node: Scalar) -> str:
    parameters = "" if node.precision is None else f"({node.precision},{node.scale})"
    return DDL_NAMES[node.type] + parameters
