"""Data files: Arrow batches in, `add` actions out.

A `FileSpec` holds all settings for the files that one operation writes. It can be pickled, so Spark's workers
get it from the driver and write with the same code. A `DataFileWriter` writes one file of one partition.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.protocol.features import supports
from shredlake.delta.protocol.layout_tag import LAYOUT_TAG
from shredlake.delta.read.conform import physical
from shredlake.delta.schema import partitions
from shredlake.delta.schema.names import resolve
from shredlake.delta.schema.types import Array, Map, Struct, arrow_schema, contains
from shredlake.delta.schema.variants import variant_places
from shredlake.delta.stats.collect import StatsPolicy, file_stats, leaf_columns
from shredlake.delta.storage.storage import Storage, encode_path
from shredlake.delta.write.cleanup import remove_quietly
from shredlake.delta.write.layout import may_shred
from shredlake.errors import InvalidSchema
from shredlake.parquet.write.writer import FileFacts, ParquetWriter, WriteOptions
from shredlake.variant.identifiers import quote

# The number of Arrow bytes after which a new file is started. Files on disk have about a quarter of this
# size.
DEFAULT_FILE_BYTES = 1 << 29


@dataclass(frozen=True)
class FileSpec:
    """The settings that all files of one write share."""

    storage: Storage
    schema: Struct
    partition_columns: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    shredding: Mapping[str, str] = field(default_factory=dict)
    """DDL per Variant column, by dotted physical name; a column without one is not shredded."""
    may_shred: bool = False
    """Whether the table allows shredding; if not, `shredding` has no effect."""
    stats: StatsPolicy = field(default_factory=StatsPolicy)
    variant_bounds: bool = False
    """Whether statistics may hold bounds of Variants, which requires the shredding feature."""
    options: WriteOptions = field(default_factory=WriteOptions)
    directory: str = ""
    """The folder below the root: `_change_data/` for change files."""
    prefix: str = "part"

    def physical_bloom_filters(self) -> tuple[str, ...]:
        """The columns and paths that get a Bloom filter, in the names that files have."""
        return tuple(_physical_reference(name, self.schema) for name in self.options.bloom_filters)

    def shredding_of_groups(self) -> dict[str, str | None]:
        """DDL for each Variant in a file, by dotted physical name; None for unshredded."""
        places = (place.physical for place in variant_places(self.data_schema))
        return {name: self.shredding.get(name) if self.may_shred else None for name in places}

    @property
    def data_schema(self) -> Struct:
        """The columns that files hold: all but the partition columns and those of type void."""
        return Struct(
            tuple(
                item
                for item in self.schema.fields
                if item.name not in self.partition_columns and item.type != "void"
            )
        )


def _physical_reference(name: str, schema: Struct) -> str:
    """A column, or a path into one, by its physical name.

    >>> from shredlake.delta.schema.types import Field
    >>> schema = Struct((Field("v", "variant", metadata={"delta.columnMapping.physicalName": "col-1"}),))
    >>> _physical_reference("v:user.id", schema)
    '`col-1`:user.id'
    >>> odd = Struct((Field("it`s", "variant"),))
    >>> _physical_reference("`it``s`:user.id", odd)
    '`it``s`:user.id'
    """
    column, colon, path = name.partition(":")
    names = [field.physical_name for field in resolve(schema, column)]
    return ".".join(map(quote, names)) + colon + path if colon else ".".join(names)


class DataFileWriter:
    """Writes one data file.

    Batches come with the table's logical names and types (see `conform`), without partition columns.
    """

    def __init__(self, spec: FileSpec, partition: Mapping[str, Any] | None = None) -> None:
        self.spec = spec
        self.values = {
            _physical(spec.schema, name): partitions.serialize(value)
            for name, value in (partition or {}).items()
        }
        by_name = {name: partitions.serialize(value) for name, value in (partition or {}).items()}
        name = f"{spec.prefix}-{uuid.uuid4()}.c000.{_suffix(spec.options)}parquet"
        self.path = f"{spec.directory}{partitions.directory(by_name)}{name}"
        self._nulls: dict[tuple[str, ...], int] = {
            leaf.physical: 0 for leaf in leaf_columns(spec.data_schema) if isinstance(leaf.type, Array | Map)
        }
        with self._writing():
            location, store = spec.storage.destination(self.path)
            self._writer = ParquetWriter(
                location,
                arrow_schema(spec.data_schema, physical=True),
                shredding=spec.shredding_of_groups(),
                options=replace(spec.options, bloom_filters=spec.physical_bloom_filters()),
                store=store,
                variants={place.groups for place in variant_places(spec.data_schema)},
            )

    def _writing(self) -> AbstractContextManager[None]:
        """Turns errors of the disk or the store into errors of the table."""
        return self.spec.storage.doing("written", self.path)

    def write(self, data: pa.Table | pa.RecordBatch) -> None:
        """Writes rows."""
        table = data if isinstance(data, pa.Table) else pa.Table.from_batches([data])
        table = physical(table, self.spec.data_schema)
        for names in self._nulls:
            self._nulls[names] += _null_count(table, names)
        with self._writing():
            self._writer.write(table)

    @property
    def measured(self) -> tuple[int, int]:
        """The Arrow bytes of the rows written so far, and the bytes that they take in the file."""
        return self._writer.measured

    @property
    def facts(self) -> FileFacts:
        """The facts of the finished file."""
        assert self._writer.facts is not None
        return self._writer.facts

    def close(self) -> Add:
        """Finishes the file and returns its action. If that fails, no file is left."""
        try:
            with self._writing():
                facts = self._writer.close()
            return self._action(facts)
        except Exception:
            remove_quietly(self.spec.storage, [self.path])
            raise

    def _action(self, facts: FileFacts) -> Add:
        spec = self.spec
        stats = file_stats(
            facts,
            spec.schema,
            spec.partition_columns,
            spec.stats,
            self._nulls,
            variant_bounds=spec.variant_bounds,
        )
        return Add(
            path=encode_path(self.path),
            size=facts.size,
            modification_time=int(time.time() * 1000),
            partition_values=self.values,
            stats=stats,
            tags={LAYOUT_TAG: facts.layout_json()},
        )

    def abort(self) -> None:
        """Discards the file."""
        self._writer.abort()

    def __enter__(self) -> DataFileWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.abort()


def write_files(spec: FileSpec, table: pa.Table, file_bytes: int = DEFAULT_FILE_BYTES) -> Iterator[Add]:
    """Writes a conformed table to as many files as its partitions and size require."""
    for values, rows in partitions.split(table, spec.schema, spec.partition_columns):
        count = max(1, -(-rows.nbytes // file_bytes))
        step = max(1, -(-rows.num_rows // count))
        for start in range(0, max(rows.num_rows, 1), step):
            with DataFileWriter(spec, values) as writer:
                writer.write(rows.slice(start, step))
                yield writer.close()


def _physical(schema: Struct, name: str) -> str:
    found = schema.get(name)
    return name if found is None else found.physical_name


def _suffix(options: WriteOptions) -> str:
    """The suffix of a file name, which shows the codec to people: `zstd.parquet`."""
    known = ("zstd", "snappy", "gzip")
    return f"{options.compression}." if options.compression in known else ""


def _null_count(table: pa.Table, names: tuple[str, ...]) -> int:
    column = table.column(names[0])
    for name in names[1:]:
        column = pc.struct_field(column, [name])  # null where the struct is
    return int(column.null_count)


_LEVELLED = ("gzip", "brotli")


def file_spec(
    snapshot: Snapshot, shredding: Mapping[str, str], options: WriteOptions | None = None
) -> FileSpec:
    """The settings that the files of one write share."""
    check_writable_types(snapshot)
    places = {place.physical for place in snapshot.variants}  # without dropped columns
    return FileSpec(
        storage=snapshot.storage,
        schema=snapshot.schema,
        partition_columns=snapshot.metadata.partition_columns,
        properties=dict(snapshot.properties),
        shredding={name: ddl for name, ddl in shredding.items() if name in places},
        may_shred=may_shred(snapshot),
        stats=StatsPolicy.of(snapshot.settings, snapshot.clustering_columns),
        variant_bounds=supports(snapshot.protocol, "variantShredding"),
        options=write_options(snapshot, options),
    )


def write_options(snapshot: Snapshot, options: WriteOptions | None) -> WriteOptions:
    """The options given, with the codec that the table asks for."""
    given = options or WriteOptions()
    codec = snapshot.settings.codec
    if codec is None:
        return given
    return replace(given, compression=codec, compression_level=3 if codec in _LEVELLED else None)


def check_writable_types(snapshot: Snapshot) -> None:
    """Refuses tables whose files can't be written.

    Files omit void columns, which is not possible inside lists and maps. A file without columns has no rows.
    """
    inside = [f for f in snapshot.schema.fields if f.name not in snapshot.metadata.partition_columns]
    if all(item.type == "void" for item in inside):
        raise InvalidSchema(
            f"{snapshot.storage.uri} can't be written: apart from partition columns all columns are of "
            "type void, and files hold no such columns, so rows would be lost. Add a column of another type"
        )
    for item in snapshot.schema.fields:
        if item.type != "void" and contains(item.type, "void"):
            raise InvalidSchema(
                f"column {item.name} contains a void type; files of such a table can't be written. "
                "Change the type of that field first"
            )
