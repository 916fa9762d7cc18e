"""An open Parquet file, read by leaves and rows.

Where every row of a column is wanted, pyarrow reads the column chunk itself. Where rows are chosen and the
file has a page index, only their pages are fetched and decoded (`pages.py`). Columns read apart are put
together again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shredlake.errors import InvalidFile, InvalidSchema
from shredlake.parquet.format.chunks import Chunks
from shredlake.parquet.format.row_ranges import Range, Rows
from shredlake.parquet.format.schema import SchemaNode
from shredlake.parquet.io.source import FileView, Location, Source, open_input
from shredlake.parquet.nested import Names, Replacement, find_types, leaf_types, merge, replace_columns
from shredlake.parquet.read.access import FileColumns
from shredlake.parquet.read.pages import (
    ARROW_SCHEMA,
    ChosenPages,
    Pages,
    PageSchema,
    open_footer,
    open_pages,
    open_reader,
    read_page_indexes,
)

READ_BUFFER: Final = 1 << 20
"""Bytes of each column that streaming keeps at hand."""

FEW_COLUMNS: Final = 16
"""Up to so many columns, each is looked at whether it is best read as indexes into its dictionary."""


class OpenFile:
    """A file's footer, parsed once, and the ways to read its columns. Threads may share it."""

    def __init__(
        self,
        location: Location,
        store: Any = None,
        variants: Iterable[str | Names] = (),
        *,
        exact: bool = False,
        checksums: bool = True,
    ) -> None:
        """`variants` are columns that are Variants whatever the file says; with `exact`, no others are.

        With `checksums`, pages that have one are compared with it when they are read.
        """
        self.checksums = checksums
        self.source: Source = open_input(location, store)
        footer = self.source.footer()
        self.chunks = Chunks(footer, self.name)
        try:
            reader = open_footer(footer)
            self.metadata: pq.FileMetaData = reader.metadata
            self.arrow_schema: pa.Schema = reader.schema_arrow
            self.columns = FileColumns.of(self.chunks.schema, self.arrow_schema, variants, exact)
            self.chunks.compare(len(self.columns.leaves), self.columns.repeated)
        except (pa.ArrowException, OSError, InvalidSchema, InvalidFile) as error:
            raise InvalidFile(f"{self.name}: {error}") from error
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

    @cached_property
    def types(self) -> list[pa.DataType]:
        """The Arrow type of each leaf."""
        return leaf_types(self.arrow_schema)

    def pages(self, groups: Iterable[int], columns: Iterable[int]) -> Mapping[tuple[int, int], Pages | None]:
        """The page index of some columns of some row groups; None where the file has none."""
        keys = [(group, column) for group in groups for column in columns]
        missing = [key for key in keys if key not in self._indexes]
        if missing:
            chunks = {key: (self.chunks.chunk(*key), self.chunks.row_counts[key[0]]) for key in missing}
            self._indexes.update(read_page_indexes(self.source, chunks))
        return {key: self._indexes[key] for key in keys}

    def read(self, group: int, columns: frozenset[int], rows: Rows) -> dict[str, pa.Array]:
        """Leaves of a row group, for some rows: by the name of the top-level column they belong to.

        A nested column holds only the leaves asked for; texts may come as indexes (`plain` makes texts of
        them).
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
        """Leaves that lie in structs alone, without these: null where one around them is.

        Sooner done than `read`, for a struct's rows are picked level by level.
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
        """Tables of some of the columns, and the rows that they hold: whole chunks, or pages of them."""
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
        pages = sum(len(choice.chosen) for choice in chosen.values())
        self.tally.add(group, columns, pages + self.page_count(group, whole))

    def _checked(self, table: pa.Table, coverage: tuple[Range, ...]) -> pa.Table:
        expected = sum(stop - start for start, stop in coverage)
        if table.num_rows != expected:
            raise InvalidFile(f"{self.name} is damaged: pages of {expected} rows hold {table.num_rows}")
        return table

    def plain(self, name: str, column: pa.Array) -> pa.Array:
        """A column as `read` gave it, with texts in place of indexes into dictionaries."""
        table = pa.table({name: column})
        decoded = {
            names: Replacement(kind.value_type, lambda array: array.dictionary_decode())
            for names, kind in find_types(table.schema, pa.types.is_dictionary).items()
            if names not in self._declared_dictionaries
        }
        return _one_chunk(replace_columns(table, decoded).column(0)) if decoded else column

    @cached_property
    def _declared_dictionaries(self) -> frozenset[Names]:
        """Columns that the writer wants to be seen as indexes."""
        return frozenset(find_types(self.arrow_schema, pa.types.is_dictionary))

    def merged(self, parts: list[dict[str, pa.Array]]) -> dict[str, pa.Array]:
        """Columns of which several parts hold different leaves, whole again as far as they were read."""
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
        """Leaves of a row group too large to hold: batch by batch, with the rows of each batch."""
        reader = PooledReader(self, buffer_size=READ_BUFFER).reader
        self.tally.add(group, columns, self.page_count(group, columns))
        start = 0
        try:
            for batch in reader.iter_batches(batch_size, [group], sorted(columns), use_threads=True):
                batch.validate()
                stop = start + batch.num_rows
                yield (start, stop), dict(zip(batch.schema.names, batch.columns, strict=True))
                start = stop
        except (pa.ArrowException, OSError) as error:
            raise InvalidFile(f"{self.name}, row group {group}: {error}") from error

    def close(self) -> None:
        """Gives up what is held open; reading opens it again."""
        self.source.close()
        self._readers.clear()

    def _read_whole(self, group: int, columns: Sequence[int]) -> pa.Table:
        """Column chunks as pyarrow reads them. Its reader is not made for threads: each takes its own."""
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
        """The columns that pyarrow reads in half the time as indexes.

        They are texts and bytes that lie in structs alone, all of their pages in terms of a dictionary.
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
        """The pages to read of each column of which not all are wanted."""
        if rows.count == self.chunks.row_counts[group]:
            return {}
        chosen = {}
        for (_, column), pages in self.pages([group], columns - self.columns.in_maps).items():
            touched = () if pages is None else tuple(pages.touched(rows))
            if pages is not None and len(touched) < len(pages):
                chosen[column] = ChosenPages(self.chunks.chunk(group, column), pages, touched)
        return chosen

    def page_count(self, group: int, columns: Iterable[int]) -> int:
        """All data pages of some columns of a row group; one each where the footer does not count."""
        return sum(self.chunks.chunk(group, column).data_pages or 1 for column in columns)

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
            # One column is sooner read than handed to another thread and back.
            table = reader.read_row_groups([group], list(columns), use_threads=len(columns) > 1)
            table.validate()  # costs next to nothing, and the kernels trust what they get
        except (pa.ArrowException, OSError) as error:
            raise InvalidFile(f"{self.name}, row group {group}: {error}") from error
        for column in dictionaries:
            path = self.leaves[column].path
            if not all(_is_inside(chunk, path[1:]) for chunk in table.column(path[0]).chunks):
                raise InvalidFile(f"{self.name}, row group {group}: an index leads beyond its dictionary")
        return table


class PooledReader:
    """A pyarrow reader of a file, and the view it reads through.

    Fetching ahead is ours (`FileView.hold`): pyarrow keeps what it fetched until the file is closed.
    """

    def __init__(self, file: OpenFile, buffer_size: int = 0, dictionaries: Iterable[int] = ()) -> None:
        """`dictionaries` are columns that come as indexes into a dictionary."""
        self.view = FileView(file.source)
        self.reader = open_reader(
            self.view,
            metadata=file.metadata,
            buffer_size=buffer_size,
            dictionaries=dictionaries,
            checksums=file.checksums,
        )


class Tally:
    """What was read of a file since the last `reset`; the footer, read once, always counts."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._footer_bytes = source.bytes_read
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        self._bytes_before = self._source.bytes_read - self._footer_bytes
        self.pages = 0
        self.columns: set[int] = set()
        self.row_groups: set[int] = set()

    def add(self, group: int, columns: Iterable[int], pages: int) -> None:
        with self._lock:
            self.pages += pages
            self.columns.update(columns)
            self.row_groups.add(group)

    @property
    def bytes_read(self) -> int:
        return self._source.bytes_read - self._bytes_before


def _by_coverage(chosen: Mapping[int, ChosenPages]) -> dict[tuple[Range, ...], list[int]]:
    groups: dict[tuple[Range, ...], list[int]] = {}
    for column, choice in sorted(chosen.items()):
        groups.setdefault(choice.coverage, []).append(column)
    return groups


def _is_text(schema: pa.Schema, path: Sequence[str]) -> bool:
    """Whether a way through structs, and through nothing else, leads to plain texts or bytes.

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
    """Whether all indexes at the end of a path lie in their dictionary: pyarrow does not look."""
    leaf, way = array, []
    for name in path:
        way.append(leaf.type.get_field_index(name))
        leaf = leaf.field(way[-1])
    if _bounded(leaf):
        return True
    for place in way:  # what lies under a null counts for nothing; looking at that takes longer
        array = array.flatten()[place]
    return _bounded(array)


def _bounded(array: pa.DictionaryArray) -> bool:
    low, high = (end.as_py() for end in pc.min_max(array.indices).values())
    return low is None or (low >= 0 and high < len(array.dictionary))


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
