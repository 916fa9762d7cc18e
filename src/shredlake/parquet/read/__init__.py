"""Reading files.

In reading order:

- `whole`: `read_parquet`. `scan`: `scan_parquet`, the scan itself. `explain`: the cost of a scan.
- `plan`: one query over many files. `bind`: expressions with their references replaced by slots.
- `open_file`: a file with its footer. `access`: the leaves that a reference needs. `draft`: the draft layout.
- `skipping`, `statistics`: skip row groups and pages without a match. `pages`: page index, single pages.
- `window`: some rows of a row group, from leaves to a batch. `ordered`: threads with ordered results.
- `stream`, `counts`: whole files in batches; the number of typed values.
"""
