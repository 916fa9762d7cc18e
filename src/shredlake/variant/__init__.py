"""One Variant value: two byte strings, read in place, built, compared, checked."""

from shredlake.variant.builder import VariantBuilder
from shredlake.variant.path import Path
from shredlake.variant.types import VariantType
from shredlake.variant.value import Variant

__all__ = ["Path", "Variant", "VariantBuilder", "VariantType"]
