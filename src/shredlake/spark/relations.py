"""Frames that serve the next query as well, remembered.

Spark looks at every path again for every relation, from 33 paths on with a job of its own, and analyses every
step from a relation to a view. Data files never change, so a frame over the same files is the same frame.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Final

from shredlake.delta.actions import Add
from shredlake.delta.last_used import LastUsed
from shredlake.delta.storage import Storage
from shredlake.spark.engine import is_connect
from shredlake.spark.frames import hadoop_path
from shredlake.spark.settings import settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_known: Final[LastUsed[Hashable, DataFrame]] = LastUsed(128)


def remembered(spark: SparkSession, key: tuple[Hashable, ...], make: Callable[[], DataFrame]) -> DataFrame:
    """The frame that was made under this key, in this session with the settings that it has now."""
    return _known.get((spark, "" if is_connect(spark) else settings(spark), *key), make)


def parquet_files(
    spark: SparkSession, schema: StructType | str, storage: Storage, adds: Sequence[Add]
) -> DataFrame:
    """The columns of a schema in these files of a table."""
    paths = [hadoop_path(storage, add.path) for add in adds]
    # Size and time tell the files of a table that was made again, by others under the same names.
    stamps = [(add.size, add.modification_time) for add in adds]
    key = (schema if isinstance(schema, str) else schema.json(), *zip(paths, stamps, strict=True))
    return remembered(spark, key, lambda: spark.read.schema(schema).parquet(*paths))
