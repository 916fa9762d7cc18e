"""Queries whose rows Python workers reduce before Spark merges them. In reading order:

- `pushdown`   what these queries share: when workers are worthwhile, their tasks, the plan above them
- `partials`   groups and partial aggregates of batches, as a worker computes them
- `aggregate`  queries that group a large table
- `top_n`      queries for the first rows in an order
"""
