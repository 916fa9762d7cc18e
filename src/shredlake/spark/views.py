"""Names that a query knows tables by: temporary views that are there while it is analysed.

Spark makes a view by running a command, which takes as long as analysing a query. What the command makes is
kept as long as the frame is, and put into the session's catalogue again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from threading import RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from shredlake.spark.engine import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_made: WeakKeyDictionary[DataFrame, dict[str, Any]] = WeakKeyDictionary()
"""Per frame and name, the view as the catalogue keeps it."""

_alone = RLock()
"""Threads may share a session, and so its names."""


@contextmanager
def views(spark: SparkSession, frames: Mapping[str, DataFrame]) -> Iterator[None]:
    """Makes frames known by name while a query is analysed; the user's own views of these names come back."""
    if is_connect(spark):
        # Connect looks names up when the query runs, so there they have to stay.
        for name, frame in frames.items():
            frame.createOrReplaceTempView(name)
        yield
        return
    catalog = _catalog_of(spark)
    before: dict[str, Any] = {}
    with _alone:
        try:
            for name, frame in frames.items():
                own = catalog.getRawTempView(name)
                if own.isDefined():
                    before[name] = own.get()
                    catalog.dropTempView(name)  # not replaced, which would empty its cache
                _show(catalog, name, frame)
            yield
        finally:
            for name in frames:
                catalog.dropTempView(name)
            for name, view in before.items():
                catalog.createTempView(name, view, True)


@lru_cache(maxsize=4)
def _catalog_of(spark: SparkSession) -> Any:
    return spark._jsparkSession.sessionState().catalog()


def _show(catalog: Any, name: str, frame: DataFrame) -> None:
    made = _made.setdefault(frame, {})
    if name in made:
        catalog.createTempView(name, made[name], True)
    else:
        frame.createOrReplaceTempView(name)
        made[name] = catalog.getRawTempView(name).get()
