"""Where a file's bytes come from and go to.

In reading order:

- `source`: paths, stores and open files, read by ranges.
- `destination`: files that appear only when they are complete.
"""
