"""Casts out of Variants, as Spark's variant_get does them."""
