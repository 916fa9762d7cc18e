"""Queries on Spark: planned by us, executed by Spark."""
