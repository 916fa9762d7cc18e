"""Access to storage; it knows nothing of Delta.

In reading order:

- `addresses`: paths and URLs, and how the log spells them.
- `boundary`: the files that the log of a table may name.
- `secrets`: keeps credentials out of messages.
- `storage`: `Storage`, the one way to read, write and list.
- `local_files`, `store_files`: the local disk and object stores behind it.
"""
