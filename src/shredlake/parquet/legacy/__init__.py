"""The older draft layout of shredded Variants.

In reading order:

- `types`: its Arrow types. `columns`: conversion of columns between the draft and the current layout.
- `convert`: conversion of whole files.
"""
