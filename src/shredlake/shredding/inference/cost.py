"""Estimates the cost and the savings of a column, in bytes per row.

A value that is not shredded is stored in the binary `value` of its nearest shredded ancestor, among values of
other fields: its bytes, a field id and an offset, compressed by about half. In its own column it is stored
among similar values: numbers take the bits they need, repeated values a dictionary index, strings no id,
offset or length. A layout is worth more than the bytes it saves: a query on a path reads one column instead
of everything that is not shredded.

The constants are averages over the generated data sets (`make bench-infer` measures their effect).
"""

from __future__ import annotations

import math
from typing import Final

from shredlake.shredding.inference.fit import fitting
from shredlake.shredding.inference.profile import PathProfile, Profile
from shredlake.shredding.schema import Scalar, Untyped
from shredlake.variant.types import VariantType

ENTRY_BYTES: Final = 3.0
"""Field id and offset of a value inside an object."""

RESIDUAL_RATIO: Final = 0.5
"""The compression ratio of binary values, each next to values of other fields."""

VARIANT_RATIO: Final = 0.4
"""The compression ratio next to values of the same field."""

TEXT_RATIO: Final = 0.45
"""The compression ratio of strings that seldom repeat."""

COLUMN_BYTES: Final = 700.0
"""Bytes per leaf (`value` and `typed_value`) in a row group: chunk metadata, page headers, indexes."""

ROW_GROUP_BYTES: Final = 64 << 20
"""Bytes of encoded Variants in a row group, over which the fixed cost of a column is spread."""

QUERIED: Final = 0.02
"""The probability that a query uses a path that every row has; for other paths in proportion."""

_WIDTHS: Final = {
    VariantType.BOOLEAN: 0.125,
    VariantType.FLOAT: 3.5,
    VariantType.DOUBLE: 6.5,
    VariantType.DATE: 2.0,
    VariantType.UUID: 16.0,
}
"""Compressed bytes of a value in a column, if nothing better is known."""


def residual_bytes(profile: Profile) -> float:
    """Compressed bytes of a row that is not shredded at all."""
    return (profile.root.size + profile.metadata_bytes / 10) / max(profile.rows, 1) * RESIDUAL_RATIO


def left_bytes(profile: Profile, path: PathProfile) -> float:
    """Bytes of a path's values if they are not shredded."""
    return (path.size + path.count * ENTRY_BYTES) * RESIDUAL_RATIO / max(profile.rows, 1)


def column_bytes(profile: Profile, path: PathProfile, node: Scalar | Untyped) -> float:
    """Bytes of a path's values in their own columns: fitting values, others, levels, fixed cost."""
    rows = max(profile.rows, 1)
    fits = fitting(path, node) if isinstance(node, Scalar) else 0
    others = path.count - path.nulls - fits
    typed = fits * typed_width(path, node) if isinstance(node, Scalar) else 0.0
    mean = path.size / path.count if path.count else 0.0
    row_group_rows = ROW_GROUP_BYTES / max((profile.root.size + profile.metadata_bytes) / rows, 1)
    levels = (_entropy(path.rows / rows) + _entropy(fits / max(path.count, 1))) / 8
    return (typed + others * (mean + 1) * VARIANT_RATIO) / rows + levels + COLUMN_BYTES / row_group_rows


def typed_width(path: PathProfile, scalar: Scalar) -> float:
    """Compressed bytes of one value in a typed column."""
    count = max(path.count - path.nulls, 1)
    distinct = min(max(path.distinct, 1.0), count)
    index = math.log2(distinct + 1) / 8
    if scalar.type in (VariantType.STRING, VariantType.BINARY):
        mean = path.text_bytes / max(path.types.get(scalar.type, 0), 1)
        return min(mean * TEXT_RATIO + 0.5, index + mean * TEXT_RATIO * distinct / count)
    plain = _WIDTHS.get(scalar.type) or max(math.log2(path.high - path.low + 2) / 8, 0.2)
    if scalar.scale:
        plain += scalar.scale * math.log2(10) / 8
    return min(plain, index + 4.0 * distinct / count)


def worth(profile: Profile, path: PathProfile, node: Scalar | Untyped, hinted: bool) -> float:
    """Bytes per row that a leaf saves in storage and reads; negative if it costs more than it saves."""
    saved = left_bytes(profile, path) - column_bytes(profile, path, node)
    fits = fitting(path, node) if isinstance(node, Scalar) else path.count
    share = path.rows / max(profile.rows, 1) * fits / max(path.count, 1)
    return saved + (1.0 if hinted else QUERIED * share) * residual_bytes(profile)


def _entropy(share: float) -> float:
    """Returns the entropy of a binary choice, in bits."""
    if not 0 < share < 1:
        return 0.0
    return -share * math.log2(share) - (1 - share) * math.log2(1 - share)
