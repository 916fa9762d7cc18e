"""Scans in which Spark reads Variant columns by itself. Files are pruned by the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from shredlake.delta.log.snapshot import Snapshot
from shredlake.expr import Expr
from shredlake.spark.arrow import spark_type
from shredlake.spark.query.frames import cached_frame, table_rows
from shredlake.spark.query.scan import SparkScan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def variants_scan(spark: SparkSession, snapshot: Snapshot, where: Expr | None = None) -> SparkScan:
    """A scan of all columns in which Spark reads whole Variants; `where` only prunes files."""
    return SparkScan(spark, snapshot, None, where, prune_only=True, native=True)


def variants_frame(scan: SparkScan) -> DataFrame:
    """The rows of such a scan; in one step where the files are all there is to read."""
    snapshot = scan.snapshot
    if not snapshot.metadata.partition_columns and snapshot.mapping_mode == "none":
        files = scan.files
        plain = not pc.any(files.invisible).as_py() and files.deleted_rows.null_count == len(files)
        if len(files) and plain:
            schema: Any = spark_type(snapshot.schema)
            return table_rows(scan.spark, schema, files)
    return cached_frame(scan.spark, ("Variants", *scan.frame_identity), scan.frame, len(scan.files))
