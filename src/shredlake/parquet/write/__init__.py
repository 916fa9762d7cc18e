"""Writing files.

In reading order:

- `writer`: `write_parquet` and `ParquetWriter`.
- `arrange`: chooses the shredding of Variants, and applies it.
- `encodings`: the encoding of each leaf. `bounds`: removes useless statistics.
"""
