"""JSON into tables.

In reading order:

- `ingest`, `ingest_arrow`: the jobs, from text and from Arrow batches.
- `sources`, `text`, `documents`: files, their splits, and the documents in them.
- `parse_task`: what one task does.
- `computed`: columns that expressions make of the document.
- `key_paths`: sort keys and Bloom filters on paths that no row has.
- `rejects`: documents that were refused.
- `once`: each file and each job is ingested once.
- `outcome`: every document accounted for.
"""
