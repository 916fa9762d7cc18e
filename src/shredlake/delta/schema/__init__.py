"""The schema of a table.

In reading order:

- `types`: Delta types, as JSON and as Arrow types.
- `names`: from the name of a column to its fields.
- `column_mapping`, `type_widening`: names and types that differ between table and file.
- `variants`: the Variants of a schema, wherever they are nested.
- `partitions`: partition values as text, and the folders of partitions.
- `change_feed`: the columns of the change data feed.
"""
