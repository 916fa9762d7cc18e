"""Describes the contents of a file, and finds violations of the specification.

In reading order:

- `inspect`: columns, layouts, sizes. `merge`: those of several files together. `page`: as HTML.
- `check`: every violation. `rules`: the rules. `check_structure`: the footer. `check_rows`: the data.
- `check_draft`: finds violations of the draft layout.
"""
