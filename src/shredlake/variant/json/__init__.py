"""Converts JSON text to Variants and back without loss.

Modules in reading order: `parse`, `problems` (wording of the compiled parser's errors), `render`,
`java_digits` (floating-point digits of older Java versions).
"""

from shredlake.variant.json.parse import parse
from shredlake.variant.json.render import render

__all__ = ["parse", "render"]
