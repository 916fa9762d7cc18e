"""The pipeline on Spark: JSON to shredded Delta tables, and queries over them."""

from shredlake.spark.query.api import explain, read, register, scan, sql
from shredlake.spark.session import configure, session
from shredlake.spark.verbs import ingest, migrate_draft, optimize, stream, unshred

__all__ = [
    "configure",
    "explain",
    "ingest",
    "migrate_draft",
    "optimize",
    "read",
    "register",
    "scan",
    "session",
    "sql",
    "stream",
    "unshred",
]
