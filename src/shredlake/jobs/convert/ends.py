"""The two ends of a conversion: what is read, and the table that is written.

Parquet files without a log are read as a table that is only planned, whose files are added by hand.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shredlake.delta.log.files import as_adds
from shredlake.delta.log.listing import list_log
from shredlake.delta.log.snapshot import Snapshot, latest_snapshot, load_snapshot
from shredlake.delta.protocol.actions import Action, Add, Metadata, Protocol
from shredlake.delta.protocol.features import require_writable
from shredlake.delta.protocol.properties import carried, shredding_property
from shredlake.delta.schema.types import VARIANT, Struct, arrow_schema, from_arrow
from shredlake.delta.storage.storage import Entry, Storage, decode_path, encode_path, normalized_uri
from shredlake.delta.write.alter import redefined
from shredlake.delta.write.create import planned
from shredlake.delta.write.transaction import require_removable
from shredlake.errors import InvalidSchema, NotATable, TableExists
from shredlake.jobs.ingest.folder_columns import folder_fields, folder_texts, inferred_type
from shredlake.jobs.ingest.rejects import REASON_OF_ROW
from shredlake.kernels.arrow.types import is_variant

TEXT = "string"


@dataclass(frozen=True)
class Source:
    """The rows that are converted: a version of a table, or Parquet files."""

    snapshot: Snapshot
    adds: tuple[Add, ...]
    is_file: bool = False
    """A single Parquet file."""

    @property
    def is_table(self) -> bool:
        return self.snapshot.version >= 0

    @property
    def address(self) -> str:
        """The address of the table, the folder or the file."""
        uri = self.snapshot.storage.uri
        return f"{uri}/{decode_path(self.adds[0].path)}" if self.is_file else uri


@dataclass(frozen=True)
class Target:
    """The table that is written, and the actions that make it fit: its protocol and schema."""

    snapshot: Snapshot
    redefinition: tuple[Action, ...] = ()
    """For a conversion in place."""


def open_source(uri: str, columns: Sequence[str], options: Mapping[str, Any]) -> Source:
    """Opens a Delta table, a folder of Parquet files, or a single one."""
    storage = Storage(normalized_uri(uri), dict(options))
    if list_log(storage).latest is not None:
        snapshot = latest_snapshot(storage)
        return Source(snapshot, tuple(as_adds(snapshot.files.table())))
    return _parquet_source(storage, columns)


def _parquet_source(storage: Storage, columns: Sequence[str]) -> Source:
    file = _file_at(storage)
    is_file = file is not None
    keys = [entry for entry in storage.list() if _is_data(entry.path)] if file is None else [file[1]]
    if not keys:
        raise NotATable(
            f"{storage.uri} is neither a Delta table, a Parquet file nor a folder with Parquet files"
        )
    storage = storage if file is None else file[0]
    schemas = {entry.path: _schema(storage, entry.path) for entry in keys}
    # An interrupted conversion in place may have left new files, which have Variants, among the old ones.
    old = [entry for entry in keys if not _has_variants(schemas[entry.path], columns)] or keys
    folders = {} if is_file else {entry.path: folder_texts(entry.path) for entry in old}
    partitions = _folder_columns(storage.uri, folders)
    adds = tuple(
        Add(
            encode_path(entry.path), entry.size, int(entry.modified.timestamp() * 1000),
            folders.get(entry.path, {}),
        )
        for entry in old
    )  # fmt: skip
    common = _common_schema(storage, {entry.path: schemas[entry.path] for entry in old})
    inside = [field for field in common if field.name not in partitions]
    schema = pa.schema([*inside, *folder_fields(partitions)])
    return Source(planned(storage, schema, tuple(partitions), force=True), adds, is_file)


def _file_at(storage: Storage) -> tuple[Storage, Entry] | None:
    """The file that an address names instead of a folder, and the folder around it."""
    folder, _, name = storage.uri.rpartition("/")
    if storage.is_local:
        name = os.path.basename(storage.local_root)  # the URI has it percent-encoded
    is_bucket = folder.endswith(":/")
    if not (os.path.isfile(storage.local_root) if storage.is_local else _is_data(name) and not is_bucket):
        return None
    around = Storage(folder, storage.options)
    entry = around.head(name)
    return None if entry is None else (around, entry)


def _folder_columns(uri: str, folders: Mapping[str, Mapping[str, str | None]]) -> dict[str, str]:
    """The columns that the names of folders hold, and their types."""
    if not folders:
        return {}
    wanted = next(iter(folders.values()))
    for path, texts in folders.items():
        if list(texts) != list(wanted):
            raise InvalidSchema(
                f"{uri}: folders name different columns: {', '.join(wanted) or 'none'}; "
                f"{path}: {', '.join(texts) or 'none'}. Convert each part of the files by itself"
            )
    return {name: inferred_type(texts[name] for texts in folders.values()) for name in wanted}


def _common_schema(storage: Storage, schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    """The columns of all files. A file without a column has nulls in it; a type that differs is refused."""
    common = next(iter(schemas.values()))
    for path, schema in schemas.items():
        try:
            common = pa.unify_schemas([common, schema])
        except pa.ArrowException as error:
            raise InvalidSchema(
                f"{storage.uri}/{path} does not fit the files before it: {error}. Convert the files of each "
                "schema into a table of their own"
            ) from None
    return common


def _schema(storage: Storage, path: str) -> pa.Schema:
    with pq.ParquetFile(storage.open_input(path)) as file:
        return pa.schema([item.remove_metadata() for item in file.schema_arrow])


def _has_variants(schema: pa.Schema, columns: Sequence[str]) -> bool:
    return all(name in schema.names and is_variant(schema.field(name).type) for name in columns)


def _is_data(path: str) -> bool:
    return path.endswith(".parquet") and not any(part.startswith(("_", ".")) for part in path.split("/"))


def check_columns(source: Source, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns by the names that the source has for them; they must be strings and not partition it."""
    if isinstance(columns, str) or not columns:
        raise InvalidSchema(f"columns={columns!r}: name the string columns that have JSON, as a list")
    found = []
    uri, schema = source.address, source.snapshot.schema
    for name in columns:
        item = schema.get(name)
        if item is None:
            raise InvalidSchema(f"{uri} has no column {name!r}; it has {', '.join(schema.names)}")
        if item.name in source.snapshot.metadata.partition_columns:
            raise InvalidSchema(f"{uri} is partitioned by {item.name!r}, so it can't become a Variant")
        if item.type not in (TEXT, VARIANT):
            raise InvalidSchema(f"column {item.name!r} of {uri} is {item.type}; only strings hold JSON")
        found.append(item.name)
    return tuple(dict.fromkeys(found))


def check_rejects(storage: Storage, rows: pa.Schema) -> None:
    """Refuses a table that is not one of rejects, or can't take these rows, before any work."""
    if list_log(storage).latest is None:
        return
    found, wanted = load_snapshot(storage).schema, from_arrow(rows)
    if found.get(REASON_OF_ROW) is None:
        raise InvalidSchema(
            f"{storage.uri} is not a rejects table of a conversion: it has {', '.join(found.names)}. "
            "Name another table with rejects= (--rejects)"
        )
    for item in found:
        same = wanted.get(item.name)
        if (same is None and not item.nullable) or (same is not None and same.type != item.type):
            raise InvalidSchema(
                f"{storage.uri} holds rejects of another job, and its column {item.name!r} does not fit rows "
                "of this one. Name another table with rejects= (--rejects)"
            )


def is_converted(source: Source, columns: Sequence[str]) -> bool:
    """Whether the columns are already Variants."""
    kinds = {source.snapshot.schema.get(name).type for name in columns}  # type: ignore[union-attr]
    if kinds == {TEXT, VARIANT}:
        raise InvalidSchema(f"some of {', '.join(columns)} are already Variants; name only the others")
    return kinds == {VARIANT}


def plan_target(
    source: Source, columns: Sequence[str], address: str | None, shredded: bool, options: Mapping[str, Any]
) -> Target:
    """The table to write: the source itself, or a new one at an address."""
    schema = Struct(
        tuple(
            replace(item, type=VARIANT, metadata=_kept(item.metadata)) if item.name in columns else item
            for item in source.snapshot.schema.fields
        )
    )
    wanted = shredding_property(shredded)
    if address is None and source.is_table:
        snapshot = source.snapshot
        require_writable(snapshot.protocol, snapshot.storage.uri)
        require_removable(snapshot)
        actions = redefined(snapshot, schema, {**snapshot.properties, **wanted})
        metadata = next((one for one in actions if isinstance(one, Metadata)), snapshot.metadata)
        protocol = next((one for one in actions if isinstance(one, Protocol)), snapshot.protocol)
        return Target(replace(snapshot, metadata=metadata, protocol=protocol), tuple(actions))
    if address is None and source.is_file:
        raise InvalidSchema("a single file can't be converted in place; name the table to write")
    storage = source.snapshot.storage if address is None else Storage(normalized_uri(address), dict(options))
    if list_log(storage).latest is not None:
        raise TableExists(f"{storage.uri} is already a table; name another address for the copy")
    properties = carried(source.snapshot.settings, shredded=True)
    partition_by = source.snapshot.metadata.partition_columns
    return Target(planned(storage, arrow_schema(schema), partition_by, {**properties, **wanted}, force=True))


def _kept(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Column metadata that holds for a Variant too; a collation or length of a string does not."""
    return {
        key: value for key, value in metadata.items() if key == "comment" or key.startswith("delta.column")
    }
