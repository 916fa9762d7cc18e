"""What is in a file, and where it breaks the specification.

In reading order:

- `inspect`: columns, layouts, sizes. `merge`: those of several files together. `page`: as HTML.
- `check`: every violation. `rules`: the rules. `check_structure`: the footer. `check_rows`: the data.
- `check_draft`: the same for the draft layout.
"""
