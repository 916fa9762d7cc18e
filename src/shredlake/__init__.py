"""Semi-structured data at the speed of relational tables."""

from shredlake.errors import ShredlakeError

__all__ = [
    "ShredlakeError",
]

__version__ = "0.1.0"
