"""JSON into tables.

In reading order:

- `ingest`, `ingest_arrow`: the jobs, from text and from Arrow batches.
- `sources`, `text`, `documents`: files, their splits, and the documents in them.
- `tasks`: splits packed into tasks.
- `parse_task`: one task, from text to data files.
- `sampling`: samples the text to choose a layout.
- `folder_columns`: columns whose values are in the names of folders.
- `computed`: columns computed from the document by expressions.
- `key_paths`: sort keys and Bloom filters on paths that no row has.
- `rejects`: invalid documents.
- `once`: exactly-once ingest of files and jobs.
- `outcome`: checks that every document is accounted for.
- `publish`: the commit of a job.
"""
