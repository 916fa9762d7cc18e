"""How each file shreds its Variants: from the log for shredlake's files, from footers for others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from sys import intern
from typing import Any, Final

from shredlake.caches import LruCache
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.protocol.layout_tag import layout_text
from shredlake.delta.storage.storage import Storage, decode_path
from shredlake.parquet.read.open_file import OpenFile
from shredlake.parquet.variant_columns import ColumnLayout, Level, layout_json, parse_layout_json

Layout = dict[str, ColumnLayout]
"""Column layouts by the Variant's physical name. Variants that are not shredded are absent."""

FileKey = tuple[str, str, int, int]
"""The table's URI, and the file's path, size and modification time."""

_layouts: Final[LruCache[FileKey, str]] = LruCache(100_000, "layouts of files")
"""A cache of layouts read from footers, as JSON. Data files never change."""

Run = Callable[[Sequence[Any], Callable[[Any], Any]], Iterable[Any]]
"""Applies a function to each item, in order, on threads or on Spark."""


class FileLayouts:
    """Looks up the layouts of one table's files; `run` reads the footers of those that the log lacks."""

    def __init__(self, snapshot: Snapshot, run: Run, known: LruCache[FileKey, str] = _layouts) -> None:
        self._snapshot, self._run, self._known = snapshot, run, known
        self._parsed: dict[str, Layout] = {}

    def of(self, adds: Sequence[Add]) -> list[Layout]:
        """One layout per file, in order. If the log lacks a file's layout, the footer is read and cached."""
        uri = self._snapshot.storage.uri
        # Size and time distinguish the files of a table that was recreated with the same file names.
        keys = [(uri, add.path, add.size, add.modification_time) for add in adds]
        texts = [layout_text(add) or self._known.find(key) for key, add in zip(keys, adds, strict=True)]
        unknown = [key for key, text in zip(keys, texts, strict=True) if text is None]
        found: dict[FileKey, str] = {}
        if unknown:
            variants = tuple(place.groups for place in self._snapshot.variants)
            storage = self._snapshot.storage
            read = self._run(unknown, lambda key: footer_layout(storage, key[1], variants))
            for key, text in zip(unknown, read, strict=True):
                # Most files have the same layout, so only one copy of its text is kept.
                found[key] = self._known.put(key, intern(text))
        return [self._parse(text or found[key]) for key, text in zip(keys, texts, strict=True)]

    def _parse(self, text: str) -> Layout:
        """Parses a layout once. Files of one job share a layout."""
        if text not in self._parsed:
            self._parsed[text] = parse_layout_json(text)
        return self._parsed[text]


def footer_layout(storage: Storage, path: str, variants: Iterable[tuple[str, ...]]) -> str:
    """The layout of a file, read from its footer, as JSON.

    A residual counts as empty only if the statistics of every row group say that it is all null.
    """
    with storage.data_file(decode_path(path)) as (location, store):
        file = OpenFile(location, store, variants=variants, exact=True)
    try:
        return layout_json(layout_of(file))
    finally:
        file.close()


def layout_of(file: OpenFile) -> Layout:
    """The layout of an open file, without the objects that every row has."""
    columns: Layout = {}
    for column in file.columns.variants.values():
        if column.schema is not None:
            residual = frozenset(level.path for level in column.levels() if not _is_empty(file, level))
            columns[column.name] = ColumnLayout(column.schema, residual)
    return columns


def _is_empty(file: OpenFile, level: Level) -> bool:
    leaf = None if level.value is None else level.value.column
    return leaf is None or all(
        file.chunks.chunk(group, leaf).is_all_null for group in range(len(file.chunks))
    )
