"""The class that Spark registers as `format("shredlake")`.

Spark finds it by itself: it looks for `DefaultSource` in installed modules named `pyspark_*`. That happens in
every session that asks for a Python data source, so this module imports shredlake only when it is used.

Spark creates the class in Python processes of its own: one to find the schema, one to plan a read, one to
plan a write, one to commit. Each needs only the options.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from shredlake.spark.datasource.options import SourceOptions

__all__ = ["DefaultSource"]

PUSHING_PROCESS: Final = "pyspark.sql.worker.data_source_pushdown_filters"
"""The module of PySpark that runs in the process in which filters are pushed, and in no other."""


class DefaultSource(DataSource):
    """Shredded Delta tables as a Spark data source."""

    @classmethod
    def name(cls) -> str:
        return "shredlake"

    def schema(self) -> StructType:
        from shredlake.spark.datasource.changes import query_of
        from shredlake.spark.datasource.opened import opened

        given = self._given(None)  # of a batch or of a stream, Spark does not tell
        return query_of(opened(given), given)[1]

    def reader(self, schema: StructType) -> Any:
        from shredlake.spark.datasource.changes import FeedReader
        from shredlake.spark.datasource.options import READ
        from shredlake.spark.datasource.read import FilteringReader, TableReader

        given = self._given(READ)
        if given["readChangeFeed"]:
            return FeedReader(given, schema)
        # Spark plans a read once per DataFrame, with the filters of its first query. Later queries on that
        # DataFrame are answered from that plan, and would lack rows. So filters are taken only if asked for.
        # Spark also refuses a reader with `pushFilters` in a process that pushes none.
        pushes = given["pushFilters"] and PUSHING_PROCESS in sys.modules
        kind = FilteringReader if pushes else TableReader
        return kind(given, schema)

    def streamReader(self, schema: StructType) -> Any:
        from shredlake.spark.datasource.options import STREAM_READ
        from shredlake.spark.datasource.stream_read import TableStream

        return TableStream(self._given(STREAM_READ), schema)

    def writer(self, schema: StructType, overwrite: bool) -> Any:
        from shredlake.spark.datasource.options import WRITE
        from shredlake.spark.datasource.write import TableWriter

        return TableWriter(self._given(WRITE), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:
        from shredlake.spark.datasource.options import STREAM_WRITE
        from shredlake.spark.datasource.stream_write import StreamWriter

        return StreamWriter(self._given(STREAM_WRITE), schema, overwrite)

    def _given(self, use: str | None) -> SourceOptions:
        from shredlake.spark.datasource.options import SourceOptions

        return SourceOptions.of(self.options, use)
