"""An open Parquet file, from which leaves and rows are read.

If every row of a column is needed, pyarrow reads the whole column chunk. If rows are selected and the file
has a page index, only their pages are fetched and decoded (`pages.py`). Columns that are read separately are
merged again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from shredlake.caches import LruCache
from shredlake.errors import InvalidFile, InvalidSchema
from shredlake.expr.prune import Bounds
from shredlake.kernels.arrow.nested import Names
from shredlake.parquet.format.chunks import Chunks
from shredlake.parquet.format.footer import Footer
from shredlake.parquet.format.row_ranges import Range, Rows
from shredlake.parquet.format.schema import SchemaNode
from shredlake.parquet.io.source import FileView, Location, Source, open_input
from shredlake.parquet.io.stores import Store
from shredlake.parquet.nested import (
    Replacement,
    dictionaries_fit,
    find_types,
    leaf_types,
    merge,
    replace_columns,
)
from shredlake.parquet.read.access import FileColumns
from shredlake.parquet.read.pages import (
    ARROW_SCHEMA,
    ChosenPages,
    Pages,
    PageSchema,
    is_extension_registered,
    open_footer,
    open_pages,
    open_reader,
    read_page_indexes,
)
from shredlake.parquet.read.statistics import Leaves

READ_BUFFER: Final = 1 << 20
"""The buffer size per column when streaming."""

FEW_COLUMNS: Final = 16
"""Up to this many columns, each is tested whether to read it dictionary-encoded."""


CACHED_FOOTER: Final = 1 << 20
"""Parsed footers of more bytes are not cached."""


@dataclass(frozen=True, eq=False)
class ParsedFooter:
    """The content of a footer, in the forms that reading needs."""

    chunks: Chunks
    metadata: pq.FileMetaData
    arrow_schema: pa.Schema
    columns: FileColumns
    row_group_bounds: dict[Leaves, Bounds | None] = field(default_factory=dict)
    """The bounds that queries of the file have asked for so far."""

    @cached_property
    def types(self) -> list[pa.DataType]:
        """The Arrow type of each leaf."""
        return leaf_types(self.arrow_schema)


_footers: LruCache[object, ParsedFooter] = LruCache(64, "parsed footers")
"""The key contains the footer's bytes, which are read and checked each time: no entry can be out of date."""


def parse_footer(
    footer: Footer, name: str, variants: frozenset[str | Names], exact: bool = False
) -> ParsedFooter:
    """Parses a footer. `variants` and `exact` are those of `OpenFile`, `name` is for messages."""

    def parse() -> ParsedFooter:
        chunks = Chunks(footer, name)
        try:
            reader = open_footer(footer)
            schema = reader.schema_arrow
            columns = FileColumns.of(chunks.schema, schema, variants, exact)
            chunks.compare(len(columns.leaves), columns.repeated)
        except (pa.ArrowException, OSError, InvalidSchema, InvalidFile) as error:
            raise InvalidFile(f"{name}: {error}") from error
        return ParsedFooter(chunks, reader.metadata, schema, columns)

    if len(footer.raw) > CACHED_FOOTER:
        return parse()
    return _footers.get((footer.raw, footer.start, variants, exact, is_extension_registered()), parse)


class OpenFile:
    """A file's footer, parsed once, and methods to read its columns. Threads may share it."""

    def __init__(
        self,
        location: Location,
        store: Store | None = None,
        variants: Iterable[str | Names] = (),
        *,
        exact: bool = False,
        checksums: bool = True,
    ) -> None:
        """`variants` are columns that are Variants even if the file does not say so; with `exact`, the only
        ones.

        With `checksums`, pages that have a checksum are verified when they are read.
        """
        self.checksums = checksums
        self.source: Source = open_input(location, store)
        self._parsed = parse_footer(self.source.footer(), self.name, frozenset(variants), exact)
        self.chunks = self._parsed.chunks
        self.metadata = self._parsed.metadata
        self.arrow_schema = self._parsed.arrow_schema
        self.columns = self._parsed.columns
        self.tally = Tally(self.source)
        self._readers: dict[frozenset[int], list[PooledReader]] = {}
        self._indexes: dict[tuple[int, int], Pages | None] = {}
        self._page_schemas: dict[frozenset[int], PageSchema] = {}

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def leaves(self) -> dict[int, SchemaNode]:
        return self.columns.leaves

    @property
    def types(self) -> list[pa.DataType]:
        """The Arrow type of each leaf."""
        return self._parsed.types

    @property
    def row_group_bounds(self) -> dict[Leaves, Bounds | None]:
        """The bounds of row groups that queries have asked for so far."""
        return self._parsed.row_group_bounds

    def pages(self, groups: Iterable[int], columns: Iterable[int]) -> Mapping[tuple[int, int], Pages | None]:
        """The page index of some columns of some row groups; None for a column without a page index."""
        keys = [(group, column) for group in groups for column in columns]
        missing = [key for key in keys if key not in self._indexes]
        if missing:
            chunks = {key: (self.chunks.chunk(*key), self.chunks.row_counts[key[0]]) for key in missing}
            self._indexes.update(read_page_indexes(self.source, chunks))
        return {key: self._indexes[key] for key in keys}

    def read(self, group: int, columns: frozenset[int], rows: Rows) -> dict[str, pa.Array]:
        """Reads leaves of a row group for some rows, keyed by their top-level column.

        A nested column holds only the leaves that were requested; strings may be dictionary-encoded (`plain`
        decodes them).
        """
        return self.merged(
            [
                {
                    name: rows.pick(_one_chunk(column), coverage)
                    for name, column in zip(table.column_names, table.columns, strict=True)
                }
                for table, _, coverage in self._tables(group, columns, rows)
            ]
        )

    def read_leaves(self, group: int, columns: frozenset[int], rows: Rows) -> dict[int, pa.Array]:
        """Reads leaves that are nested only in structs, without the structs: null if a parent struct is null.

        Faster than `read`, which selects the rows of a struct level by level.
        """
        found: dict[int, pa.Array] = {}
        for table, held, coverage in self._tables(group, columns, rows):
            for column in held:
                first, *rest = self.leaves[column].path
                leaf = _one_chunk(table.column(first))
                for name in rest:
                    leaf = leaf.field(name)
                found[column] = rows.pick(leaf, coverage)
        return found

    def _tables(
        self, group: int, columns: frozenset[int], rows: Rows
    ) -> Iterator[tuple[pa.Table, Sequence[int], tuple[Range, ...]]]:
        """Tables of some of the columns, with the rows that they hold: whole chunks, or some pages."""
        chosen = self._choose(group, columns, rows)
        whole = sorted(columns - chosen.keys())
        if whole:
            everything = ((0, self.chunks.row_counts[group]),)
            yield self._checked(self._read_whole(group, whole), everything), whole, everything
        if chosen:
            reader = open_pages(
                self.source,
                self._page_schema(frozenset(chosen)),
                chosen,
                repeated=self.columns.repeated,
                checksums=self.checksums,
            )
            positions = {column: at for at, column in enumerate(sorted(chosen))}
            for coverage, alike in _by_coverage(chosen).items():
                table = self._table(reader, 0, [positions[column] for column in alike])
                yield self._checked(table, coverage), alike, coverage
        self.tally.add(group, {column: choice.chosen for column, choice in chosen.items()})
        self.tally.add(group, self._all_pages(group, whole))

    def _checked(self, table: pa.Table, coverage: tuple[Range, ...]) -> pa.Table:
        expected = sum(stop - start for start, stop in coverage)
        if table.num_rows != expected:
            raise InvalidFile(
                f"{self.name} is damaged: its pages hold {table.num_rows} rows instead of {expected}"
            )
        return table

    def plain(self, name: str, column: pa.Array) -> pa.Array:
        """Decodes the dictionary-encoded strings of a column that `read` returned."""
        table = pa.table({name: column})
        decoded = {
            names: Replacement(kind.value_type, lambda array: array.dictionary_decode())
            for names, kind in find_types(table.schema, pa.types.is_dictionary).items()
            if names not in self._declared_dictionaries
        }
        return _one_chunk(replace_columns(table, decoded).column(0)) if decoded else column

    @cached_property
    def _declared_dictionaries(self) -> frozenset[Names]:
        """Columns that the writer declared as dictionary-encoded."""
        return frozenset(find_types(self.arrow_schema, pa.types.is_dictionary))

    def merged(self, parts: list[dict[str, pa.Array]]) -> dict[str, pa.Array]:
        """Merges parts of columns that hold different leaves."""
        if len(parts) == 1:
            return parts[0]
        names = dict.fromkeys(name for part in parts for name in part)
        return {
            name: merge([part[name] for part in parts if name in part], self.arrow_schema.field(name).type)
            for name in names
        }

    def stream(
        self, group: int, columns: frozenset[int], batch_size: int
    ) -> Iterator[tuple[Range, dict[str, pa.Array]]]:
        """Yields leaves of a row group too large for memory in batches, with the rows of each batch."""
        reader = PooledReader(self, buffer_size=READ_BUFFER).reader
        self.tally.add(group, self._all_pages(group, columns))
        start = 0
        try:
            for batch in reader.iter_batches(batch_size, [group], sorted(columns), use_threads=True):
                batch.validate()
                self._require(group, not self._declared_dictionaries or dictionaries_fit(batch.columns))
                stop = start + batch.num_rows
                yield (start, stop), dict(zip(batch.schema.names, batch.columns, strict=True))
                start = stop
        except (pa.ArrowException, OSError) as error:
            raise InvalidFile(f"{self.name}, row group {group}: {error}") from error

    def close(self) -> None:
        """Closes the open files; the next read opens them again."""
        self.source.close()
        self._readers.clear()

    def _read_whole(self, group: int, columns: Sequence[int]) -> pa.Table:
        """Reads column chunks with pyarrow. Its reader is not thread-safe, so each thread uses its own."""
        dictionaries = self._dictionaries(group, columns)
        readers = self._readers.setdefault(frozenset(dictionaries), [])
        try:
            pooled = readers.pop()
        except IndexError:
            pooled = PooledReader(self, dictionaries=dictionaries)
        pooled.view.hold([self.chunks.chunk(group, column).extent for column in columns])
        try:
            return self._table(pooled.reader, group, columns, dictionaries)
        finally:
            pooled.view.release()
            readers.append(pooled)

    def _dictionaries(self, group: int, columns: Sequence[int]) -> list[int]:
        """The columns that pyarrow reads in half the time as dictionary-encoded.

        These are strings and binaries nested only in structs whose pages are all dictionary-encoded.
        """
        if len(columns) > FEW_COLUMNS:
            return []
        return [
            column
            for column in columns
            if _is_text(self.arrow_schema, self.leaves[column].path)
            and self.chunks.chunk(group, column).is_dictionary
        ]

    def _choose(self, group: int, columns: frozenset[int], rows: Rows) -> dict[int, ChosenPages]:
        """The pages to read of each column that is not read whole."""
        if rows.count == self.chunks.row_counts[group]:
            return {}
        chosen = {}
        for (_, column), pages in self.pages([group], columns - self.columns.in_maps).items():
            touched = () if pages is None else tuple(pages.touched(rows))
            if pages is not None and len(touched) < len(pages):
                chosen[column] = ChosenPages(self.chunks.chunk(group, column), pages, touched)
        return chosen

    def page_count(self, group: int, columns: Iterable[int]) -> int:
        """The number of data pages of some columns of a row group; 1 per column if it is unknown."""
        return sum(map(len, self._all_pages(group, columns).values()))

    def _all_pages(self, group: int, columns: Iterable[int]) -> dict[int, range]:
        found = {}
        for column in columns:
            pages = self.chunks.chunk(group, column).data_pages or len(
                self._indexes.get((group, column)) or ()
            )
            found[column] = range(pages or 1)
        return found

    def _page_schema(self, columns: frozenset[int]) -> PageSchema:
        if columns not in self._page_schemas:
            stored = self.metadata.metadata or {}
            arrow = self.arrow_schema if ARROW_SCHEMA in stored else None
            self._page_schemas[columns] = PageSchema.of(
                self.columns.schema, self.columns.elements, arrow, sorted(columns)
            )
        return self._page_schemas[columns]

    def _table(
        self,
        reader: pq.ParquetReader,
        group: int,
        columns: Sequence[int],
        dictionaries: Sequence[int] = (),
    ) -> pa.Table:
        try:
            # Reading one column takes less time than handing it to another thread.
            table = reader.read_row_groups([group], list(columns), use_threads=len(columns) > 1)
            table.validate()  # cheap, and the kernels trust their input
        except (pa.ArrowException, OSError) as error:
            raise InvalidFile(f"{self.name}, row group {group}: {error}") from error
        for column in dictionaries:
            path = self.leaves[column].path
            self._require(group, all(_is_inside(chunk, path[1:]) for chunk in table.column(path[0]).chunks))
        if self._declared_dictionaries:
            self._require(
                group, dictionaries_fit(chunk for column in table.columns for chunk in column.chunks)
            )
        return table

    def _require(self, group: int, fits: bool) -> None:
        if not fits:
            raise InvalidFile(f"{self.name}, row group {group}: a dictionary index is out of range")


class PooledReader:
    """A pyarrow reader of a file, and the view it reads through.

    Prefetching is done by `FileView.hold`, because pyarrow keeps fetched data until the file is closed.
    """

    def __init__(self, file: OpenFile, buffer_size: int = 0, dictionaries: Iterable[int] = ()) -> None:
        """`dictionaries` are columns that are read dictionary-encoded."""
        self.view = FileView(file.source)
        self.reader = open_reader(
            self.view,
            metadata=file.metadata,
            buffer_size=buffer_size,
            dictionaries=dictionaries,
            checksums=file.checksums,
        )


class Tally:
    """Counts what was read of a file since the last `reset`; the footer, read once, always counts.

    A page counts once, even if it is read for a whole Variant and again for one of its paths.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._footer_bytes = source.bytes_read
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        self._bytes_before = self._source.bytes_read - self._footer_bytes
        self._pages: dict[tuple[int, int], set[int]] = {}

    def add(self, group: int, pages: Mapping[int, Iterable[int]]) -> None:
        """Adds pages of some columns of a row group."""
        with self._lock:
            for column, numbers in pages.items():
                self._pages.setdefault((group, column), set()).update(numbers)

    @property
    def pages(self) -> int:
        return sum(map(len, self._pages.values()))

    @property
    def columns(self) -> set[int]:
        return {column for _, column in self._pages}

    @property
    def row_groups(self) -> set[int]:
        return {group for group, _ in self._pages}

    @property
    def bytes_read(self) -> int:
        return self._source.bytes_read - self._bytes_before


def _by_coverage(chosen: Mapping[int, ChosenPages]) -> dict[tuple[Range, ...], list[int]]:
    groups: dict[tuple[Range, ...], list[int]] = {}
    for column, choice in sorted(chosen.items()):
        groups.setdefault(choice.coverage, []).append(column)
    return groups


def _is_text(schema: pa.Schema, path: Sequence[str]) -> bool:
    """Whether a path leads only through structs to plain strings or binaries.

    >>> schema = pa.schema([("s", pa.struct([("t", pa.string())])), ("l", pa.list_(pa.string()))])
    >>> _is_text(schema, ("s", "t")), _is_text(schema, ("l", "list", "element"))
    (True, False)
    """
    kind: pa.Schema | pa.DataType = schema
    for name in path:
        holds_fields = isinstance(kind, pa.Schema | pa.StructType)
        if not holds_fields or len(kind.get_all_field_indices(name)) != 1:
            return False
        kind = kind.field(name).type
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _is_inside(array: pa.Array, path: Sequence[str]) -> bool:
    """Whether all dictionary indexes at the end of a path are in range, which pyarrow does not check."""
    leaf, way = array, []
    for name in path:
        way.append(leaf.type.get_field_index(name))
        leaf = leaf.field(way[-1])
    if dictionaries_fit([leaf]):
        return True
    for place in way:  # values under a null do not matter, but checking them takes longer
        array = array.flatten()[place]
    return dictionaries_fit([array])


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
