"""Finds how each file shreds its Variants; Spark's workers read the footers if there are many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.read import layouts
from shredlake.delta.read.layouts import Layout
from shredlake.jobs.engine import LocalEngine
from shredlake.parquet.variant_columns import is_known_layout, parse_layout_json
from shredlake.spark.engine import SparkEngine
from shredlake.spark.query.data_files import DataFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Codes", "FileLayouts", "Layout"]

Codes = np.ndarray[Any, np.dtype[np.signedinteger[Any]]]
"""The number of a layout for each file."""

UNKNOWN = -1

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

    def by_code(self, files: DataFiles) -> tuple[Codes, list[Layout]]:
        """The number of each file's layout, and the layouts.

        If the log lacks a file's layout, the footer is read and cached.
        """
        tags = files.layouts.unify_dictionaries().combine_chunks()
        codes = tags.indices.fill_null(UNKNOWN).to_numpy(zero_copy_only=False).copy()
        found: list[Layout] = []
        for code, text in enumerate(tags.dictionary.to_pylist()):
            later = not is_known_layout(text)
            found.append({} if later else parse_layout_json(text))
            if later:
                codes[codes == code] = UNKNOWN
        unknown = codes == UNKNOWN
        if unknown.any():
            numbers: dict[int, int] = {}
            for layout in (read := self.of(files.filter(pa.array(unknown)).adds)):
                if numbers.setdefault(id(layout), len(found)) == len(found):
                    found.append(layout)
            codes[unknown] = [numbers[id(layout)] for layout in read]
        return codes, found
