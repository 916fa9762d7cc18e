"""DataFrames over the files of a table, with partition values, without deleted rows, and a cache of them.

Data files never change, so a frame over the same files can be reused. Frames belong to their session and are
dropped with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake.caches import of_session
from shredlake.delta.read.deletion_vectors import read_vector
from shredlake.spark.columns import at
from shredlake.spark.query.arrow_frames import frame_of_arrow
from shredlake.spark.query.data_files import MOST_FILES, DataFiles
from shredlake.spark.query.file_index import has_values, partition_schema, relation
from shredlake.spark.settings import is_connect, settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

NO_PATTERNS: Final = ("__globPaths__", "false")
"""Turns off glob patterns in paths. Escaping is not enough: Hadoop rejects patterns that hold a colon."""

FILE: Final = "\u0000file"
ROW: Final = "\u0000row"
"""Columns that say where a row is stored, of names that no table has."""

KNOWN: Final = "\u0000known"
"""Marks the files whose partition values a join found."""

ESCAPED: Final = re.compile(
    r"[^A-Za-z0-9_!.~'()*:@&=+$,;/\-\u0080-\U0010ffff]"
    r"|[\u0080-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
)
"""Characters that Java's `URI` escapes in a path: all of ASCII but some, and blanks and controls beyond."""

FRAMES: Final = 128
"""The most frames that a session keeps."""


def cached_frame(
    spark: SparkSession, key: tuple[Hashable, ...], make: Callable[[], DataFrame], files: int = 0
) -> DataFrame:
    """The frame of this key under the session's present settings; made if there is none.

    `files` is how many files it reads. Frames with many of them drop others.
    """
    present = "" if is_connect(spark) else settings(spark)
    frames = of_session(spark, "frames", FRAMES, heaviest=MOST_FILES)
    found: DataFrame = frames.get((present, *key), make, files)
    return found


def table_rows(
    spark: SparkSession, schema: StructType, files: DataFiles, *, values: bool = False, declare: bool = False
) -> DataFrame:
    """The live rows of these files of a table, with the columns of a schema.

    With `values`, the frame also has the partition columns (`data_files.value_name`). With `declare`, Spark
    may rely on columns that are not nullable in the schema.
    """

    def make() -> DataFrame:
        rows = relation(spark, files, schema, declare=declare)
        if rows is None:  # over Connect, and on a Spark with other classes: slower, with the same result
            rows = spark.read.schema(schema).option(*NO_PATTERNS).parquet(*files.paths.to_pylist())
        joined = values and not has_values(rows, files)
        if not joined and files.deleted_rows.null_count == len(files):
            return rows
        return _located(rows, files, joined)

    return cached_frame(spark, (schema.json(), values, declare, files.digest), make, len(files))


def _located(rows: DataFrame, files: DataFiles, joined: bool) -> DataFrame:
    """The rows without deleted ones and, if `joined`, with partition values that folders do not tell."""
    from pyspark.sql import functions as F

    # Names are shorter than addresses, and as good if no two files have the same.
    if len(pc.unique(files.names)) == len(files):
        keys, key = files.names, F.col("_metadata.file_name")
    else:
        keys = pa.array([url_of(path) for path in files.paths.to_pylist()], pa.string())
        # Spark spells an address without the empty host that our paths have.
        key = F.regexp_replace(F.col("_metadata.file_path"), "^file:///", "file:/")
    found = rows.select("*", key.alias(FILE), F.col("_metadata.row_index").alias(ROW))
    if files.deleted_rows.null_count < len(files):
        found = found.join(F.broadcast(_deleted(rows.sparkSession, files, keys)), [FILE, ROW], "left_anti")
    columns = [at((name,)) for name in rows.columns]
    if joined:
        found = found.join(F.broadcast(_values(rows.sparkSession, files, keys)), FILE, "left")
        lost = F.raise_error(F.concat(F.lit("shredlake does not know the partition of "), at((FILE,))))
        known = at((KNOWN,))
        columns += [F.when(known, at((name,))).otherwise(lost).alias(name) for name in files.partition_values]
    return found.select(*columns)


def _values(spark: SparkSession, files: DataFiles, keys: pa.Array) -> DataFrame:
    """The partition values of each file."""
    from pyspark.sql.types import BooleanType, StringType, StructField, StructType

    known = {FILE: keys, **files.partition_values, KNOWN: pa.repeat(pa.scalar(True), len(files))}
    fields = [StructField(FILE, StringType()), *partition_schema(files), StructField(KNOWN, BooleanType())]
    return frame_of_arrow(spark, pa.table(known), StructType(fields))


def _deleted(spark: SparkSession, files: DataFiles, keys: pa.Array) -> DataFrame:
    """The rows that deletion vectors delete. `file_groups` bounds their number."""
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    deleting = files.deleted_rows.is_valid()
    vectors = [
        read_vector(files.snapshot.storage, add.deletion_vector)
        for add in files.filter(deleting).adds
        if add.deletion_vector is not None
    ]
    numbers = [np.fromiter(vector, np.int64, len(vector)) for vector in vectors]
    places = np.repeat(np.arange(len(vectors)), [len(one) for one in numbers])
    found = {FILE: keys.filter(deleting).take(pa.array(places)), ROW: pa.array(np.concatenate(numbers))}
    schema = StructType([StructField(FILE, StringType()), StructField(ROW, LongType())])
    return frame_of_arrow(spark, pa.table(found), schema)


def url_of(path: str) -> str:
    """A path as in `_metadata.file_path`: escaped as Java's `URI` does it.

    >>> url_of("file:///data/my table/a=100%/ü.parquet")
    'file:/data/my%20table/a=100%25/ü.parquet'
    """
    escaped = re.sub(ESCAPED, lambda found: quote(found[0], safe=""), path)
    return re.sub("^file:///", "file:/", escaped)
