"""Compiled operations on whole Arrow columns of Variants.

Modules in reading order: `threads` (columns to pieces and back), `dispatch` (compiled or fallback),
`from_json`, `from_arrow`, `to_json`, `to_python`, `get`, `cast_options`, `shred`, `unshred`, `reshred`,
`profile`, `validate`, `checksum`, `row_errors`. Below them: `arrow` (the normal form of a Variant
column), `casts`, `compiled`, `fallback`.
"""

from shredlake.kernels.arrow.types import is_variant, shredded_type, shredding_schema, variant
from shredlake.kernels.from_arrow import from_arrow
from shredlake.kernels.from_json import from_json
from shredlake.kernels.get import get
from shredlake.kernels.profile import infer_schema, merge_profiles, profile, profile_bytes
from shredlake.kernels.reshred import reshred
from shredlake.kernels.shred import shred
from shredlake.kernels.to_json import to_json
from shredlake.kernels.to_python import to_python
from shredlake.kernels.unshred import unshred
from shredlake.kernels.validate import validate

__all__ = [
    "from_arrow",
    "from_json",
    "get",
    "infer_schema",
    "is_variant",
    "merge_profiles",
    "profile",
    "profile_bytes",
    "reshred",
    "shred",
    "shredded_type",
    "shredding_schema",
    "to_json",
    "to_python",
    "unshred",
    "validate",
    "variant",
]
