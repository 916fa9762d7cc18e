"""Gives tables names that only one query can see, by prepending common table expressions to it.

```
select count(*) from events   ──▶   WITH `events` AS (TABLE __shredlake_3f…) (
                                    select count(*) from events
                                    )
```

The expressions refer to temporary views with unique names, which are dropped once the query is analysed. If
it is known where the query names its tables, the names of the views take their places.
The user's own views are not touched, even those with the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from shredlake.caches import of_session
from shredlake.spark.query.text.sql_paths import with_tables
from shredlake.spark.settings import is_connect, session_constant
from shredlake.sql.parameters import Parameters, as_given

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VIEWS: Final = 128
"""The size of each session's caches of views."""


def analysed(
    spark: SparkSession,
    query: str,
    frames: Mapping[str, DataFrame],
    args: Parameters = None,
    over: Callable[[Mapping[str, str]], str] | None = None,
) -> DataFrame:
    """Analyses a query in which each given name refers to a frame, regardless of the session's views.

    `over` writes the query with views, by the names of their tables, if it is known where it names these.
    """
    from pyspark.errors import ParseException
    from pyspark.sql import DataFrame

    unique = {name: f"__shredlake_{uuid4().hex}" for name in frames}
    text = with_tables(query, unique) if over is None else over(unique)
    if is_connect(spark):
        found = _over_connect(spark, text, {unique[name]: frame for name, frame in frames.items()}, args)
        _ = found.schema  # raises if the query is wrong
        return found
    catalog = catalog_of(spark)
    try:
        for name, frame in frames.items():
            _create_view(spark, unique[name], frame)
        if parameters := as_given(args):
            return spark.sql(text, args=parameters)
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
    spark: SparkSession, query: str, frames: Mapping[str, DataFrame], args: Parameters = None
) -> DataFrame | AnalysisFailure:
    """The analysed query, or why Spark does not accept it."""
    from pyspark.errors import AnalysisException

    try:
        found = analysed(spark, query, frames, args)
        _ = found.schema  # raises if a column has no valid type
        return found
    except AnalysisException as error:
        return AnalysisFailure(str(error))


def _over_connect(
    spark: SparkSession, text: str, frames: Mapping[str, DataFrame], args: Parameters
) -> DataFrame:
    """Sends the frames along with the query, because Connect resolves names again whenever the query runs."""
    text = text.replace("{", "{{").replace("}", "}}")
    arguments = {}
    for number, (name, frame) in enumerate(frames.items()):
        arguments[f"frame{number}"] = frame
        text = text.replace(name, f"{{frame{number}}}")
    return spark.sql(text, as_given(args), **arguments)


def catalog_of(spark: SparkSession) -> Any:
    """The JVM's catalog of the session, with its temporary views."""
    return session_constant(spark, "catalog", lambda: spark._jsparkSession.sessionState().catalog())


def _create_view(spark: SparkSession, name: str, frame: DataFrame) -> None:
    """Creates a temporary view. The catalogue's entry is cached: creating it is as slow as an analysis."""
    entries, catalog = of_session(spark, "views of frames", VIEWS), catalog_of(spark)
    known = entries.find(frame)
    if known is None:
        frame.createOrReplaceTempView(name)
        entries.put(frame, catalog.getRawTempView(name).get())
    else:
        catalog.createTempView(name, known, True)
