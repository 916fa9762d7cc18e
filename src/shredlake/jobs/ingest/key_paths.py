"""Warns about sort keys and Bloom filters on paths that no row has.

A task looks for each path until a row has it. It returns the paths that it never found; a path that no task
found becomes a warning in the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from shredlake.expr.ast import Expr, Get, references
from shredlake.expr.evaluate import evaluate
from shredlake.expr.parse import parse_columns
from shredlake.expr.sort_key import parse_sort_keys


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


def in_all(warnings: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The warnings that every task gave.

    >>> in_all([("a", "b"), ("b",)])
    ('b',)
    """
    if not warnings:
        return ()
    return tuple(text for text in warnings[0] if all(text in others for others in warnings[1:]))
