"""Work on whole tables, on any engine.

In reading order:

- `engine`: the protocol that runs tasks and sorts rows, and threads of this process.
- `verbs`: the pipeline without Spark, as users call it.
- `ingest/`: JSON into tables.
- `advise`: which paths to shred.
- `optimize`: fewer, sorted, better shredded files.
- `migrate`, `unshred`: from the draft layout, and to files that are not shredded.
- `verified_copy`: rows copied with proof that nothing was lost.
- `sorting`, `packing`: more rows than fit into memory; bins of bounded size.
- `report`: progress and summaries.
"""
