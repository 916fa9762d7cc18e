"""Writing files.

In reading order:

- `writer`: `write_parquet` and `ParquetWriter`.
- `infer`, `arrange`: which Variants are shredded, and how.
- `encodings`: the encoding of each leaf. `bounds`: statistics that are left out.
"""
