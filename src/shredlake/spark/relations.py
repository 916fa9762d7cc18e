"""Files as Spark's own relations, remembered.

Spark looks at every path again for every relation, from 33 paths on with a job of its own. Data files never
change, so a relation over the same files serves the next query as well.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from shredlake.delta.actions import Add
from shredlake.delta.storage import Storage
from shredlake.spark.frames import hadoop_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

KEPT: Final = 128
"""Relations in all; the one that was not asked for the longest goes first."""

_known: OrderedDict[tuple[object, ...], DataFrame] = OrderedDict()


def parquet_files(
    spark: SparkSession, schema: StructType | str, storage: Storage, adds: Sequence[Add]
) -> DataFrame:
    """The columns of a schema in these files of a table."""
    paths = [hadoop_path(storage, add.path) for add in adds]
    # Size and time tell the files of a table that was made again, by others under the same names.
    stamps = [(add.size, add.modification_time) for add in adds]
    key = (spark, schema if isinstance(schema, str) else schema.json(), *zip(paths, stamps, strict=True))
    frame = _known.get(key)
    if frame is None:
        frame = _known[key] = spark.read.schema(schema).parquet(*paths)
        if len(_known) > KEPT:
            _known.popitem(last=False)
    _known.move_to_end(key)
    return frame
