"""`Table`: the public face of a Delta table, above `delta` and `jobs`: its methods call both."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Concatenate, ParamSpec, Unpack

import pyarrow as pa

from shredlake.delta.check.check import check_storage
from shredlake.delta.check.findings import TableCheck
from shredlake.delta.log import history as history_
from shredlake.delta.log.listing import as_version, version_at
from shredlake.delta.log.snapshot import Snapshot, latest_snapshot, load_snapshot
from shredlake.delta.protocol.actions import Protocol, TransactionId
from shredlake.delta.protocol.features import require_writable
from shredlake.delta.protocol.properties import CHECK_PREFIX
from shredlake.delta.read.changes import changes
from shredlake.delta.read.scan import TableScan, check_rows
from shredlake.delta.report import MEASURED_FILES
from shredlake.delta.report.report import TableReport, table_report
from shredlake.delta.storage.storage import Storage, normalized_uri
from shredlake.delta.write import alter
from shredlake.delta.write.append import append
from shredlake.delta.write.checkpoint import write_checkpoint
from shredlake.delta.write.commit import commit
from shredlake.delta.write.create import create, planned, shredded_by_default
from shredlake.delta.write.delete import delete
from shredlake.delta.write.overwrite import overwrite
from shredlake.delta.write.restore import restore
from shredlake.delta.write.transaction import NOTHING, WHOLE_TABLE, Operation
from shredlake.delta.write.vacuum import vacuum
from shredlake.errors import TableError
from shredlake.expr import Expr, Projection
from shredlake.formatting import html_facts
from shredlake.jobs.arguments import RewriteArguments
from shredlake.jobs.optimize import OptimizeReport
from shredlake.jobs.verbs import optimize
from shredlake.kernels.cast_options import CastOptions
from shredlake.parquet.arrow_stream import columns_text
from shredlake.parquet.given import Rows
from shredlake.parquet.write.writer import WriteOptions
from shredlake.shredding.request import Shredding
from shredlake.signatures import options_of

_log = logging.getLogger(__name__)

Given = ParamSpec("Given")


class Table:
    """A Delta table at one version: the latest, or the one asked for.

    `uri` is a path or URL (`s3://bucket/table`); `storage_options` go to the object store. A table opened at
    a version or time of the past can only be read. Writing moves the object on to the version it wrote.

    >>> import pyarrow as pa, shredlake as sl
    >>> schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    >>> t = Table.create("memory://docs/events", schema)
    >>> t.append(pa.table({"id": [1, 2], "v": sl.from_json(pa.array(['{"a": 1}', '{"a": 5}']))}))
    1
    >>> t.scan(["id", "v:a::bigint AS a"], where="v:a::bigint > 2").to_arrow().to_pylist()
    [{'id': 2, 'a': 5}]
    """

    def __init__(
        self,
        uri: str | os.PathLike[str],
        version: int | None = None,
        timestamp: datetime | str | int | None = None,
        *,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        if version is not None and timestamp is not None:
            raise TableError("a table is opened at a version or at a timestamp, not both")
        self._storage = Storage(normalized_uri(uri), storage_options or {})
        self._travelled = version is not None or timestamp is not None
        if timestamp is not None:
            latest = load_snapshot(self._storage)
            version = version_at(self._storage, timestamp, history_.enabled_since(latest))
        if version is not None:
            version = as_version(version)
        self._loaded: Snapshot | None = load_snapshot(self._storage, version)

    @classmethod
    def create(
        cls,
        uri: str | os.PathLike[str],
        schema: pa.Schema,
        partition_by: Sequence[str] = (),
        properties: Mapping[str, Any] | None = None,
        *,
        cluster_by: Sequence[str] = (),
        name: str | None = None,
        description: str | None = None,
        force: bool = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Table:
        """Creates an empty table. A folder that holds other files is refused unless `force` is set.

        Protocol and features follow from the schema and the properties. Variants are shredded, unless
        `delta.enableVariantShredding` is `false`. Column metadata of Arrow fields
        (`delta.generationExpression`, `CURRENT_DEFAULT`, `delta.invariants`) goes into the table.

        >>> import pyarrow as pa
        >>> Table.create("memory://docs/plain", pa.schema([("id", pa.int64())])).version
        0
        """
        storage = Storage(normalized_uri(uri), storage_options or {})
        table = planned(
            storage,
            schema,
            partition_by,
            shredded_by_default(schema, properties),
            cluster_by=cluster_by,
            name=name,
            description=description,
            force=force,
        )
        create(table, cluster_by)
        return cls._at(storage)

    @classmethod
    def _at(cls, storage: Storage) -> Table:
        """A table whose first version was just committed."""
        table = cls.__new__(cls)
        table._storage = storage
        table._travelled = False
        table._moved(0)
        return table

    # ── Facts ───────────────────────────────────────────────────────────────────────────────────────────

    def __repr__(self) -> str:
        return f"Table({self.uri!r}, version={self.version})"

    def _repr_html_(self) -> str:
        partitions = ", ".join(self.partition_columns)
        return html_facts(
            {
                "Table": f"{self.uri} version {self.version}",
                "columns": columns_text(self.schema),
                **({"partitions": partitions} if partitions else {}),
                "files": f"{len(self.snapshot.files):,}",
            }
        )

    @property
    def uri(self) -> str:
        return self._storage.uri

    @property
    def is_pinned(self) -> bool:
        """Whether the table was opened at a version or time of its own, and so can only be read."""
        return self._travelled

    @property
    def snapshot(self) -> Snapshot:
        """The open version, as the log describes it."""
        if self._loaded is None:
            self._loaded = load_snapshot(self._storage)
        return self._loaded

    @property
    def version(self) -> int:
        return self.snapshot.version

    @property
    def schema(self) -> pa.Schema:
        """Columns and types as Arrow has them; a Variant column is `sl.variant()`."""
        return self.snapshot.arrow_schema

    @property
    def protocol(self) -> Protocol:
        return self.snapshot.protocol

    @property
    def properties(self) -> Mapping[str, str]:
        return self.snapshot.properties

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return self.snapshot.metadata.partition_columns

    def files(self) -> pa.Table:
        """The live files: one row each, columns as in an `add` action of the protocol.

        >>> from shredlake.example import example_table
        >>> t = example_table("files")
        >>> t.files().column("size").type, t.files().num_rows
        (DataType(int64), 1)
        """
        return self.snapshot.files.table()

    def history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """The operations on the table, newest first.

        >>> from shredlake.example import example_table
        >>> [(entry["version"], entry["operation"]) for entry in example_table("history").history()]
        [(1, 'WRITE'), (0, 'CREATE TABLE')]
        """
        return list(history_.history(self.snapshot, limit))

    def report(self, *, files: int = MEASURED_FILES) -> TableReport:
        """Reports on the table: paths, bytes, what queries can skip, growth, suggestions.

        Bytes and fill are measured in at most `files` files. `report().html()` is an HTML page.

        >>> from shredlake.example import example_table
        >>> [path.path for path in example_table("reported").report().paths["v"]]
        ['a']
        """
        return table_report(self.snapshot, files=files)

    def refresh(self) -> Table:
        """Moves to the latest version.

        >>> from shredlake.example import example_table
        >>> t = example_table("refresh")
        >>> _ = Table(t.uri).delete("id = 1")
        >>> t.version, t.refresh().version
        (1, 2)
        """
        self._loaded = latest_snapshot(self._storage, self._loaded)
        self._travelled = False
        return self

    # ── Reading ─────────────────────────────────────────────────────────────────────────────────────────

    def scan(
        self,
        columns: str | Sequence[str | Projection] | None = None,
        where: str | Expr | None = None,
        *,
        strict: bool = False,
        timezone: str = "UTC",
        threads: int | None = None,
        checksums: bool = True,
    ) -> TableScan:
        """A lazy query: `to_arrow()`, `to_batches()`, `count()`, `explain()`.

        `columns` (a list, or one string as after SELECT) and `where` (a condition) are Spark SQL, such as
        `v:user.id::bigint AS user`. Files are pruned by partition values and statistics, also of paths into
        Variants. With `strict`, a value that can't be cast is an error rather than null. Pages are compared
        with their checksums, unless `checksums=False`.

        >>> from shredlake.example import example_table
        >>> t = example_table("scan")
        >>> t.scan(["id", "v:a::bigint AS a"], where="v:a::bigint > 10").to_arrow().to_pylist()
        [{'id': 2, 'a': 20}]
        >>> t.scan(where="v:a::bigint > 20").files().num_rows
        0
        """
        return TableScan(
            self.snapshot,
            columns,
            where,
            options=CastOptions.of(strict=strict, timezone=timezone),
            threads=threads,
            checksums=checksums,
        )

    # ── Writing ─────────────────────────────────────────────────────────────────────────────────────────

    def append(
        self,
        data: Rows,
        *,
        shredding: Shredding = "infer",
        options: WriteOptions | None = None,
        transaction: TransactionId | None = None,
        schema_mode: alter.SchemaMode = "strict",
    ) -> int:
        """Adds rows and returns the new version.

        `data` is an Arrow table, batch or reader, a pandas or Polars frame, anything with an Arrow stream, a
        list of dicts or a dict of lists; in the last two, Python objects in Variant columns become Variants.
        Values are converted only where nothing is lost. Variant columns are shredded if the table allows it:
        as pinned (`shredlake.shredding.<column>`), else as `shredding` says. `shredding` is "infer" (close to
        the layout of the table's newest file), a schema or DDL per column, or None for unshredded.
        `transaction=(application, number)` makes the append happen once. `schema_mode="merge"` adds columns
        that the table lacks; without it, such rows are refused.

        >>> import shredlake as sl
        >>> from shredlake.example import example_table
        >>> t = example_table("append")
        >>> more = pa.table({"id": [3], "v": sl.from_json(pa.array(['{"a": 30}']))})
        >>> t.append(more, transaction=("loader", 7)), t.append(more, transaction=("loader", 7))
        (2, 2)
        >>> t.scan().count()
        3
        >>> t.append([{"id": 4, "day": "Monday"}], schema_mode="merge")
        3
        >>> t.schema.names
        ['id', 'v', 'day']
        """
        return self._commit(
            append,
            data,
            shredding=shredding,
            options=options,
            transaction=transaction,
            schema_mode=schema_mode,
        )

    def overwrite(
        self,
        data: Rows,
        *,
        where: str | Expr | None = None,
        partitions: bool = False,
        shredding: Shredding = "infer",
        options: WriteOptions | None = None,
    ) -> int:
        """Replaces all rows; with `where` only the rows for which it is true, with `partitions=True` only the
        partitions that occur in `data`. Returns the new version.

        >>> import shredlake as sl
        >>> from shredlake.example import example_table
        >>> t = example_table("overwrite")
        >>> t.overwrite(pa.table({"id": [2], "v": sl.from_json(pa.array(['{"a": 21}']))}), where="id = 2")
        2
        >>> sorted(t.scan(["v:a::int AS a"]).to_arrow().column("a").to_pylist())
        [10, 21]
        """
        return self._commit(
            overwrite, data, where=where, by_partition=partitions, shredding=shredding, options=options
        )

    def delete(self, where: str | Expr | None = None) -> int:
        """Deletes the rows for which `where` is true, by default all rows. Returns the new version.

        >>> from shredlake.example import example_table
        >>> t = example_table("delete")
        >>> t.delete("v:a::bigint = 10"), t.scan().count()
        (2, 1)
        """
        return self._commit(delete, where)

    def add_column(self, *fields: pa.Field) -> int:
        """Adds columns at the end; they are null in existing rows.

        >>> from shredlake.example import example_table
        >>> t = example_table("columns")
        >>> t.add_column(pa.field("note", pa.string())), t.schema.names
        (2, ['id', 'v', 'note'])
        """
        snapshot = self._writable()
        actions = alter.with_columns(snapshot, fields)
        names = [field.name for field in fields]
        return self._moved(commit(snapshot, actions, Operation("ADD COLUMNS", {"columns": names}), NOTHING))

    def set_properties(self, properties: Mapping[str, Any]) -> int:
        """Sets properties, or unsets those whose value is None.

        A property that needs a table feature adds it to the protocol. A new CHECK constraint
        (`delta.constraints.<name>`) is first checked against the rows that are there.

        >>> import shredlake as sl
        >>> from shredlake.example import example_table
        >>> t = example_table("properties")
        >>> t.set_properties({"delta.constraints.positive": "v:a::bigint > 0"})
        2
        >>> t.append(pa.table({"id": [3], "v": sl.from_json(pa.array(['{"a": -1}']))}))
        Traceback (most recent call last):
        ...
        shredlake.errors.ConstraintViolation: row 0 breaks the CHECK constraint positive ...
        """
        snapshot = self._writable()
        actions = alter.with_properties(snapshot, properties)
        if not actions:
            return self.version
        checks = alter.new_checks(properties)
        for name in checks:
            check_rows(snapshot, name, str(properties[CHECK_PREFIX + name]))
        operation = Operation("SET TBLPROPERTIES", {"properties": dict(properties)})
        return self._moved(commit(snapshot, actions, operation, WHOLE_TABLE if checks else NOTHING))

    @options_of(optimize)
    def optimize(self, *, threads: int | None = None, **options: Unpack[RewriteArguments]) -> OptimizeReport:
        """Compacts, sorts and re-shreds the files in one commit that changes no row; see `sl.optimize`.

        >>> from shredlake.example import example_table
        >>> t = example_table("optimize")
        >>> _ = t.append([{"id": 3, "v": {"a": 30}}])
        >>> report = t.optimize(sort_by="v:a::bigint DESC")
        >>> report.files_before, report.files_after, t.version == report.version
        (2, 1, True)
        """
        self._writable()
        report = optimize(self.uri, threads=threads, storage_options=self._storage.options, **options)
        self._moved(report.version)
        return report

    # ── Care ────────────────────────────────────────────────────────────────────────────────────────────

    def checkpoint(self) -> str:
        """Writes a checkpoint of the open version, so that opening the table reads less log; returns its key.

        Commits do this by themselves every `delta.checkpointInterval` versions.

        >>> from shredlake.example import example_table
        >>> example_table("checkpoint").checkpoint()
        '_delta_log/00000000000000000001.checkpoint.parquet'
        """
        require_writable(self.protocol, self.uri)
        return write_checkpoint(self.snapshot)

    def vacuum(
        self, *, retention_hours: float | None = None, dry_run: bool = True, enforce_retention: bool = True
    ) -> list[str]:
        """Deletes files that no version within the retention period needs; by default only lists them.

        The period is `delta.deletedFileRetentionDuration`, by default a week. A shorter period is refused
        unless `enforce_retention` is False, because running queries and writes may need the files. Only the
        kinds of file that Delta writers create are deleted; symbolic links are not followed.

        >>> from shredlake.example import example_table
        >>> t = example_table("vacuum")
        >>> _ = t.delete("id = 1")
        >>> t.vacuum(), len(t.vacuum(retention_hours=0, enforce_retention=False))
        ([], 1)
        """
        return vacuum(
            self._writable(),
            retention_hours=retention_hours,
            dry_run=dry_run,
            enforce_retention=enforce_retention,
        ).files

    def check(self, *, quick: bool = False, repair: bool = False, dry_run: bool = False) -> TableCheck:
        """Checks the whole table, and repairs what can be rebuilt; see `sl.check_table`.

        >>> from shredlake.example import example_table
        >>> example_table("check").check().ok
        True
        """
        report = check_storage(self._storage, quick=quick, repair=repair, dry_run=dry_run)
        if report.repaired_version is not None:
            self._moved(report.repaired_version)
        return report

    def restore(self, version: int | None = None, timestamp: datetime | str | int | None = None) -> int:
        """Restores an older version as a new commit; returns its number.

        >>> from shredlake.example import example_table
        >>> t = example_table("restore")
        >>> t.delete(), t.restore(1), t.scan().count()
        (2, 3, 2)
        """
        current = self._writable()
        if (version is None) == (timestamp is None):
            raise TableError("restore() needs a version or a timestamp")
        if version is None:
            assert timestamp is not None
            version = version_at(self._storage, timestamp, history_.enabled_since(current))
        return self._moved(restore(current, load_snapshot(self._storage, as_version(version))))

    def changes(self, start: int, end: int | None = None) -> pa.Table:
        """Rows that were inserted, updated or deleted in versions `start` to `end`, both included.

        Needs `delta.enableChangeDataFeed=true`. Beside the table's columns there are `_change_type`
        (insert, delete, update_preimage, update_postimage), `_commit_version` and `_commit_timestamp`.

        >>> from shredlake.example import example_table
        >>> t = example_table("changes", {"delta.enableChangeDataFeed": "true"})
        >>> _ = t.delete("id = 1")
        >>> t.changes(2).select(["id", "_change_type"]).to_pylist()
        [{'id': 1, '_change_type': 'delete'}]
        """
        return changes(self.snapshot, start, end)

    def _writable(self) -> Snapshot:
        """The latest snapshot, to plan a write on."""
        if self._travelled:
            raise TableError(
                f"{self.uri} is open at version {self.version}, which may not be the latest; open it without "
                "a version to write"
            )
        return latest_snapshot(self._storage, self.snapshot)

    def _commit(
        self, write: Callable[Concatenate[Snapshot, Given], int], *args: Given.args, **options: Given.kwargs
    ) -> int:
        """Runs a write on the latest version, and moves to the version that it commits."""
        return self._moved(write(self._writable(), *args, **options))

    def _moved(self, version: int) -> int:
        """Moves to the version just committed. If it can't be read yet, the next access reads it."""
        self._loaded = None
        try:
            self._loaded = latest_snapshot(self._storage)
        except Exception as error:
            _log.warning("%s: version %d is committed, but could not be read: %s", self.uri, version, error)
        return version
