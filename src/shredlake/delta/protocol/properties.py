"""Table properties: every `delta.*` and `shredlake.*` property that we know, as rows of a table.

A row holds the parser for the text in the log, the default, and a description of the property. All reads go
through `TableProperties`. All changes go through `checked`, which refuses unknown names and invalid values. A
table whose log holds an invalid value stays readable: the default applies, unless that could lose data.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from shredlake.delta.protocol.durations import milliseconds
from shredlake.errors import InvalidSchema, ShredlakeError
from shredlake.formatting import kind_of
from shredlake.shredding.schema import ShreddingSchema

T = TypeVar("T")

# ── Parsers: the value of a text, or a ValueError ───────────────────────────────────────────────────────


def _boolean(text: str) -> bool:
    """`true` or `false` in any case, as Delta on Spark reads them."""
    return {"true": True, "false": False}[text.strip().lower()]


def _integer(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = int(text)
        if number < least:
            raise ValueError(text)
        return number

    return parse


def _choice(*names: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(text)
        return text

    return parse


def _codec(text: str) -> str:
    """The name that the Parquet writer uses."""
    return CODECS[text.lower()]


def _names(text: str) -> tuple[str, ...]:
    names = tuple(part.strip().strip("`") for part in text.split(","))
    if not all(names):
        raise ValueError(text)
    return names


CODECS = {
    "uncompressed": "none",
    "none": "none",
    "snappy": "snappy",
    "gzip": "gzip",
    "brotli": "brotli",
    "lz4": "lz4",
    "lz4_raw": "lz4",
    "zstd": "zstd",
}


# ── The rows ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Property(Generic[T]):
    """One row: a property that we know."""

    name: str
    parse: Callable[[str], T]
    default: T
    expects: str
    doc: str
    refuse_odd: bool = False
    """Whether reading an invalid value from the log is an error, because the default could lose data."""
    settable: bool = True
    """Whether users may set it; others are kept by writers."""
    used: bool = True
    """Whether shredlake itself uses the property, rather than only other engines."""


KNOWN: dict[str, Property[Any]] = {}


def _known(row: Property[T]) -> Property[T]:
    KNOWN[row.name] = row
    return row


def _flag(name: str, doc: str, *, default: bool = False, used: bool = True) -> Property[bool]:
    return _known(Property(name, _boolean, default, "true or false", doc, used=used))


def _duration(name: str, default: str, doc: str, *, used: bool = True) -> Property[int]:
    expects = "a duration such as 'interval 7 days'"
    return _known(
        Property(name, milliseconds, milliseconds(default), expects, doc, refuse_odd=True, used=used)
    )


def _count(name: str, least: int, default: int, doc: str) -> Property[int]:
    return _known(Property(name, _integer(least), default, f"a whole number, {least} or more", doc))


def _text(name: str, doc: str, *, settable: bool = True) -> Property[str]:
    return _known(Property(name, str, "", "a text", doc, settable=settable, used=False))


APPEND_ONLY = _flag("delta.appendOnly", "Rows can't be deleted or overwritten.")
CHANGE_FEED = _flag("delta.enableChangeDataFeed", "Record changed rows for `changes()`.")
CHECKPOINT_INTERVAL = _count("delta.checkpointInterval", 1, 10, "Commits from one checkpoint to the next.")
CHECKPOINT_POLICY = _known(
    Property(
        "delta.checkpointPolicy",
        _choice("classic", "v2"),
        "classic",
        "classic or v2",
        "The kind of checkpoint; `v2` adds the feature v2Checkpoint.",
    )
)
STATS_AS_JSON = _flag(
    "delta.checkpoint.writeStatsAsJson", "Keep statistics as text in checkpoints.", default=True
)
STATS_AS_STRUCT = _flag(
    "delta.checkpoint.writeStatsAsStruct",
    "Keep statistics as typed columns in checkpoints.",
    default=True,
)
MAPPING_MODE = _known(
    Property(
        "delta.columnMapping.mode",
        _choice("none", "name", "id"),
        "none",
        "none, name or id",
        "How columns are found in files. Only `create` can set it.",
    )
)
MAX_COLUMN_ID = _known(
    Property(
        "delta.columnMapping.maxColumnId",
        _integer(0),
        0,
        "a whole number",
        "The greatest column id given so far.",
        settable=False,
        refuse_odd=True,
    )
)
INDEXED_COLUMNS = _count(
    "delta.dataSkippingNumIndexedCols", -1, 32, "How many columns have statistics; -1 for all."
)
STATS_COLUMNS = _known(
    Property[tuple[str, ...] | None](
        "delta.dataSkippingStatsColumns",
        _names,
        None,
        "column names, separated by commas",
        "Exactly these columns have statistics.",
    )
)
PREFIX_LENGTH = _count(
    "delta.dataSkippingStringPrefixLength", 1, 32, "Characters of a string that statistics keep."
)
FILE_RETENTION = _duration(
    "delta.deletedFileRetentionDuration", "interval 1 week", "How long `vacuum` keeps removed files."
)
TRANSACTION_RETENTION = _known(
    Property[int | None](
        "delta.setTransactionRetentionDuration",
        milliseconds,
        None,
        "a duration such as 'interval 30 days'",
        "How long the ids of ingested files and stream batches are remembered; forever if it is not set.",
    )
)
_duration(
    "delta.logRetentionDuration", "interval 30 days", "How long other engines keep the log.", used=False
)
COMMIT_TIMES = _flag(
    "delta.enableInCommitTimestamps", "Commits record their own time. Only `create` can turn it on."
)
COMMIT_TIMES_SINCE = _known(
    Property(
        "delta.inCommitTimestampEnablementVersion",
        _integer(0),
        0,
        "a version",
        "The version from which commits record their own time.",
        settable=False,
    )
)
OF_COMMIT_TIMES = (
    COMMIT_TIMES.name,
    COMMIT_TIMES_SINCE.name,
    "delta.inCommitTimestampEnablementTimestamp",
)
"""The properties that say which commits record their own time."""
CODEC = _known(
    Property[str | None](
        "delta.parquet.compression.codec",
        _codec,
        None,
        ", ".join(CODECS),
        "The codec of data files; zstd where it is not set.",
    )
)
SHREDDING = _flag(
    "delta.enableVariantShredding", "Variants may be shredded; adds the feature variantShredding."
)
VARIANT_LIMIT = _count(
    "shredlake.stats.limitPerVariant", 0, 64, "How many paths of a Variant column have statistics."
)

# Properties that other engines use and shredlake preserves. The protocol check refuses unsupported features.
for _name, _doc in (
    ("delta.autoOptimize", "Compact after writes."),
    ("delta.autoOptimize.optimizeWrite", "Shuffle before writes."),
    ("delta.compatibility.symlinkFormatManifest.enabled", "Keep a manifest for other readers."),
    ("delta.enableDeletionVectors", "Deletes may mark rows instead of rewriting files."),
    ("delta.enableExpiredLogCleanup", "Remove the log after its retention."),
    ("delta.enableFullRetentionRollback", "Keep what a rollback needs."),
    ("delta.enableIcebergCompatV1", "Keep the table readable as Iceberg."),
    ("delta.enableIcebergCompatV2", "Keep the table readable as Iceberg."),
    ("delta.enableRowTracking", "Give rows stable ids."),
    ("delta.enableTypeWidening", "Column types may grow."),
    ("delta.randomizeFilePrefixes", "Spread files over random folders."),
):
    _flag(_name, _doc, used=False)
for _name, _default, _doc in (
    ("delta.checkpointRetentionDuration", "interval 2 days", "How long checkpoints stay."),
    ("delta.sampleRetentionDuration", "interval 7 days", "How long samples stay."),
):
    _duration(_name, _default, _doc, used=False)
for _name, _doc in (
    ("delta.autoOptimize.autoCompact", "When to compact: true, false, auto or legacy."),
    ("delta.isolationLevel", "How strictly commits are checked against each other."),
    ("delta.parquet.format.version", "The Parquet version of data files."),
    ("delta.randomPrefixLength", "Length of random folder names."),
    ("delta.targetFileSize", "The size that compaction aims at."),
    ("delta.tuneFileSizesForRewrites", "Smaller files for tables that are rewritten often."),
    ("delta.universalFormat.enabledFormats", "Other formats to write metadata for."),
):
    _text(_name, _doc)
for _name, _doc in (
    ("delta.inCommitTimestampEnablementTimestamp", "When commits began to record their own time."),
    ("delta.minReaderVersion", "The protocol; it follows from the features."),
    ("delta.minWriterVersion", "The protocol; it follows from the features."),
    ("delta.ignoreProtocolDefaults", "Whether a session's defaults count."),
    ("delta.rowTracking.materializedRowIdColumnName", "Where row ids are in files."),
    ("delta.rowTracking.materializedRowCommitVersionColumnName", "Where row versions are in files."),
    ("delta.requireCheckpointProtectionBeforeVersion", "Which checkpoints must stay."),
):
    _text(_name, _doc, settable=False)

CHECK_PREFIX = "delta.constraints."
FEATURE_PREFIX = "delta.feature."
PIN_PREFIX = "shredlake.shredding."
COLUMN_MAPPING_PREFIX = "delta.columnMapping."
PREFIXES: dict[str, str] = {
    CHECK_PREFIX: "`delta.constraints.<name>`: a condition that every row meets.",
    FEATURE_PREFIX: "`delta.feature.<name>`: `supported` adds a feature to the protocol.",
    PIN_PREFIX: "`shredlake.shredding.<column>`: a schema that the column is shredded by, or `none`.",
}
RESERVED = ("delta.", "shredlake.")


# ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class TableProperties:
    """The properties of a table, typed.

    >>> properties = TableProperties({"delta.appendOnly": "TRUE", "delta.constraints.c": "id > 0"})
    >>> properties.append_only, properties.checkpoint_interval, properties.checks
    (True, 10, {'c': 'id > 0'})
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    """The properties as the log has them, unknown ones included."""

    def get(self, row: Property[T]) -> T:
        """The value of a property. An invalid text counts as absent, or is an error if that is unsafe."""
        text = self.texts.get(row.name)
        if text is None:
            return row.default
        try:
            return row.parse(text)
        except (ValueError, KeyError, ShredlakeError):
            if row.refuse_odd:
                raise bad_value(row, text) from None
            return row.default

    @property
    def append_only(self) -> bool:
        return self.get(APPEND_ONLY)

    @property
    def change_feed(self) -> bool:
        return self.get(CHANGE_FEED)

    @property
    def checkpoint_interval(self) -> int:
        return self.get(CHECKPOINT_INTERVAL)

    @property
    def v2_checkpoints(self) -> bool:
        return self.get(CHECKPOINT_POLICY) == "v2"

    @property
    def stats_as_json(self) -> bool:
        return self.get(STATS_AS_JSON)

    @property
    def stats_as_struct(self) -> bool:
        return self.get(STATS_AS_STRUCT)

    @property
    def mapping_mode(self) -> str:
        """How columns are mapped: `none`, `name` or `id`."""
        return self.get(MAPPING_MODE)

    @property
    def max_column_id(self) -> int:
        return self.get(MAX_COLUMN_ID)

    @property
    def file_retention_ms(self) -> int:
        return self.get(FILE_RETENTION)

    @property
    def transaction_retention_ms(self) -> int | None:
        """How long transaction ids are kept; None for ever."""
        return self.get(TRANSACTION_RETENTION)

    @property
    def commit_times(self) -> bool:
        """Whether commits carry their own time."""
        return self.get(COMMIT_TIMES)

    @property
    def commit_times_since(self) -> int:
        return self.get(COMMIT_TIMES_SINCE)

    @property
    def codec(self) -> str | None:
        return self.get(CODEC)

    @property
    def asks_to_shred(self) -> bool:
        """Whether the property is exactly `true`, as the protocol asks; see also `write.layout.may_shred`."""
        return self.texts.get(SHREDDING.name) == "true"

    @property
    def checks(self) -> dict[str, str]:
        """CHECK constraints by name."""
        return dict(self._below(CHECK_PREFIX))

    @property
    def pins(self) -> dict[str, str]:
        """Pinned shredding schemas by column; `none` for a column that is not shredded."""
        return dict(self._below(PIN_PREFIX))

    @property
    def features(self) -> set[str]:
        """Features that properties ask for by name."""
        return {name for name, text in self._below(FEATURE_PREFIX) if text in ("supported", "enabled")}

    def is_on(self, name: str) -> bool:
        """Whether a true-or-false property is on."""
        row = KNOWN[name]
        return self.get(row) is True

    def _below(self, prefix: str) -> Iterator[tuple[str, str]]:
        for name, text in self.texts.items():
            if name.startswith(prefix):
                yield name.removeprefix(prefix), text


# ── Changing ────────────────────────────────────────────────────────────────────────────────────────────


def checked(given: Mapping[str, Any]) -> dict[str, str]:
    """Properties to set, as the log keeps them; an unknown name or a bad value is an error.

    Names outside of `delta.` and `shredlake.` belong to the user.

    >>> checked({"delta.appendOnly": "TRUE", "delta.checkpointInterval": 5, "team": "x"})
    {'delta.appendOnly': 'true', 'delta.checkpointInterval': '5', 'team': 'x'}
    >>> checked({"delta.apendOnly": True})
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidSchema: there is no property 'delta.apendOnly'; did you mean 'delta.appendOnly'?
    """
    return {name: _checked_text(name, value) for name, value in given.items()}


def shredding_property(shredded: bool) -> dict[str, str]:
    """The property that a new table gets if its files may be shredded.

    >>> shredding_property(True), shredding_property(False)
    ({'delta.enableVariantShredding': 'true'}, {})
    """
    return {SHREDDING.name: "true"} if shredded else {}


def carried(properties: TableProperties, *, shredded: bool) -> dict[str, str]:
    """The properties that a copy of the table can have: settable ones with values that hold.

    A copy has column names and features of its own. Unless it is `shredded`, it has no settings of shredding.

    >>> found = TableProperties({"delta.appendOnly": "yes", "team": "x", "shredlake.shredding.v": "none"})
    >>> carried(found, shredded=False), carried(found, shredded=True)
    ({'team': 'x'}, {'team': 'x', 'shredlake.shredding.v': 'none'})
    """
    own = (COLUMN_MAPPING_PREFIX, FEATURE_PREFIX, *(() if shredded else (SHREDDING.name, PIN_PREFIX)))
    kept = {}
    for name, text in properties.texts.items():
        if not name.startswith(own):
            with suppress(InvalidSchema):
                kept[name] = _checked_text(name, text)
    return kept


def _checked_text(name: str, value: Any) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidSchema(f"a property is named by a text, found {name!r}")
    text = property_text(name, value)
    row = KNOWN.get(name)
    if row is not None:
        return _value_text(row, text)
    if any(name.startswith(prefix) and name != prefix for prefix in PREFIXES):
        if name.startswith(FEATURE_PREFIX) and text not in ("supported", "enabled"):
            raise InvalidSchema(f"the property {name} is {text!r}; it can be supported")
        return text
    if name.startswith(RESERVED):
        raise InvalidSchema(f"there is no property {name!r}; {_suggestion(name)}")
    return text


def _value_text(row: Property[Any], text: str) -> str:
    if not row.settable:
        raise InvalidSchema(f"the property {row.name} is kept by writers and can't be set")
    try:
        value = row.parse(text)
    except (ValueError, KeyError, ShredlakeError):
        raise bad_value(row, text) from None
    return str(value).lower() if isinstance(value, bool) else text


def bad_value(row: Property[Any], text: str) -> InvalidSchema:
    """The error for a value that a property can't have."""
    return InvalidSchema(f"the property {row.name} is {text!r}; it can be {row.expects}")


def _suggestion(name: str) -> str:
    folded = {known.casefold(): known for known in [*KNOWN, *PREFIXES]}
    near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    if near:
        return f"did you mean {folded[near[0]]!r}?"
    return "names that start with delta. or shredlake. are reserved. Choose another prefix"


def property_text(name: str, value: Any) -> str:
    """A property's value as the log keeps it.

    >>> property_text("a", True), property_text("a", 10)
    ('true', '10')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float | ShreddingSchema):
        return str(value)
    raise InvalidSchema(f"the property {name} is {kind_of(value)}; give a text, a number or True or False")
