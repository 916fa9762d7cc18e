"""Validates the actions of a log: the fields of every action, their types, and whether they are required.

Other writers may have written the log. A field of the wrong type is refused here by name, so that all other
code can rely on the types. Unknown fields and actions are accepted: newer writers may have added them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from shredlake.formatting import is_text, with_article

LONG: Final = 1 << 63


@dataclass(frozen=True)
class Kind:
    """The type of a value, and its name in messages."""

    name: str
    fits: Callable[[Any], bool]


def _is_integer(value: Any, limit: int = LONG) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit


def _is_map(value: Any) -> bool:
    return isinstance(value, dict) and all(
        is_text(key) and (item is None or is_text(item)) for key, item in value.items()
    )


TEXT = Kind("text", is_text)
NAME = Kind("a string that is not empty", lambda value: value != "" and is_text(value))
BOOLEAN = Kind("true or false", lambda value: isinstance(value, bool))
INTEGER = Kind("an integer of 64 bits", _is_integer)
COUNT = Kind("an integer of 64 bits, 0 or more", lambda value: _is_integer(value) and value >= 0)
MOMENT = Kind(
    "milliseconds between 1970 and 9999",
    lambda value: _is_integer(value) and 0 <= value < 253_402_214_400_000,
)
SHORT_COUNT = Kind(
    "an integer of 32 bits, 0 or more", lambda value: _is_integer(value, 1 << 31) and value >= 0
)
TEXTS = Kind("a list of strings", lambda value: isinstance(value, list) and all(map(is_text, value)))
TEXT_MAP = Kind("an object of strings", _is_map)
OBJECTS = Kind(
    "a list of objects",
    lambda value: isinstance(value, list) and all(isinstance(item, dict) for item in value),
)
OBJECT = Kind("an object", lambda value: isinstance(value, dict))


@dataclass(frozen=True)
class Shape:
    """The fields of one action."""

    required: Mapping[str, Kind]
    optional: Mapping[str, Kind]


_VECTOR = Shape(
    {"storageType": NAME, "pathOrInlineDv": NAME, "sizeInBytes": SHORT_COUNT, "cardinality": COUNT},
    {"offset": SHORT_COUNT},
)
_FORMAT = Shape({}, {"provider": TEXT, "options": TEXT_MAP})
_INNER: Final[Mapping[str, Shape]] = {"deletionVector": _VECTOR, "format": _FORMAT}
"""Fields of actions that are objects with fields of their own."""

_FILE: dict[str, Kind] = {
    "modificationTime": INTEGER,
    "dataChange": BOOLEAN,
    "stats": TEXT,
    "tags": TEXT_MAP,
    "partitionValues": TEXT_MAP,
    "deletionVector": OBJECT,
    "baseRowId": INTEGER,
    "defaultRowCommitVersion": INTEGER,
    "clusteringProvider": TEXT,
}
SHAPES: Final[Mapping[str, Shape]] = {
    "protocol": Shape(
        {"minReaderVersion": SHORT_COUNT, "minWriterVersion": SHORT_COUNT},
        {"readerFeatures": TEXTS, "writerFeatures": TEXTS},
    ),
    "metaData": Shape(
        {"id": TEXT, "schemaString": TEXT},
        {
            "partitionColumns": TEXTS,
            "configuration": TEXT_MAP,
            "name": TEXT,
            "description": TEXT,
            "createdTime": INTEGER,
            "format": OBJECT,
        },
    ),
    "add": Shape({"path": NAME, "size": COUNT}, _FILE),
    "remove": Shape(
        {"path": NAME},
        _FILE | {"deletionTimestamp": INTEGER, "extendedFileMetadata": BOOLEAN, "size": INTEGER},
    ),
    "cdc": Shape({"path": NAME, "size": COUNT}, {"partitionValues": TEXT_MAP, "tags": TEXT_MAP}),
    "txn": Shape({"appId": TEXT, "version": INTEGER}, {"lastUpdated": INTEGER}),
    "domainMetadata": Shape({"domain": TEXT}, {"configuration": TEXT, "removed": BOOLEAN}),
    "commitInfo": Shape({}, {"inCommitTimestamp": MOMENT}),
    "sidecar": Shape({"path": NAME}, {"sizeInBytes": COUNT, "modificationTime": INTEGER}),
    "checkpointMetadata": Shape({}, {"version": COUNT}),
}


def problem_of(name: str, fields: Any) -> str | None:
    """Describes the problem of an action; None if it has none.

    >>> problem_of("txn", {"appId": "a", "version": "7"})
    "the field version of a txn action must be an integer of 64 bits, not '7'"
    >>> problem_of("add", {"path": "f"})
    'an add action lacks the field size'
    >>> problem_of("of the future", 3)
    """
    shape = SHAPES.get(name)
    if shape is None:
        return None
    if not isinstance(fields, dict):
        return f"{with_article(name)} action must be an object, not {_shown(fields)}"
    found = _mismatch(shape, fields, f"{with_article(name)} action")
    for field in _INNER.keys() & shape.optional:
        if found is None and fields.get(field) is not None:
            found = _mismatch(_INNER[field], fields[field], f"the {field} of {with_article(name)} action")
    return found


def _mismatch(shape: Shape, fields: Mapping[str, Any], owner: str) -> str | None:
    for field, kind in shape.required.items():
        value = fields.get(field)
        if value is None:
            return f"{owner} lacks the field {field}"
        if not kind.fits(value):
            return f"the field {field} of {owner} must be {kind.name}, not {_shown(value)}"
    for field, kind in shape.optional.items():
        value = fields.get(field)
        if value is not None and not kind.fits(value):
            return f"the field {field} of {owner} must be {kind.name}, not {_shown(value)}"
    return None


def _shown(value: Any) -> str:
    """The beginning of a value, which may be as large as the log."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    if isinstance(value, int) and value.bit_length() > 128:
        return "a number of many digits"
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
