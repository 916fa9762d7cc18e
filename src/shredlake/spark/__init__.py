"""The pipeline on Spark: JSON to shredded Delta tables, and queries over them."""

from shredlake.spark.session import configure, session

__all__ = [
    "configure",
    "session",
]
