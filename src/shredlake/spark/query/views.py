"""Names that a query knows tables by: common table expressions in front of it, which nobody else can see.

```
select count(*) from events   ──▶   WITH `events` AS (TABLE __shredlake_3f…) (
                                    select count(*) from events
                                    )
```

What the expressions name are temporary views whose names no one has used before, and no one will again. They
are gone when the query is analysed. Views of the user's own, also of the same names, are not touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4
from weakref import WeakKeyDictionary

from shredlake.caches import LruCache
from shredlake.delta.log.snapshot import Snapshot
from shredlake.spark.engine import is_connect
from shredlake.spark.query.sql_paths import with_tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_made: WeakKeyDictionary[DataFrame, Any] = WeakKeyDictionary()
"""Per frame, the view as the catalogue keeps it: making one takes as long as analysing a query."""

_registered: Final[LruCache[tuple[SparkSession, str], tuple[Any, Snapshot]]] = LruCache(
    64, "registered views"
)
"""Views that `register` made: what the catalogue kept then, and the table."""


def analysed(spark: SparkSession, query: str, frames: Mapping[str, DataFrame]) -> DataFrame:
    """The query as Spark understands it where each name means a frame, whatever else it means outside."""
    from pyspark.errors import ParseException
    from pyspark.sql import DataFrame

    unique = {name: f"__shredlake_{uuid4().hex}" for name in frames}
    text = with_tables(query, unique)
    if is_connect(spark):
        found = _over_connect(spark, text, {unique[name]: frame for name, frame in frames.items()})
        _ = found.schema  # raises what is wrong with the query
        return found
    catalog = _catalog_of(spark)
    try:
        for name, frame in frames.items():
            _show(catalog, unique[name], frame)
        # Past what PySpark does for parameters.
        return DataFrame(spark._jsparkSession.sql(text), spark)
    except ParseException:
        spark._jsparkSession.sessionState().sqlParser().parsePlan(query)  # the same, of the user's own text
        raise
    finally:
        for name in unique.values():
            catalog.dropTempView(name)


def _over_connect(spark: SparkSession, text: str, frames: Mapping[str, DataFrame]) -> DataFrame:
    """The query with its frames sent along, for Connect looks names up again whenever the query runs."""
    text = text.replace("{", "{{").replace("}", "}}")
    arguments = {}
    for number, (name, frame) in enumerate(frames.items()):
        arguments[f"frame{number}"] = frame
        text = text.replace(name, f"{{frame{number}}}")
    return spark.sql(text, **arguments)


@lru_cache(maxsize=4)
def _catalog_of(spark: SparkSession) -> Any:
    return spark._jsparkSession.sessionState().catalog()


def _show(catalog: Any, name: str, frame: DataFrame) -> None:
    made = _made.get(frame)
    if made is None:
        frame.createOrReplaceTempView(name)
        _made[frame] = catalog.getRawTempView(name).get()
    else:
        catalog.createTempView(name, made, True)


def registered(spark: SparkSession, name: str, snapshot: Snapshot) -> None:
    """Takes down that a view shows a version of a table."""
    if not is_connect(spark):
        own = _catalog_of(spark).getRawTempView(name)
        if own.isDefined():
            _registered.put((spark, name.casefold()), (own.get(), snapshot))


def is_registered(spark: SparkSession, name: str, snapshot: Snapshot) -> bool:
    """Whether the user's view of that name shows just this version of this table."""
    known = None if is_connect(spark) else _registered.find((spark, name.casefold()))
    if known is None:
        return False
    view, shown = known
    own = _catalog_of(spark).getRawTempView(name)
    same = (shown.storage, shown.segment) == (snapshot.storage, snapshot.segment)
    return bool(same and own.isDefined() and own.get().equals(view))
