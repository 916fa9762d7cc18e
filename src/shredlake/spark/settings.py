"""Reads a session's settings, overrides them temporarily, and detects its Java version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from shredlake.caches import of_session
from shredlake.kernels.cast_options import CastOptions, Dialect, spark_on

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_changing: Final = Lock()


def is_connect(spark: SparkSession) -> bool:
    """Whether the session is a Spark Connect client, which has no access to a JVM.

    >>> is_connect(object())
    False
    """
    return type(spark).__module__.startswith("pyspark.sql.connect")


def settings(spark: SparkSession) -> str:
    """All settings of a session as one string. Any of them may affect the result of an expression."""
    return str(_settings_of(spark).toString())


@contextmanager
def temporary_settings(spark: SparkSession, others: Mapping[str, str]) -> Iterator[None]:
    """Overrides settings inside the block, and afterwards restores or unsets each of them."""
    with _changing:  # otherwise another thread would save these temporary settings, and restore them later
        # In the map itself, whose `put` returns the value before: a call into the JVM less for each setting.
        present = _settings_of(spark)
        known = {name: present.put(name, value) for name, value in others.items()}
        try:
            yield
        finally:
            for name, value in known.items():
                if value is None:
                    present.remove(name)
                else:
                    present.put(name, value)


def session_options(spark: SparkSession, *, strict: bool = False) -> CastOptions:
    """The cast options of a session: its time zone, and the dialect of its Spark and Java versions."""
    timezone = str(spark.conf.get("spark.sql.session.timeZone"))
    return CastOptions.of(strict=strict, timezone=timezone, dialect=dialect_of(spark))


def session_constant(spark: SparkSession, name: str, make: Callable[[], Any]) -> Any:
    """A value that stays the same as long as the session lives, computed once per session."""
    return of_session(spark, "constants of sessions", 16).get(name, make)


def dialect_of(spark: SparkSession) -> Dialect:
    """The dialect of Spark's casts, which depends on the version of Java it runs on."""

    def find() -> Dialect:
        key = "java.specification.version"
        if is_connect(spark):
            text = f"SELECT java_method('java.lang.System', 'getProperty', '{key}')"
            [[version]] = spark.sql(text).collect()
        else:
            version = spark._jvm.System.getProperty(key)
        return spark_on(int(str(version).partition(".")[0]))

    found: Dialect = session_constant(spark, "dialect", find)
    return found


def _settings_of(spark: SparkSession) -> Any:
    """The JVM's map of the session's settings."""
    return session_constant(spark, "settings", lambda: spark._jsparkSession.sessionState().conf().settings())
