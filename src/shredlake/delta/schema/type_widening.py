"""Type widening: columns whose type was widened. Older files hold the narrower type.

Reading casts (see `conform.fit`), which is exact for every change that the protocol allows. A change beyond
those is refused, as the protocol asks of readers.
"""

from __future__ import annotations

import re

from shredlake.delta.schema.types import Struct, walk
from shredlake.errors import UnsupportedFeature

TYPE_CHANGES = "delta.typeChanges"

_INTEGERS = ("byte", "short", "integer", "long")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
# The maximum number of digits of each integer type, for widening to decimals.
_DIGITS = {"byte": 10, "short": 10, "integer": 10, "long": 20}


def is_widening(old: str, new: str) -> bool:
    """Whether the protocol allows this widening of a column's type.

    >>> is_widening("integer", "decimal(12,2)"), is_widening("long", "double")
    (True, False)
    """
    old, new = old.replace(" ", ""), new.replace(" ", "")
    if old in _INTEGERS and new in _INTEGERS:
        return _INTEGERS.index(old) <= _INTEGERS.index(new)
    if (old, new) in (("float", "double"), ("date", "timestamp_ntz")):
        return True
    if new == "double":
        return old in ("byte", "short", "integer")
    target = _DECIMAL.fullmatch(new)
    if target is None:
        return False
    precision, scale = int(target[1]), int(target[2])
    if old in _DIGITS:
        return precision - _DIGITS[old] >= scale
    source = _DECIMAL.fullmatch(old)
    if source is None:
        return False
    more_digits, more_scale = precision - int(source[1]), scale - int(source[2])
    return more_digits >= more_scale >= 0


def check_type_changes(schema: Struct, uri: str) -> None:
    """Refuses a table in which a column changed its type in a way that we can't read."""
    for name, item in walk(schema):
        for change in item.metadata.get(TYPE_CHANGES) or ():
            old, new = str(change.get("fromType")), str(change.get("toType"))
            if not is_widening(old, new):
                raise UnsupportedFeature(
                    f"{uri} can't be read: column {name} changed its type from {old} to {new}, which "
                    "shredlake does not support (feature typeWidening)"
                )
