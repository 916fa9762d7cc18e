"""Warns about sort keys and Bloom filters on paths that no row has, and about sort keys of mixed types.

A task looks for each path until a row has it. It returns the paths that it never found; a path that no task
found becomes a warning in the report.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.protocol.layout_tag import layout_text
from shredlake.delta.storage.storage import decode_path
from shredlake.expr.ast import Expr, Get, references
from shredlake.expr.evaluate import evaluate
from shredlake.expr.parse import parse_columns
from shredlake.expr.sort_key import parse_sort_keys
from shredlake.formatting import counted, share_text
from shredlake.parquet.inspect.inspect import PathReport, inspect
from shredlake.parquet.variant_columns import parse_layout_json
from shredlake.shredding.schema import node_path

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KeyPath:
    """A path of a sort key or a Bloom filter."""

    use: str
    """The purpose of the path, such as `sort key v:ts::bigint`."""
    get: Get

    @property
    def warning(self) -> str:
        """The warning if no row has the path."""
        return f"{self.use}: no row has a value for {self.get.path} in {self.get.column}"


def key_paths(sort_by: Iterable[str], bloom_filters: Iterable[str]) -> tuple[KeyPath, ...]:
    """The paths of sort keys and Bloom filters, without those that only Spark can read.

    >>> [path.warning for path in key_paths(["v:a::int desc"], ["id"])]
    ['sort key v:a::int: no row has a value for $.a in v']
    """
    found = [(f"sort key {key.text}", key.expr) for key in parse_sort_keys(sort_by) if not key.needs_spark]
    for name in bloom_filters:
        found += [(f"Bloom filter {name}", one.expr) for one in parse_columns([name])]
    return tuple(KeyPath(use, get) for use, expr in found for get in _paths(expr))


def _paths(expr: Expr) -> list[Get]:
    gets = {replace(one, strict=False) for one in references(expr) if isinstance(one, Get)}
    return sorted(gets, key=str)


class PathWatch:
    """Searches rows for paths as they pass by."""

    def __init__(self, paths: Iterable[KeyPath]) -> None:
        self._unseen = list(paths)

    def over(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Yields the tables after searching each of them."""
        for table in tables:
            self._unseen = [path for path in self._unseen if not _has(table, path)]
            yield table

    @property
    def warnings(self) -> tuple[str, ...]:
        """One warning for each path that no row had."""
        return tuple(path.warning for path in self._unseen)


def _has(table: pa.Table, path: KeyPath) -> bool:
    values = evaluate(path.get, table)
    return bool(values.null_count < len(values))


def shared_warnings(warnings: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The warnings that every task gave.

    >>> shared_warnings([("a", "b"), ("b",)])
    ('b',)
    """
    if not warnings:
        return ()
    return tuple(text for text in warnings[0] if all(text in others for others in warnings[1:]))


MEASURED_FILES = 4
"""Number of files in which the share of other types is measured."""


def mixed_keys(snapshot: Snapshot, adds: Sequence[Add], sort_by: Iterable[str]) -> tuple[str, ...]:
    """A warning for each sort key whose path has values of other types: such files have no bounds for it.

    The files are committed by then, so a file that cannot be read is not an error.
    """
    try:
        return tuple(_mixed_keys(snapshot, adds, sort_by))
    except Exception as error:
        _log.warning("%s was written, but not checked for mixed keys: %s", snapshot.storage.uri, error)
        return ()


def _mixed_keys(snapshot: Snapshot, adds: Sequence[Add], sort_by: Iterable[str]) -> Iterator[str]:
    for path in key_paths(sort_by, ()):
        field = snapshot.schema.get(path.get.column)
        physical = path.get.column if field is None else field.physical_name
        steps = [step for step in path.get.path.steps if isinstance(step, str)]
        if len(steps) < len(path.get.path.steps):
            continue  # an element of an array has no bounds of its own
        normal = node_path(tuple(steps))
        mixed = []
        for add in adds:
            text = layout_text(add)
            layout = None if text is None else parse_layout_json(text).get(physical)
            if layout is not None and normal in layout.residual:
                mixed.append(add)
        found = [_levels(snapshot, add, physical, normal) for add in mixed[:MEASURED_FILES]]
        typed, residual = (sum(getattr(one, part) for one in found if one) for part in ("typed", "residual"))
        if residual:
            kind = next(one.type for one in found if one)
            yield (
                f"{path.use}: {share_text(residual, typed + residual)} of the values are not {kind}, so "
                f"{len(mixed):,} of {counted(len(adds), 'new file')} can't be skipped by it. Correct these "
                "values, or sort by another path"
            )


def _levels(snapshot: Snapshot, add: Add, column: str, path: str) -> PathReport | None:
    """The values of one path in a file."""
    location, store = snapshot.storage.source(decode_path(add.path))
    columns = inspect(location, store=store).variants
    levels = (level for one in columns if one.name == column for level in one.root.walk())
    return next((level for level in levels if level.path == path), None)
