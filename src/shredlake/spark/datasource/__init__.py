"""`format("shredlake")`: tables through Spark's Python Data Source API.

`pyspark_shredlake` has the class that Spark registers, which makes the readers and writers. In reading order:

- `options`       the options by name: a typo is an error with a suggestion
- `opened`        opens a table, and converts rows to the form that Spark expects
- `filters`       converts Spark's pushed filters to expressions
- `read`          batch read: files pruned on the driver, rows read by the workers
- `write_task`    what one task of a write does: rows in, data files out
- `write`         batch write: one commit on the driver, of the files that Spark's tasks committed
- `stream_write`  stream write: one commit per batch, exactly once
- `stream_log`    the log as a stream: positions, the files of each version, how much a batch takes
- `changes`       reads the change data feed, as a batch or in a stream
- `stream_read`   stream read: new rows, or changes
"""
