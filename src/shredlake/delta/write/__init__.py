"""Everything that changes a table.

In reading order:

- `create`, `folder`: a new table, and the folder that it needs.
- `append`, `overwrite`, `delete`: the writes of rows.
- `constraints`: generated columns, defaults, and what rows must satisfy.
- `layout`: which paths of each Variant are shredded.
- `spec`, `data_files`: the files of a write, and one of them.
- `transaction`: adding a version to the log; `commit`: that, and what follows it.
- `cleanup`: removes the files of a write that failed.
- `checkpoint`: the state of a version as Parquet.
- `alter`, `restore`, `vacuum`: properties and columns, older versions, files that are no longer needed.
"""
