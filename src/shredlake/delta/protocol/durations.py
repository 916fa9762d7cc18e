"""Durations in table properties: `interval 7 days`, as Spark writes intervals."""

from __future__ import annotations

import re

from shredlake.errors import InvalidSchema

FOREVER_MS = 10_000 * 365 * 86_400_000
"""Longer durations count as this one: points in time that far back are still numbers of 64 bits."""

_UNITS_MS = {
    "millisecond": 1,
    "second": 1000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}
_PART = re.compile(r"\s*([0-9]{1,15})\s*([a-z]+?)s?(?=\s|[0-9]|$)")


def milliseconds(text: str) -> int:
    """The length of an interval; months and years have none.

    Every character must be understood: ignoring a part would shorten the duration, and vacuum, for example,
    would delete files too early.

    >>> milliseconds("interval 1 week 2 days") // 86_400_000
    9
    >>> milliseconds("interval 1.5 days")
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidSchema: 'interval 1.5 days' is not a duration: whole numbers and units ...
    """
    rest = text.strip().lower().removeprefix("interval").rstrip()
    total = at = 0
    while at < len(rest) or not at:
        part = _PART.match(rest, at)
        if part is None or part[2] not in _UNITS_MS:
            raise InvalidSchema(
                f"{text!r} is not a duration: whole numbers and units ({', '.join(_UNITS_MS)}) "
                "are understood, as in 'interval 7 days'"
            )
        total += int(part[1]) * _UNITS_MS[part[2]]
        at = part.end()
    return min(total, FOREVER_MS)
