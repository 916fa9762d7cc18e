"""Reading a table.

In reading order:

- `scan`: `TableScan`, a query over one version.
- `bind`: a query in the names of one file.
- `data_file`: one file, as the table sees it; `deletion_vectors`: its deleted rows.
- `conform`, `convert`: columns in the types of the table.
- `layouts`: how each file shreds its Variants.
- `changes`: the change data feed.
"""
