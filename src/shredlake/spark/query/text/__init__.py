"""The text of a query on Spark. In reading order:

- `sql_paths`  its paths, replaced by plain columns
- `clauses`    its columns and conditions, one by one
- `simple`     queries of which the text alone says everything
"""
