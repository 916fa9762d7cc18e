"""The tables that a query names. In reading order:

- `in_text`     the names of tables in the text of a query, and the versions that it asks for
- `known`       resolves such a name: a given table, a registered one, a table of the catalog, a path
- `registered`  temporary views of tables, which `sql` knows by their names
- `given`       the table behind an address or a `Table`
"""
