"""Casts of Variants to other types, with the rules of Spark's variant_get.

Modules in reading order: `targets` (types to cast to), `table` (every cast of one value), `numbers`,
`datetimes`, `containers` and `invalid_utf8` (text), `extract` (values out of Variant columns), `columns`
(typed columns).
"""
