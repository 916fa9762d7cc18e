"""A table's schema: types, partitions, column mapping, type widening."""
