"""The pipeline on Spark: JSON to shredded Delta tables, and queries over them."""

from shredlake.spark.pipeline import ingest, optimize, stream
from shredlake.spark.query import read, register, scan, sql
from shredlake.spark.session import configure, session

__all__ = [
    "configure",
    "ingest",
    "optimize",
    "read",
    "register",
    "scan",
    "session",
    "sql",
    "stream",
]
