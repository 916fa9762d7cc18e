"""Frames that serve the next query as well, remembered.

Spark looks at every path again for every relation, from 33 paths on with a job of its own, and analyses every
step from a relation to a view. Data files never change, so a frame over the same files is the same frame.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final

from shredlake.caches import LruCache
from shredlake.delta.protocol.actions import Add
from shredlake.delta.storage.storage import Storage
from shredlake.spark.arrow import hadoop_path
from shredlake.spark.engine import is_connect
from shredlake.spark.settings import settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

NO_PATTERNS: Final = ("__globPaths__", "false")
"""Paths are paths: escaping wildcards would not do, for Hadoop refuses patterns with a colon."""

_known: Final[LruCache[Hashable, DataFrame]] = LruCache(128, "frames")


def remembered(spark: SparkSession, key: tuple[Hashable, ...], make: Callable[[], DataFrame]) -> DataFrame:
    """The frame that was made under this key, in this session with the settings that it has now."""
    return _known.get((spark, "" if is_connect(spark) else settings(spark), *key), make)


def parquet_files(
    spark: SparkSession, schema: StructType, storage: Storage, adds: Sequence[Add], *, declare: bool = False
) -> DataFrame:
    """The columns of a schema in these files of a table.

    With `declare`, Spark may rely on it that what is not nullable in the schema is never null.
    """
    paths = [hadoop_path(storage, add.path) for add in adds]
    # Size and time tell the files of a table that was made again, by others under the same names.
    stamps = [(add.size, add.modification_time) for add in adds]

    def make() -> DataFrame:
        frame = spark.read.schema(schema).option(*NO_PATTERNS).parquet(*paths)
        return _declared(frame, schema) if declare else frame

    return remembered(spark, (schema.json(), declare, *zip(paths, stamps, strict=True)), make)


def _declared(frame: DataFrame, schema: StructType) -> DataFrame:
    """The frame with columns that are never null declared so, where it can be done.

    Spark takes every column of a file for nullable. Each level of a path that may be null costs a test and an
    object for every row: see docs/decisions/0008.
    """
    from py4j.protocol import Py4JError

    spark = frame.sparkSession
    if is_connect(spark):
        return frame
    jvm, session = spark._jvm, spark._jsparkSession
    try:
        files = frame._jdf.queryExecution().analyzed().relation()
        declared = files.copy(
            files.location(),
            files.partitionSchema(),
            jvm.org.apache.spark.sql.types.DataType.fromJson(schema.json()),
            files.bucketSpec(),
            files.fileFormat(),
            files.options(),
            session,
        )
        relations = getattr(jvm.org.apache.spark.sql.execution.datasources, "LogicalRelation$")
        return frame_of(spark, getattr(relations, "MODULE$").apply(declared, False))
    except (Py4JError, TypeError):
        return frame  # another Spark has these classes under other names: slower, with the same answer


def frame_of(spark: SparkSession, plan: Any) -> DataFrame:
    """The frame of a logical plan of the JVM."""
    from pyspark.sql import DataFrame

    datasets = getattr(spark._jvm.org.apache.spark.sql.classic, "Dataset$")
    return DataFrame(getattr(datasets, "MODULE$").ofRows(spark._jsparkSession, plan), spark)
