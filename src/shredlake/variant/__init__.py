"""A single Variant value: two byte strings, read in place, built, compared and validated.

Modules in reading order: `types` (types and their bytes), `metadata` (the dictionary of names), `layout`
(reading a value's bytes), `path`, `walk` (events of a whole value), `scalars` (Python types for exact
widths), `decode` (to Python objects), `builder` (writing values), `validate` (every byte), `json` (text),
`value` (the Variant class), `identifiers` (quoted names).
"""

from shredlake.variant.builder import VariantBuilder
from shredlake.variant.path import Path
from shredlake.variant.types import VariantType
from shredlake.variant.value import Variant

__all__ = ["Path", "Variant", "VariantBuilder", "VariantType"]
