"""Finds the engines that can read a table or file, and describes this environment.

In reading order:

- `doctor`: the answer for a table or file.
- `facts`: what the table or file needs of a reader.
- `rules`: what each engine can't read, as a table.
- `probes`: lets installed engines read it.
- `environment`: versions, kernels, Java, disk and stores.
"""
