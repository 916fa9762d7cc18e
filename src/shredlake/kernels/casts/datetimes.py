"""Parses dates, times, timestamps and time zones from text, as Spark does.

A date is days since 1970-01-01; a time and a timestamp are nanoseconds. Python's datetime is not used,
because it can't hold years outside 1 to 9999 or nanoseconds.

```
date       = [sign] year ["-" month ["-" day]] [ (" " | "T") anything ]      the rest only after a day
timestamp  = [sign] year ["-" month ["-" day [(" " | "T") time]]]  |  "T" time  |  hour ":" ...
time       = hour [":" minute [":" second ["." digits] [zone]]]
zone       = "Z" | region | sign hour[":"minute[":"second]] | ("UTC" | "GMT" | "UT") sign offset
```

Leading and trailing blanks and control characters are ignored. Years have 4 to 6 digits (7 in a date), the
other numbers 1 or 2; digits of a second beyond the ninth are dropped.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Final
from zoneinfo import ZoneInfo

from shredlake.caches import cached
from shredlake.errors import InvalidExpression

SECOND: Final = 1_000_000_000
DAY: Final = 86_400 * SECOND

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_CYCLE_DAYS: Final = 146_097  # 400 years: the Gregorian calendar repeats, week days included
_CYCLE: Final = _CYCLE_DAYS * DAY

# Spark trims ASCII whitespace and control characters from both ends.
BLANKS: Final = "".join(map(chr, [*range(33), 127]))

# ---------------------------------------------------------------- calendar


def days_from_civil(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01 of a date in the proleptic Gregorian calendar; None for an invalid date.

    >>> days_from_civil(1970, 1, 2), days_from_civil(-5, 3, 1), days_from_civil(2023, 2, 29)
    (1, -721295, None)
    """
    cycles, year_in_cycle = divmod(year - 1, 400)
    try:
        ordinal = dt.date(year_in_cycle + 1, month, day).toordinal()
    except ValueError:
        return None
    return cycles * _CYCLE_DAYS + ordinal - 719_163


# ---------------------------------------------------------------- zones

_OFFSET = re.compile(r"([+-])(\d{1,2})(?::(\d{1,2})(?::(\d{2}))?)?")
_PREFIXED = re.compile(
    r"(?:UTC|GMT|UT)([+-])(?:(\d{1,2})|(\d{2}):?(\d{2})|(\d{2}):(\d{2}):(\d{2})|(\d{2})(\d{2})(\d{2}))"
)
_COMPACT = re.compile(r"([+-])(\d{2})(\d{2})(\d{2})?")


@cached(256, "time zones")
def parse_zone(name: str) -> dt.tzinfo | None:
    """Parses a zone name or offset in Java's notation; None if the zone does not exist.

    >>> parse_zone("+01:00"), parse_zone("Europe/Paris"), parse_zone("Mars/Olympus")
    (datetime.timezone(datetime.timedelta(seconds=3600)), zoneinfo.ZoneInfo(key='Europe/Paris'), None)
    """
    if name in ("Z", "UTC", "GMT", "UT"):
        return dt.UTC
    for form in (_OFFSET, _PREFIXED, _COMPACT):
        match = form.fullmatch(name)
        if match is not None:
            sign, *parts = match.groups()
            return _fixed_zone(sign, [int(part) for part in parts if part is not None])
    try:
        return ZoneInfo(_SHORT_IDS.get(name, name)) if name and not name.startswith(("/", ".")) else None
    except (KeyError, OSError, ValueError):  # no such zone; a folder of zones; a name that is not a path
        return None


def _fixed_zone(sign: str, parts: list[int]) -> dt.tzinfo | None:
    hours, minutes, seconds = [*parts, 0, 0][:3]
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > 18 * 3600:
        return None
    return dt.timezone(dt.timedelta(seconds=-total if sign == "-" else total))


_SHORT_IDS: Final = {
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh", "EST": "America/Panama", "MST": "America/Phoenix", "HST": "Pacific/Honolulu",
}  # fmt: skip
"""Java's short names of zones."""


def session_zone(name: str) -> dt.tzinfo:
    """The zone in which an expression or a cast is evaluated.

    >>> session_zone("Mars/Olympus")
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidExpression: there is no time zone 'Mars/Olympus'; use one like UTC, ...
    """
    zone = parse_zone(name)
    if zone is None:
        raise InvalidExpression(f"there is no time zone {name!r}; use one like UTC, Europe/Paris or +02:00")
    return zone


def to_local(instant: int, zone: dt.tzinfo) -> int:
    """The local time, in nanoseconds, at an instant."""
    if zone is dt.UTC:
        return instant
    return instant + _offset(_in_range(instant), zone, utc=True)


def to_instant(local: int, zone: dt.tzinfo) -> int:
    """The instant of a local time. A time in a gap is moved by the gap; in an overlap, the first is used."""
    if zone is dt.UTC:
        return local
    return local - _offset(_in_range(local), zone, utc=False)


def _in_range(nanos: int) -> dt.datetime:
    """Maps a time into the range of datetime by whole cycles of 400 years."""
    if not -719_162 * DAY <= nanos < 2_932_896 * DAY:
        nanos = nanos % _CYCLE + (-719_162 * DAY // _CYCLE + 1 if nanos < 0 else 19) * _CYCLE
    return _EPOCH + dt.timedelta(microseconds=nanos // 1000)


def _offset(moment: dt.datetime, zone: dt.tzinfo, utc: bool) -> int:
    try:
        local = moment.astimezone(zone) if utc else moment.replace(tzinfo=zone)
    except OverflowError:  # the last day of year 9999, or the first of year 1
        local = (moment - dt.timedelta(days=365 if moment.year > 1 else -365)).astimezone(zone)
    offset = local.utcoffset()
    assert offset is not None
    return int(offset.total_seconds()) * SECOND


# ---------------------------------------------------------------- from text

_DATE = re.compile(r"([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_TIMESTAMP = re.compile(
    r"(?:([+-]?)(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](?P<time>.*))?)?)?|(?P<only_time>\d{1,2}:.*))",
    re.ASCII | re.DOTALL,
)
_TIME = re.compile(
    r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?(?P<zone>[^\d.].*)?)?)?", re.ASCII | re.DOTALL
)


def parse_date(text: str) -> int | None:
    """Parses a date to days since 1970-01-01.

    >>> parse_date(" 2024-02-29 "), parse_date("2024-2"), parse_date("2024-02-30")
    (19782, 19754, None)
    """
    match = _DATE.fullmatch(text.strip(BLANKS))
    if match is None:
        return None
    sign, year, month, day = match.groups()
    days = days_from_civil(_signed(sign, year), int(month or 1), int(day or 1))
    return days if days is not None and -(1 << 31) <= days < 1 << 31 else None


def parse_timestamp(text: str, zone: dt.tzinfo) -> int | None:
    """Parses to nanoseconds since the epoch; without a zone in `zone`, without a date today.

    >>> parse_timestamp("1970-01-01 00:00:01.5", dt.UTC), parse_timestamp("1970-01-01T01:00:00+01:00", dt.UTC)
    (1500000000, 0)
    """
    parts = _timestamp_parts(text)
    if parts is None:
        return None
    days, nanos_of_day, own_zone = parts
    zone = own_zone or zone
    if days is None:
        days = dt.datetime.now(zone).date().toordinal() - 719_163
    return to_instant(days * DAY + nanos_of_day, zone)


def parse_timestamp_ntz(text: str) -> int | None:
    """Parses a local time to nanoseconds since the epoch; a zone in the text is checked and dropped.

    >>> parse_timestamp_ntz("1970-01-01T00:00:01+05:00")
    1000000000
    """
    parts = _timestamp_parts(text)
    if parts is None or parts[0] is None:
        return None
    return parts[0] * DAY + parts[1]


def parse_time(text: str) -> int | None:
    """Parses to nanoseconds since midnight; also accepts `1:30 PM`.

    >>> parse_time("00:00:01.5") == parse_time("12:00:01.5 am") == 1_500_000_000
    True
    """
    trimmed = text.rstrip(" ")
    suffix = trimmed[-2:].lower() if len(trimmed) > 2 else ""
    parts = _timestamp_parts(trimmed[:-2] if suffix in ("am", "pm") else trimmed)
    if parts is None or parts[0] is not None or parts[2] is not None:
        return None
    nanos = parts[1]
    if suffix not in ("am", "pm"):
        return nanos
    hour = nanos // (3600 * SECOND)
    if not 1 <= hour <= 12:
        return None
    return nanos + (12 if suffix == "pm" else 0) * 3600 * SECOND - (12 if hour == 12 else 0) * 3600 * SECOND


def _timestamp_parts(text: str) -> tuple[int | None, int, dt.tzinfo | None] | None:
    """Days (None if only a time is given), nanoseconds of the day, and the zone if given."""
    if text.startswith("T"):
        time_and_zone = _time_of_day(text[1:].rstrip(BLANKS))
        return None if time_and_zone is None else (None, *time_and_zone)
    match = _TIMESTAMP.fullmatch(text.strip(BLANKS))
    if match is None:
        return None
    sign, year, month, day = match.groups()[:4]
    days = None
    if year is not None:
        days = days_from_civil(_signed(sign, year), int(month or 1), int(day or 1))
        if days is None:
            return None
    time = match["time"] if match["only_time"] is None else match["only_time"]
    if time is None:
        return days, 0, None
    time_and_zone = _time_of_day(time)
    return None if time_and_zone is None else (days, *time_and_zone)


def _time_of_day(text: str) -> tuple[int, dt.tzinfo | None] | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:
        return None
    zone = None
    if match["zone"] is not None:
        zone = parse_zone(match["zone"].strip(BLANKS))
        if zone is None:
            return None
    fraction = int((match[4] or "")[:9].ljust(9, "0"))
    return ((hour * 60 + minute) * 60 + second) * SECOND + fraction, zone


def _signed(sign: str, digits: str) -> int:
    return -int(digits) if sign == "-" else int(digits)
