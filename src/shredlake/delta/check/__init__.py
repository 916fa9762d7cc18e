"""Checks a whole table: whether its log, files, statistics and data agree; and repairs what can be rebuilt.

In reading order:

- `findings`: the rules as a table, a finding, and the report.
- `log_check`: commits, checkpoints, the hint to the last one, version checksums.
- `measure`: the true statistics of a file, from its rows.
- `file_check`: one file against its entry in the log.
- `check`: all of it. `repair`: statistics, tags and checkpoints, rebuilt.
"""
