"""The Delta protocol as data.

In reading order:

- `actions`: the actions of a commit; `action_types`: the types of their fields.
- `features`: table features, and which of them shredlake reads and writes.
- `properties`: table properties, typed; `durations`: intervals in their values.
- `layout_tag`: the tag of a file that records how its Variants are shredded.
"""
