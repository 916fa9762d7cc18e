"""Shredlake on Spark: JSON to shredded Delta tables, and queries over them. In reading order:

- `verbs`             the public functions that write: ingest, convert, optimize and others
- `query/`            the public functions that read: read, scan, sql, explain, register
- `datasource/`       `format("shredlake")`: Spark's own reader, writer and streams over our tables
- `session`           creates a session, or checks a given one
- `start_messages`    leaves out what a starting JVM writes
- `settings`          reads and overrides a session's settings
- `engine`            runs the tasks of a job as Spark tasks
- `shared`            sends objects to the workers, and keeps credentials out of Spark's files
- `worker`            prepares a Python worker
- `arrow`             converts types, batches and paths between Spark and Arrow
- `snapshots`         the newest versions of the tables that are read
- `columns`           converts expressions to Spark columns
- `given`             checks what callers give to ingest and stream
- `ingest_frame`      ingests DataFrames, and text whose rows need Spark SQL
- `frame_tasks`       the part of such an ingest that runs in Python workers
- `store_assignment`  casts the values of a DataFrame to the types of the table's columns
- `file_stream`       writes a Structured Streaming query into a table
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shredlake.spark.session import configure, register_source, session

if TYPE_CHECKING:
    from shredlake.spark.query.api import explain, read, register, scan, sql
    from shredlake.spark.verbs import convert, ingest, migrate_draft, optimize, stream, unshred

__all__ = [
    "configure",
    "convert",
    "explain",
    "ingest",
    "migrate_draft",
    "optimize",
    "read",
    "register",
    "register_source",
    "scan",
    "session",
    "sql",
    "stream",
    "unshred",
]

_MODULES = {
    "shredlake.spark.query.api": "explain read register scan sql",
    "shredlake.spark.verbs": "convert ingest migrate_draft optimize stream unshred",
}
"""The module of every function that is imported when it is first used."""

_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'shredlake.spark' has no attribute {name!r}")
        globals()[name] = getattr(import_module(_HOMES[name]), name)
        return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
