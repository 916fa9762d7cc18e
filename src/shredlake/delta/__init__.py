"""Delta tables: the log, its features and statistics, scans that skip, writes that commit."""

from shredlake.delta.table import Table

__all__ = ["Table"]
