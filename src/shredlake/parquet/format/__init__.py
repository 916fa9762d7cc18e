"""The Parquet format.

In reading order:

- `thrift`: Thrift's compact protocol. `schema`: a file's schema as a tree.
- `footer`: the footer as bytes, tree and schema; the VARIANT annotation.
- `metadata_types`, `footer_check`: refuse footers that pyarrow would not survive.
- `chunks`: column chunks, parsed on demand. `row_ranges`: sets of rows.
"""
