"""What a session is like: all its settings as one text, others for a moment, and its Java."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from shredlake.kernels.cast_options import CastOptions, Dialect, spark_on
from shredlake.spark.engine import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_changing: Final = Lock()


def settings(spark: SparkSession) -> str:
    """All settings of a session, as text: what Spark makes of an expression may depend on any of them."""
    return str(_settings_of(spark).toString())


@contextmanager
def set_meanwhile(spark: SparkSession, others: Mapping[str, str]) -> Iterator[None]:
    """Other settings for what is planned inside; afterwards all is as it was, also what was not set."""
    with _changing:  # or another thread would take this moment's settings for those to restore
        known = {name: _settings_of(spark).get(name) for name in others}
        try:
            for name, value in others.items():
                spark.conf.set(name, value)
            yield
        finally:
            for name, value in known.items():
                if value is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, value)


def session_options(spark: SparkSession, *, strict: bool = False) -> CastOptions:
    """How a session casts: its time zone, and the dialect of Spark on its Java."""
    timezone = str(spark.conf.get("spark.sql.session.timeZone"))
    return CastOptions.of(strict=strict, timezone=timezone, dialect=dialect_of(spark))


@lru_cache(maxsize=4)
def dialect_of(spark: SparkSession) -> Dialect:
    """What Spark's casts are like, on the Java it runs on."""
    asked = "java.specification.version"
    if is_connect(spark):
        [[version]] = spark.sql(f"SELECT java_method('java.lang.System', 'getProperty', '{asked}')").collect()
    else:
        version = spark._jvm.System.getProperty(asked)
    return spark_on(int(str(version).partition(".")[0]))


@lru_cache(maxsize=4)
def _settings_of(spark: SparkSession) -> Any:
    """The map in the JVM that holds them: the same as long as the session lives."""
    return spark._jsparkSession.sessionState().conf().settings()
