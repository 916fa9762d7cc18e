"""DataFrames over the files of a table, without deleted rows, and a cache of them.

For every new relation Spark checks every path again (from 33 paths on in a job of its own) and analyses every
step from the relation to the view. Data files never change, so a frame over the same files can be reused.
Frames belong to their session and are dropped with it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from shredlake.caches import of_session
from shredlake.delta.protocol.actions import Add
from shredlake.delta.read.deletion_vectors import read_vector
from shredlake.delta.storage.storage import Storage, decode_path
from shredlake.spark.arrow import hadoop_path
from shredlake.spark.engine import is_connect
from shredlake.spark.settings import session_constant, settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

NO_PATTERNS: Final = ("__globPaths__", "false")
"""Turns off glob patterns in paths. Escaping is not enough: Hadoop rejects patterns that hold a colon."""

FILE: Final = "\u0000file"
ROW: Final = "\u0000row"
"""Columns that say where a row is stored, of names that no table has."""

FRAMES: Final = 128
"""The number of frames that a session keeps."""


def cached_frame(spark: SparkSession, key: tuple[Hashable, ...], make: Callable[[], DataFrame]) -> DataFrame:
    """The frame of this key under the session's present settings; made if there is none."""
    present = "" if is_connect(spark) else settings(spark)
    found: DataFrame = of_session(spark, "frames", FRAMES).get((present, *key), make)
    return found


def parquet_files(
    spark: SparkSession, schema: StructType, storage: Storage, adds: Sequence[Add], *, declare: bool = False
) -> DataFrame:
    """Reads the columns of a schema from these files of a table.

    With `declare`, Spark may rely on columns that are not nullable in the schema.
    """
    paths = [hadoop_path(storage, add.path) for add in adds]
    # Size and time tell apart the files of a table that another writer made again under the same names.
    stamps = [(add.size, add.modification_time) for add in adds]

    def make() -> DataFrame:
        frame = spark.read.schema(schema).option(*NO_PATTERNS).parquet(*paths)
        return _declared(frame, schema) if declare else frame

    return cached_frame(spark, (schema.json(), declare, *zip(paths, stamps, strict=True)), make)


def without_deleted_rows(rows: DataFrame, storage: Storage, adds: Sequence[Add]) -> DataFrame:
    """Removes the rows that the deletion vectors of these files delete. All files have distinct names."""
    files: list[str] = []
    numbers: list[int] = []
    for add in adds:
        if add.deletion_vector is not None:
            numbers.extend(read_vector(storage, add.deletion_vector))
            files.extend([file_name(add)] * (len(numbers) - len(files)))
    if not files:
        return rows
    from pyspark.sql import functions as F

    deleted = pa.table({FILE: files, ROW: pa.array(numbers, pa.int64())})
    located = rows.select(
        "*", F.col("_metadata.file_name").alias(FILE), F.col("_metadata.row_index").alias(ROW)
    )
    deleted_rows = F.broadcast(rows.sparkSession.createDataFrame(deleted))
    return located.join(deleted_rows, [FILE, ROW], "left_anti")


def file_name(add: Add) -> str:
    """The last part of a file's path, as in `_metadata.file_name`."""
    return decode_path(add.path).rsplit("/", 1)[-1]


def is_hidden(add: Add) -> bool:
    """Whether Spark silently leaves the file out of its listing."""
    return file_name(add).startswith(("_", ".")) or file_name(add).endswith("._COPYING_")


def _declared(frame: DataFrame, schema: StructType) -> DataFrame:
    """Declares columns that are never null as such, if this Spark allows it.

    Spark treats every column of a file as nullable. Each nullable level of a path costs a test and an object
    for every row: see docs/decisions/0008.
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
        return frame  # this Spark has other classes: slower, with the same result


def frame_of(spark: SparkSession, plan: Any) -> DataFrame:
    """Makes a DataFrame of a logical plan in the JVM."""
    from pyspark.sql import DataFrame

    datasets = session_constant(spark, "Dataset$", lambda: _datasets(spark._jvm))
    return DataFrame(datasets.ofRows(spark._jsparkSession, plan), spark)


def _datasets(jvm: Any) -> Any:
    return getattr(getattr(jvm.org.apache.spark.sql.classic, "Dataset$"), "MODULE$")
