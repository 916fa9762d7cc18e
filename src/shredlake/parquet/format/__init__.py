"""The Parquet format.

In reading order:

- `thrift`: Thrift's compact protocol. `schema`: a file's schema as a tree.
- `footer`: the footer as bytes, tree and schema; the VARIANT annotation.
- `metadata_types`, `footer_check`: reject footers that crash pyarrow.
- `seal`: checksums of the footer and of page indexes.
- `chunks`: column chunks, parsed on demand. `row_ranges`: sets of rows.
"""
