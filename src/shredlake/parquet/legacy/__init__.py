"""The older draft layout of shredded Variants.

In reading order:

- `types`: its Arrow types. `columns`: columns between the draft and today's layout.
- `convert`: whole files.
"""
