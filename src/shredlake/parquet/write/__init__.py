"""Writing files.

In reading order:

- `writer`: `write_parquet` and `ParquetWriter`.
- `infer`, `arrange`: choose the shredding of Variants, and apply it.
- `encodings`: the encoding of each leaf. `bounds`: removes useless statistics.
"""
