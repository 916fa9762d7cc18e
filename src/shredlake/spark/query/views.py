"""Gives tables names that only one query can see, by prepending common table expressions to it.

```
select count(*) from events   ──▶   WITH `events` AS (TABLE __shredlake_3f…) (
                                    select count(*) from events
                                    )
```

The expressions refer to temporary views with unique names, which are dropped once the query is analysed.
The user's own views are not touched, even those with the same names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from shredlake.caches import LruCache, of_session
from shredlake.delta.log.snapshot import Snapshot
from shredlake.spark.engine import is_connect
from shredlake.spark.query.sql_paths import with_tables
from shredlake.spark.settings import session_constant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VIEWS: Final = 128
"""The size of each session's caches of views."""


def analysed(spark: SparkSession, query: str, frames: Mapping[str, DataFrame]) -> DataFrame:
    """Analyses a query in which each given name refers to a frame, regardless of the session's views."""
    from pyspark.errors import ParseException
    from pyspark.sql import DataFrame

    unique = {name: f"__shredlake_{uuid4().hex}" for name in frames}
    text = with_tables(query, unique)
    if is_connect(spark):
        found = _over_connect(spark, text, {unique[name]: frame for name, frame in frames.items()})
        _ = found.schema  # raises if the query is wrong
        return found
    catalog = _catalog_of(spark)
    try:
        for name, frame in frames.items():
            _create_view(spark, unique[name], frame)
        # Not through PySpark's `sql`, which spends time on parameters.
        return DataFrame(spark._jsparkSession.sql(text), spark)
    except ParseException:
        spark._jsparkSession.sessionState().sqlParser().parsePlan(
            query
        )  # raises the same error for the user's own text
        raise
    finally:
        for name in unique.values():
            catalog.dropTempView(name)


@dataclass(frozen=True)
class AnalysisFailure:
    """Why Spark does not accept a query."""

    message: str


def analysed_or_failure(
    spark: SparkSession, query: str, frames: Mapping[str, DataFrame]
) -> DataFrame | AnalysisFailure:
    """The analysed query, or why Spark does not accept it."""
    from pyspark.errors import AnalysisException

    try:
        found = analysed(spark, query, frames)
        _ = found.schema  # raises if a column has no valid type
        return found
    except AnalysisException as error:
        return AnalysisFailure(str(error))


def _over_connect(spark: SparkSession, text: str, frames: Mapping[str, DataFrame]) -> DataFrame:
    """Sends the frames along with the query, because Connect resolves names again whenever the query runs."""
    text = text.replace("{", "{{").replace("}", "}}")
    arguments = {}
    for number, (name, frame) in enumerate(frames.items()):
        arguments[f"frame{number}"] = frame
        text = text.replace(name, f"{{frame{number}}}")
    return spark.sql(text, **arguments)


def _catalog_of(spark: SparkSession) -> Any:
    return session_constant(spark, "catalog", lambda: spark._jsparkSession.sessionState().catalog())


def _create_view(spark: SparkSession, name: str, frame: DataFrame) -> None:
    """Creates a temporary view. The catalogue's entry is cached: creating it is as slow as an analysis."""
    entries, catalog = of_session(spark, "views of frames", VIEWS), _catalog_of(spark)
    known = entries.find(frame)
    if known is None:
        frame.createOrReplaceTempView(name)
        entries.put(frame, catalog.getRawTempView(name).get())
    else:
        catalog.createTempView(name, known, True)


def remember_registered(spark: SparkSession, name: str, snapshot: Snapshot) -> None:
    """Records that a view shows this version of a table."""
    if not is_connect(spark):
        own = _catalog_of(spark).getRawTempView(name)
        if own.isDefined():
            _registered_in(spark).put(name.casefold(), (own.get(), snapshot))


def _registered_in(spark: SparkSession) -> LruCache[Any, Any]:
    """The views that `register` created, each with the catalogue's entry and the table's snapshot."""
    return of_session(spark, "registered views", VIEWS)


def is_registered(spark: SparkSession, name: str, snapshot: Snapshot) -> bool:
    """Whether the user's view of that name shows exactly this version of this table."""
    known = None if is_connect(spark) else _registered_in(spark).find(name.casefold())
    if known is None:
        return False
    view, shown = known
    own = _catalog_of(spark).getRawTempView(name)
    same = (shown.storage, shown.segment) == (snapshot.storage, snapshot.segment)
    return bool(same and own.isDefined() and own.get().equals(view))
