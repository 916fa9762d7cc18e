"""Sends Arrow tables to the JVM as DataFrames.

PySpark's `createDataFrame` imports pandas first, which takes a second or two in the first query of a process.
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import pyarrow as pa

from shredlake.spark.settings import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def frame_of_arrow(spark: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame:
    """The rows as a DataFrame. The columns must have the Arrow types that Spark uses for the schema.

    >>> from pyspark.sql.types import LongType, StructField, StructType
    >>> from shredlake.spark import session
    >>> schema = StructType([StructField("a", LongType())])
    >>> frame_of_arrow(session(), pa.table({"a": [1, 2]}), schema).collect()
    [Row(a=1), Row(a=2)]
    """
    from pyspark.sql import DataFrame

    if is_connect(spark):
        return spark.createDataFrame(rows, schema)
    java = spark._jvm.PythonSQLUtils
    with tempfile.NamedTemporaryFile(prefix="shredlake-", suffix=".arrow") as file:
        with pa.ipc.new_stream(file, rows.schema) as writer:
            writer.write_table(rows)
        file.flush()
        batches = java.readArrowStreamFromFile(file.name)  # reads all of it
    return DataFrame(java.toDataFrame(batches, schema.json(), spark._jsparkSession), spark)
