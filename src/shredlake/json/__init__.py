"""JSON text to Variant and back, exactly."""

from shredlake.json.parse import parse
from shredlake.json.render import render

__all__ = ["parse", "render"]
