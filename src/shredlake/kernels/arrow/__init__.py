"""Variant columns in Arrow: their types, and the normal form that kernels expect.

Modules in reading order: `types`, `normalize` (other layouts to the normal form), `buffers` (columns and
their parts), `flat_schema` (a shredding schema for kernels), `shredded` (columns of a shredded Variant),
`nodes` (any column, for `from_arrow`), `rows` (one row at a time), `raw_arrays` (raw content to arrays
and back).
"""
