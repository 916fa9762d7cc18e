"""Finds how each file shreds its Variants; Spark's workers read the footers if there are many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.read import layouts
from shredlake.delta.read.layouts import Layout
from shredlake.jobs.engine import LocalEngine
from shredlake.spark.engine import SparkEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["FileLayouts", "Layout"]

ENOUGH_FOR_SPARK = 200
"""The number of footers from which on Spark's workers read them. For fewer, driver threads are faster."""


class FileLayouts(layouts.FileLayouts):
    """Looks up the layouts of one table's files."""

    def __init__(self, spark: SparkSession | None, snapshot: Snapshot, *cache: Any) -> None:
        def run(keys: Sequence[Any], read: Callable[[Any], Any]) -> Iterable[Any]:
            engine = (
                SparkEngine(spark) if spark is not None and len(keys) >= ENOUGH_FOR_SPARK else LocalEngine()
            )
            return engine.run(keys, read)

        super().__init__(snapshot, run, *cache)
