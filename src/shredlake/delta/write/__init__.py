"""Everything that changes a table.

In reading order:

- `create`, `folder`: a new table, and the folder that it needs.
- `append`, `overwrite`, `delete`: the writes of rows.
- `constraints`: generated columns, defaults, and what rows must satisfy.
- `layout`: which paths of each Variant are shredded.
- `data_files`: how the files of a table are written, and the writer of one.
- `transaction`: adding a version to the log; `commit`: that, what follows it, and exactly once.
- `cleanup`: removes the files of a write that failed.
- `checkpoint`: the state of a version as Parquet.
- `alter`, `restore`, `vacuum`: properties and columns, older versions, files that are no longer needed.
"""
