"""Variants in Parquet files.

Packages and modules, lowest first; each may use those before it:

- `format`: the bytes of the format. `io`: where a file's bytes come from and go to.
- `variant_columns` (where the Variants of a file are), `nested` (the only walk through nested Arrow),
  `entries` (the groups of a Variant column, level by level), `leaves` (statistics per leaf), `given` (what
  users pass).
- `read`: scans. `write`: the writer. `legacy`: the older draft layout. `inspect`: contents and conformance.

`read/draft.py` is the only module of `read` that uses `legacy`.
"""
