"""The actions of the Delta protocol, which commits are made of, to and from JSON.

Files in a snapshot are never objects but rows of an Arrow table (see `files.py`); `Add` and `Remove` exist
for the handful of files that one commit touches. Fields that we do not know are kept where a rewrite of the
action must not lose them (`extra`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from shredlake.delta.protocol.action_types import problem_of
from shredlake.delta.storage.addresses import log_key
from shredlake.errors import CorruptLog

Json = dict[str, Any]


def _known(raw: Json, *names: str) -> Json:
    """The fields that the dataclass has no name for."""
    return {key: value for key, value in raw.items() if key not in names}


def _without_none(raw: Json) -> Json:
    return {key: value for key, value in raw.items() if value is not None}


@dataclass(frozen=True)
class Protocol:
    """The versions and features that a client must have to read or write the table.

    >>> Protocol(3, 7, ("variantType",), ("variantType",)).to_json()["readerFeatures"]
    ['variantType']
    """

    min_reader_version: int = 1
    min_writer_version: int = 2
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None

    @staticmethod
    def from_json(raw: Json) -> Protocol:
        reader, writer = raw.get("readerFeatures"), raw.get("writerFeatures")
        return Protocol(
            int(raw["minReaderVersion"]),
            int(raw["minWriterVersion"]),
            None if reader is None else tuple(reader),
            None if writer is None else tuple(writer),
        )

    def to_json(self) -> Json:
        return _without_none(
            {
                "minReaderVersion": self.min_reader_version,
                "minWriterVersion": self.min_writer_version,
                "readerFeatures": None if self.reader_features is None else list(self.reader_features),
                "writerFeatures": None if self.writer_features is None else list(self.writer_features),
            }
        )


@dataclass(frozen=True)
class Metadata:
    """Identity, schema, partitioning and properties of the table."""

    id: str
    schema_string: str
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    created_time: int | None = None
    format: Mapping[str, Any] = field(default_factory=lambda: {"provider": "parquet", "options": {}})

    @staticmethod
    def from_json(raw: Json) -> Metadata:
        return Metadata(
            id=raw["id"],
            schema_string=raw["schemaString"],
            partition_columns=tuple(raw.get("partitionColumns") or ()),
            configuration=dict(raw.get("configuration") or {}),
            name=raw.get("name"),
            description=raw.get("description"),
            created_time=raw.get("createdTime"),
            format=raw.get("format") or {"provider": "parquet", "options": {}},
        )

    def to_json(self) -> Json:
        return _without_none(
            {
                "id": self.id,
                "name": self.name,
                "description": self.description,
                "format": dict(self.format),
                "schemaString": self.schema_string,
                "partitionColumns": list(self.partition_columns),
                "configuration": dict(self.configuration),
                "createdTime": self.created_time,
            }
        )


@dataclass(frozen=True)
class DeletionVector:
    """Where the set of deleted rows of a file is stored."""

    storage_type: str
    path_or_inline: str
    size_in_bytes: int
    cardinality: int
    offset: int | None = None

    @property
    def unique_id(self) -> str:
        suffix = "" if self.offset is None else f"@{self.offset}"
        return f"{self.storage_type}{self.path_or_inline}{suffix}"

    @staticmethod
    def from_json(raw: Json) -> DeletionVector:
        return DeletionVector(
            raw["storageType"],
            raw["pathOrInlineDv"],
            int(raw["sizeInBytes"]),
            int(raw["cardinality"]),
            raw.get("offset"),
        )

    def to_json(self) -> Json:
        return _without_none(
            {
                "storageType": self.storage_type,
                "pathOrInlineDv": self.path_or_inline,
                "offset": self.offset,
                "sizeInBytes": self.size_in_bytes,
                "cardinality": self.cardinality,
            }
        )


class LogicalFile:
    """A data file with its deletion vector: what a version of the table adds or removes."""

    path: str
    deletion_vector: DeletionVector | None

    @property
    def key(self) -> tuple[str, str | None]:
        """The identity of a logical file: path and deletion vector."""
        vector = self.deletion_vector
        return log_key(self.path), None if vector is None else vector.unique_id


@dataclass(frozen=True)
class Add(LogicalFile):
    """A data file that joins the table. `path` is as the log spells it: percent-encoded."""

    path: str
    size: int
    modification_time: int
    partition_values: Mapping[str, str | None] = field(default_factory=dict)
    data_change: bool = True
    stats: str | None = None
    tags: Mapping[str, str] | None = None
    deletion_vector: DeletionVector | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def from_json(raw: Json) -> Add:
        vector = raw.get("deletionVector")
        return Add(
            path=raw["path"],
            size=int(raw["size"]),
            modification_time=int(raw.get("modificationTime") or 0),
            partition_values=dict(raw.get("partitionValues") or {}),
            data_change=bool(raw.get("dataChange", True)),
            stats=raw.get("stats"),
            tags=raw.get("tags"),
            deletion_vector=None if vector is None else DeletionVector.from_json(vector),
            extra=_known(raw, *_ADD_FIELDS),
        )

    def to_json(self) -> Json:
        required = {
            "path": self.path,
            "partitionValues": dict(self.partition_values),
            "size": self.size,
            "modificationTime": self.modification_time,
            "dataChange": self.data_change,
        }
        vector = None if self.deletion_vector is None else self.deletion_vector.to_json()
        tags = None if self.tags is None else dict(self.tags)
        return required | _without_none(
            {"stats": self.stats, "tags": tags, "deletionVector": vector, **self.extra}
        )

    def removal(self, timestamp: int, *, data_change: bool = True) -> Remove:
        """The action that takes this file out of the table."""
        return Remove(
            path=self.path,
            deletion_timestamp=timestamp,
            data_change=data_change,
            partition_values=self.partition_values,
            size=self.size,
            tags=self.tags,
            stats=self.stats,
            deletion_vector=self.deletion_vector,
            extra={key: value for key, value in self.extra.items() if key in _ROW_TRACKING},
        )


_ADD_FIELDS = (
    "path",
    "size",
    "modificationTime",
    "partitionValues",
    "dataChange",
    "stats",
    "tags",
    "deletionVector",
)
_ROW_TRACKING = ("baseRowId", "defaultRowCommitVersion")


@dataclass(frozen=True)
class Remove(LogicalFile):
    """A data file that leaves the table; the tombstone keeps vacuum from deleting it too early."""

    path: str
    deletion_timestamp: int | None = None
    data_change: bool = True
    partition_values: Mapping[str, str | None] | None = None
    size: int | None = None
    tags: Mapping[str, str] | None = None
    stats: str | None = None
    deletion_vector: DeletionVector | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def from_json(raw: Json) -> Remove:
        vector = raw.get("deletionVector")
        return Remove(
            path=raw["path"],
            deletion_timestamp=raw.get("deletionTimestamp"),
            data_change=bool(raw.get("dataChange", True)),
            partition_values=raw.get("partitionValues"),
            size=raw.get("size"),
            tags=raw.get("tags"),
            stats=raw.get("stats"),
            deletion_vector=None if vector is None else DeletionVector.from_json(vector),
            extra={key: raw[key] for key in _ROW_TRACKING if key in raw},
        )

    def to_json(self) -> Json:
        vector = None if self.deletion_vector is None else self.deletion_vector.to_json()
        values = None if self.partition_values is None else dict(self.partition_values)
        return {"path": self.path, "dataChange": self.data_change} | _without_none(
            {
                "deletionTimestamp": self.deletion_timestamp,
                "extendedFileMetadata": True if values is not None and self.size is not None else None,
                "partitionValues": values,
                "size": self.size,
                "tags": None if self.tags is None else dict(self.tags),
                "stats": self.stats,
                "deletionVector": vector,
                **self.extra,
            }
        )


@dataclass(frozen=True)
class ChangeFile:
    """A file of the change data feed."""

    path: str
    size: int
    partition_values: Mapping[str, str | None] = field(default_factory=dict)
    tags: Mapping[str, str] | None = None

    @staticmethod
    def from_json(raw: Json) -> ChangeFile:
        return ChangeFile(
            raw["path"], int(raw["size"]), dict(raw.get("partitionValues") or {}), raw.get("tags")
        )

    def to_json(self) -> Json:
        tags = None if self.tags is None else dict(self.tags)
        return {
            "path": self.path,
            "partitionValues": dict(self.partition_values),
            "size": self.size,
            "dataChange": False,
        } | _without_none({"tags": tags})


TransactionId: TypeAlias = tuple[str, int]
"""An application's id and its own number of a transaction: the key that makes a write happen once."""


@dataclass(frozen=True)
class Transaction:
    """The latest transaction of an application that the table has recorded."""

    app_id: str
    version: int
    last_updated: int | None = None

    @staticmethod
    def from_json(raw: Json) -> Transaction:
        return Transaction(raw["appId"], int(raw["version"]), raw.get("lastUpdated"))

    def to_json(self) -> Json:
        return _without_none(
            {"appId": self.app_id, "version": self.version, "lastUpdated": self.last_updated}
        )


@dataclass(frozen=True)
class DomainMetadata:
    """The configuration of a named domain."""

    domain: str
    configuration: str
    removed: bool = False

    @staticmethod
    def from_json(raw: Json) -> DomainMetadata:
        return DomainMetadata(raw["domain"], raw.get("configuration") or "", bool(raw.get("removed")))

    def to_json(self) -> Json:
        return {"domain": self.domain, "configuration": self.configuration, "removed": self.removed}


@dataclass(frozen=True)
class CommitInfo:
    """The origin of a commit: free-form, apart from the few fields that the protocol reads."""

    fields: Mapping[str, Any]

    @staticmethod
    def from_json(raw: Json) -> CommitInfo:
        return CommitInfo(raw)

    def to_json(self) -> Json:
        return dict(self.fields)

    @property
    def in_commit_timestamp(self) -> int | None:
        return self.fields.get("inCommitTimestamp")


Action = Protocol | Metadata | Add | Remove | ChangeFile | Transaction | DomainMetadata | CommitInfo

_BY_NAME: dict[str, type[Any]] = {
    "protocol": Protocol,
    "metaData": Metadata,
    "add": Add,
    "remove": Remove,
    "cdc": ChangeFile,
    "txn": Transaction,
    "domainMetadata": DomainMetadata,
    "commitInfo": CommitInfo,
}
_NAME_OF = {kind: name for name, kind in _BY_NAME.items()}


COUNT_TAG = "shredlake.actions"
"""The tag of a commitInfo that holds the number of actions in the commit."""

_CUT_SHORT = (
    "The machine or the copy stopped while the file was written. If it is the newest commit and its writer "
    "never reported success, delete the file; otherwise get it back from a backup"
)


def dumps(actions: Iterable[Action]) -> bytes:
    """A commit file: one action per line."""
    return b"".join(_line({_NAME_OF[type(action)]: action.to_json()}) + b"\n" for action in actions)


def _line(action: Json) -> bytes:
    try:
        return json.dumps(action, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, in a field of another writer
        return json.dumps(action, separators=(",", ":")).encode()


def raw_lines(data: bytes, file: str) -> Iterator[tuple[str, Json]]:
    """(action name, its fields) of each line of a commit, their types checked.

    Errors name the file and line. A commit that is empty, truncated or damaged must never be taken for one
    with fewer actions.
    """
    count, expected = 0, None
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        for name, fields in _parsed_line(line, f"{file}, line {number}").items():
            if fields is None:
                continue
            problem = problem_of(name, fields)
            if problem is not None:
                raise CorruptLog(f"{file}, line {number}: {problem}")
            if not isinstance(fields, dict):
                continue  # an action that this version does not know
            count += 1
            if name == "commitInfo":
                expected = _count_tag(fields)
            yield name, fields
    if not count:
        raise CorruptLog(f"{file} is empty. {_CUT_SHORT}")
    compacted = file.endswith(".compacted.json")  # a compaction may have fewer actions
    if expected is not None and count < expected and not compacted:
        raise CorruptLog(
            f"{file} has {count} of the {expected} actions that it had when written. {_CUT_SHORT}"
        )


def _parsed_line(line: bytes, where: str) -> Json:
    try:
        raw = json.loads(line)
    except RecursionError:
        raise CorruptLog(f"{where}: the JSON is nested too deeply") from None
    except ValueError as error:
        raise CorruptLog(f"{where}: not JSON ({error}). {_CUT_SHORT}") from None
    if not isinstance(raw, dict):
        raise CorruptLog(f"{where}: an action is a JSON object, found {type(raw).__name__}")
    return raw


def _count_tag(info: Json) -> int | None:
    """The number of actions that our own commits record, to detect truncation."""
    tags = info.get("tags")
    text = tags.get(COUNT_TAG) if isinstance(tags, dict) else None
    return int(text) if isinstance(text, str) and text.isdecimal() and len(text) < 10 else None


def loads(data: bytes, file: str) -> Iterator[Action]:
    """The actions of a commit file, without unknown ones."""
    for name, fields in raw_lines(data, file):
        kind = _BY_NAME.get(name)
        if kind is not None:
            yield kind.from_json(fields)
