"""Jobs over whole tables, independent of the engine that runs them.

In reading order:

- `engine`: the protocol that runs tasks and sorts rows, and its local implementation with threads.
- `verbs`: the pipeline without Spark, as users call it; `arguments`: their keyword arguments.
- `ingest/`: JSON into tables.
- `advise`: recommends paths to shred.
- `optimize`: compacts, sorts and re-shreds files.
- `convert/`: turns JSON in string columns into Variants.
- `migrate`, `unshred`: convert from the draft layout, and to files that are not shredded.
- `verified_copy`: copies rows and proves by checksum that nothing was lost.
- `data_files`: writes rows to data files of a target size.
- `sorting`, `packing`: external sort for rows that exceed memory; bins of bounded size.
- `report`: progress and summaries; `meter`: the bytes that tasks have read.
"""
