"""Files as Spark's own relations, remembered.

Spark looks at every path again for every relation, from 33 paths on with a job of its own. Data files never
change, so a relation over the same files serves the next query as well.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

KEPT: Final = 128
"""Relations per session; the one that was not asked for the longest goes first."""

_known: WeakKeyDictionary[SparkSession, OrderedDict[tuple[object, ...], DataFrame]] = WeakKeyDictionary()


def parquet_files(spark: SparkSession, schema: StructType | str, paths: Sequence[str]) -> DataFrame:
    """The columns of a schema in these Parquet files."""
    known = _known.setdefault(spark, OrderedDict())
    key = (schema if isinstance(schema, str) else schema.json(), *paths)
    frame = known.get(key)
    if frame is None:
        frame = known[key] = spark.read.schema(schema).parquet(*paths)
        if len(known) > KEPT:
            known.popitem(last=False)
    known.move_to_end(key)
    return frame
