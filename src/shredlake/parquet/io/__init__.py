"""Reads and writes a file's bytes.

In reading order:

- `stores`: object stores by their addresses.
- `source`: paths, stores and open files, read by ranges.
- `destination`: files that appear only when they are complete.
"""
