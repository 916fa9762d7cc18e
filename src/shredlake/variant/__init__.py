"""A single Variant value: two byte strings, read in place, built, compared and validated.

Modules in reading order: `types` (types and their bytes), `metadata` (the dictionary of names), `layout`
(reading a value's bytes), `path`, `walk` (events of a whole value), `scalars` (Python types for exact
widths), `decode` (to Python objects), `builder` (writing values), `validate` (every byte), `json` (text),
`value` (the Variant class), `identifiers` (quoted names). The names below are imported when they are first
used, because `import shredlake` imports this package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shredlake.variant.builder import VariantBuilder
    from shredlake.variant.path import Path
    from shredlake.variant.types import VariantType
    from shredlake.variant.value import Variant

__all__ = ["Path", "Variant", "VariantBuilder", "VariantType"]

_HOMES = {"Path": "path", "Variant": "value", "VariantBuilder": "builder", "VariantType": "types"}
"""The module of every name."""

if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'shredlake.variant' has no attribute {name!r}")
        globals()[name] = getattr(import_module(f"shredlake.variant.{_HOMES[name]}"), name)
        return globals()[name]
