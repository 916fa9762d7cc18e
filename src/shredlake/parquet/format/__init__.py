"""The Parquet format: Thrift, footers, schemas, column chunks, ranges of rows."""
