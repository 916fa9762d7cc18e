"""Statistics of files: collected, stored, read, and used to skip files.

In reading order:

- `collect`: the statistics of a file just written; `text`, `z85`: how the log stores them.
- `records`: the number of rows of one file.
- `columns`: statistics as columns over many files; `parsed`: those that a checkpoint holds typed.
- `skipping`: which files a predicate can skip.
- `ranges`: how the ranges of files overlap.
"""
