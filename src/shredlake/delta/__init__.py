"""Delta tables: the log, its features and statistics, scans that skip files, writes that commit.

In reading order; a package imports only those before it:

- `storage`: local files and object stores.
- `protocol`: the actions of the log, table features, table properties.
- `schema`: types and columns, partitions, column mapping.
- `log`: which files make up a version.
- `stats`: statistics of files, and which files a predicate can skip.
- `read`: scans, data files, deletion vectors, changes.
- `write`: everything that changes a table.
- `report`: what a table holds and how it is stored.
- `check`: whether log, files, statistics and data agree, and repairs.

`shredlake.table` is their public face.
"""
