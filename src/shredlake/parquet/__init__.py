"""Variants in Parquet files.

Packages and modules, lowest first; each may use those before it:

- `format`: the bytes of the format. `io`: reads and writes a file's bytes.
- `variant_columns`: finds the Variants of a file. `nested`: traverses nested Arrow types.
- `entries`: the groups of a Variant column, level by level. `leaves`: statistics per leaf.
- `arrow_stream`: scans as Arrow streams. `given`: data that users pass.
- `read`: scans. `write`: the writer. `legacy`: the older draft layout. `inspect`: contents and conformance.

`read/draft.py` is the only module of `read` that uses `legacy`.
"""
