"""Casts objects and arrays to strings.

The JSON is that of Spark: like `to_json`, but with timestamps in the session's time zone.
"""

from __future__ import annotations

from typing import Any

from shredlake.kernels.cast_options import DEFAULT, CastOptions
from shredlake.kernels.casts.datetimes import SECOND, to_local
from shredlake.variant import Variant, VariantType
from shredlake.variant.json.java_digits import double_text, float_text
from shredlake.variant.json.render import TEXT, quoted, timestamp_text
from shredlake.variant.walk import Event

_OLD_JAVA = {VariantType.DOUBLE: double_text, VariantType.FLOAT: float_text}
_UNITS = {VariantType.TIMESTAMP: 1000, VariantType.TIMESTAMP_NANOS: 1}


def container_text(variant: Variant, options: CastOptions = DEFAULT) -> str:
    """Renders an object or array as JSON text.

    >>> from decimal import Decimal
    >>> container_text(Variant.of({"a": [Decimal("1.50"), None]}))
    '{"a":[1.5,null]}'
    """
    parts: list[str] = []
    separator = ""
    for event, detail in variant.walk(by_name=True):
        if event is Event.END:
            parts.append("}" if detail else "]")
            separator = ","
            continue
        parts.append(separator)
        if event is Event.KEY:
            parts.append(quoted(variant.dictionary.name(detail)))
            separator = ":"
        elif event is Event.SCALAR:
            kind, raw = detail
            parts.append(_scalar_text(kind, raw, options))
            separator = ","
        else:
            parts.append("{" if event is Event.OBJECT else "[")
            separator = ""
    return "".join(parts)


def _scalar_text(kind: VariantType, raw: Any, options: CastOptions) -> str:
    if options.dialect.old_java and kind in _OLD_JAVA:
        return _OLD_JAVA[kind](raw)
    if kind not in _UNITS or options.is_utc:
        return TEXT[kind](raw)
    instant = raw * _UNITS[kind]
    local = to_local(instant, options.zone)
    offset = (local - instant) // SECOND
    hours, minutes = divmod(abs(offset) // 60, 60)
    sign = "-" if offset < 0 else "+"
    return f'"{timestamp_text(local, SECOND)}{sign}{hours:02}:{minutes:02}"'
