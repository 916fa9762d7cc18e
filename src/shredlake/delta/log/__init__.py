"""The log of a table, replayed into a snapshot.

In reading order:

- `listing`: the files of the log, and those that make up a version.
- `checkpoint_read`: checkpoints, column by column.
- `files`: the live files as Arrow columns.
- `snapshot`: `Snapshot`, a table at one version.
- `history`: what was done to the table.
"""
