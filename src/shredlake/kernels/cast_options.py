"""The options of a cast besides the value and its target type: one object that travels with a query.

`CastOptions` holds three facts: the result of a value that can't be cast, the session's time zone, and the
dialect of the engine that reads the values. Public functions take them as `strict`, `timezone` and `dialect`,
and build one `CastOptions`.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal

from shredlake.kernels.casts.datetimes import session_zone

SHORTEST_DIGITS: Final = 19
"""The first Java version that prints the shortest digits that parse to the same number."""


@dataclass(frozen=True)
class Dialect:
    """Rules that differ between engines. The defaults are Arrow's rules."""

    any_bytes: bool = False
    """Whether every binary casts to a string. In Arrow, a string must be UTF-8."""
    old_java: bool = False
    """Whether floats and doubles have the digits of an older Java, as strings and as decimals."""


ARROW: Final = Dialect()


def spark_on(java: int) -> Dialect:
    """The dialect of Spark on this version of Java.

    >>> spark_on(17), spark_on(21)
    (Dialect(any_bytes=True, old_java=True), Dialect(any_bytes=True, old_java=False))
    """
    return Dialect(any_bytes=True, old_java=java < SHORTEST_DIGITS)


@dataclass(frozen=True)
class CastOptions:
    """Options for the casts of a query.

    >>> CastOptions(timezone="Europe/Paris").zone
    zoneinfo.ZoneInfo(key='Europe/Paris')
    """

    on_error: Literal["null", "raise"] = "null"
    """The result of a value that can't be cast: null, or a CastError."""
    timezone: str = "UTC"
    """The session's time zone, for casts between instants and strings, dates or local times."""
    dialect: Dialect = ARROW
    """The dialect of the engine that reads the values."""

    @classmethod
    def of(cls, *, strict: bool, timezone: str = "UTC", dialect: Dialect = ARROW) -> CastOptions:
        """Builds options from the keywords of public functions.

        >>> CastOptions.of(strict=True).on_error
        'raise'
        """
        return cls("raise" if strict else "null", timezone, dialect)

    @property
    def raises(self) -> bool:
        """Whether a value that can't be cast is an error."""
        return self.on_error == "raise"

    @cached_property
    def zone(self) -> dt.tzinfo:
        """The session's time zone; raises InvalidExpression if it does not exist."""
        return session_zone(self.timezone)

    @property
    def is_utc(self) -> bool:
        """Whether the session's time zone is UTC, under any of its names."""
        return self.zone is dt.UTC

    def check(self) -> None:
        """Raises InvalidExpression if the time zone does not exist.

        >>> CastOptions(timezone="Mars/Olympus").check()
        Traceback (most recent call last):
        ...
        shredlake.errors.InvalidExpression: there is no time zone 'Mars/Olympus'; use one like UTC, ...
        """
        session_zone(self.timezone)

    def overridden_by(self, strict: bool | None) -> CastOptions:
        """The options of a cast that may override strictness; None keeps that of the query.

        >>> DEFAULT.overridden_by(True).on_error, CastOptions(on_error="raise").overridden_by(None).on_error
        ('raise', 'raise')
        """
        if strict is None or strict == self.raises:
            return self
        return replace(self, on_error="raise" if strict else "null")


DEFAULT: Final = CastOptions()
"""Arrow's rules in UTC; a value that can't be cast is null."""
