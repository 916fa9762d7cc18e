"""Reading files.

In reading order:

- `scan`: `read_parquet`, `scan_parquet`, the scan itself. `explain`: the cost of a scan.
- `file_reader`: one file, whose windows are jobs for threads.
- `plan`: one query over many files. `bind`: expressions with their references replaced by slots.
- `open_file`: a file with its footer. `access`: the leaves that a reference needs. `draft`: the draft layout.
- `skipping`, `statistics`: skip row groups and pages without a match. `pages`: page index, single pages.
- `window`: some rows of a row group, from leaves to a batch.
- `stream`, `counts`: whole files in batches; the number of typed values.
"""
