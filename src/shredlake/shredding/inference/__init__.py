"""Chooses what to shred: profiles the data, estimates costs, and explains each decision.

Modules in reading order: `profile`, `profile_codec` (its bytes), `profile_reference` (one value at a
time), `hyperloglog`, `fit` (types of columns), `cost`, `budget`, `infer`, `report`.
"""

from typing import Final

MAX_LEAVES: Final = 300
"""The maximum number of columns that hold values, each with a `value` and mostly a `typed_value`."""
