"""The ways to answer a query in SQL, in the order in which they are tried.

| strategy          | Python workers                         | Spark                                        |
|-------------------|----------------------------------------|----------------------------------------------|
| the text alone    | read only what is not a plain column   | reads paths as plain columns, analyses once  |
| groups by workers | read and group the rows of their files | merges the groups                            |
| top-n by workers  | find the first rows of their files     | merges and sorts these rows                  |
| plain columns     | read only what is not a plain column   | analyses, reads paths as plain columns       |
| sub-Variants      |                                        | rebuilds only the Variants at paths          |
| Spark's reading   |                                        | reads whole Variants, runs the query         |

Every strategy says whether it applies to a query, and if not, why not: `explain` shows the reasons. A
strategy plans at most one scan of each table, once it has checked everything that does not need one. The last
strategy always applies.

- `question`        the query, and Spark's analysis of it, once a strategy asks
- `answer`          the list of strategies, and the answer of the first that applies
- `path_scans`      scans that read paths as plain columns
- `text_alone`      queries of which the text says everything
- `by_workers`      groups and top-n by workers
- `plain_columns`   paths as plain columns, by Spark's plan
- `sub_variants`    Variants at paths, in place of whole ones
- `whole_variants`  scans in which Spark reads whole Variants
- `spark_reading`   Spark's own reading
"""
