"""The text of a query on Spark. In reading order:

- `sql_paths`   its paths, replaced by plain columns
- `clauses`     its columns and conditions, one by one
- `selects`     its SELECTs: the tables that each reads, and its conditions
- `conditions`  conditions that can prune files
- `needs`       the paths and the condition of each table
- `simple`      queries of which the text alone says everything
"""
