"""Variant columns in Arrow: their types, and the normal form that kernels expect.

In reading order:

- `types`: the Arrow types of Variants; `extension`: the canonical extension type.
- `nested`: one level of a nested type or array, for all walks.
- `normalize`: converts other layouts to the normal form.
- `buffers`: columns and their parts. `rows`: one row at a time.
- `flat_schema`: a shredding schema for kernels. `shredded`: the columns of a shredded Variant.
- `nodes`: the columns that `from_arrow` converts.
- `raw_arrays`: raw content to arrays, and back.
"""
