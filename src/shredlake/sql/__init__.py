"""SQL without a JVM: DuckDB runs the query, and shredlake scans the tables.

```
query ─ text ─▶ paths, tables, aggregates ─ references ─▶ which table has a path ─ rewrite ─▶ DuckDB's SQL
                                                                                                  │
rows ◀─ result ◀─ DuckDB ◀─ typed Arrow columns ◀─ dataset ◀─ pushdown: columns and filters of each scan
                                                      └─ sources: Delta tables, Parquet files, Arrow data
```

Modules in reading order: `path_tokens`, `variant_names`, `text`, `references`, `weights`, `rewrite`,
`parameters`, `sources`, `pushdown`, `runs`, `explain`, `dataset`, `functions`, `result`, `api`.
"""
