"""Queries on Spark: planned here, executed by Spark. In reading order:

- `api`            `read`, `scan`, `sql`, `explain`, `register`
- `strategies/`    the ways to answer a query in SQL, tried in order
- `catalyst`       Spark's plans and expressions, as Python objects
- `filters`        Spark's filters as expressions that prune and read files
- `text/`          what the text of a query says: its paths, columns and conditions
- `tables/`        the tables that a query names
- `views`          names that only one query can see
- `scan`           a query on columns and paths as a DataFrame
- `left_to_spark`  expressions of `read` that Spark evaluates above a scan
- `data_files`     the files of a scan, as Arrow columns
- `file_groups`    the same, by the way they are read
- `layouts`        how each file shreds its Variants
- `path_columns`   how files of one layout serve a path
- `file_index`     a list of files as one of Spark's own relations, with partition values
- `arrow_frames`   Arrow tables as DataFrames
- `frames`         DataFrames over files, without deleted rows, and a cache of them
- `workers/`       queries whose rows Python workers reduce
- `explain`        what a query will read, and why
"""
