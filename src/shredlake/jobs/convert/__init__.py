"""JSON in string columns into Variants.

In reading order:

- `convert`: the job, from planning to the one commit.
- `ends`: the table or files that are read, and the table that is written.
- `task`: what one task does: read, parse, write, read back, compare.
- `journal`: the tasks that are done, so that a killed job can be resumed.
"""
