"""Durations in table properties: `interval 7 days`, as Spark writes intervals."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shredlake.errors import InvalidSchema

DELETED_FILE_RETENTION = ("delta.deletedFileRetentionDuration", "interval 1 week")
LOG_RETENTION = ("delta.logRetentionDuration", "interval 30 days")

_UNITS_MS = {
    "millisecond": 1,
    "second": 1000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}
_PART = re.compile(r"(\d+)\s*([a-z]+?)s?(?=\s|$|\d)")


def milliseconds(text: str) -> int:
    """The length of an interval; months and years have none.

    >>> milliseconds("interval 1 week 2 days") // 86_400_000
    9
    """
    parts = _PART.findall(text.lower().removeprefix("interval").strip())
    if not parts or any(unit not in _UNITS_MS for _, unit in parts):
        raise InvalidSchema(f"{text!r} is not a duration; write it like 'interval 7 days'")
    return sum(int(count) * _UNITS_MS[unit] for count, unit in parts)


def retention_ms(properties: Mapping[str, str], setting: tuple[str, str]) -> int:
    """The value of a duration property, or its default."""
    name, default = setting
    return milliseconds(properties.get(name, default))
