"""docs/casts.md shows the table that the code has."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from cast_values import rows
from shredlake.expr import parse_type
from shredlake.kernels.casts.table import cast_value, casts
from shredlake.kernels.casts.targets import target_of
from shredlake.shredding.schema import Scalar
from shredlake.variant import Variant
from shredlake.variant import VariantType as V
from shredlake.variant.scalars import TimestampNanos, TimestampNtzNanos

SOURCES = [
    ("boolean", V.BOOLEAN), ("int8 to int64", V.INT64), ("decimal", V.DECIMAL16), ("float", V.FLOAT),
    ("double", V.DOUBLE), ("string", V.STRING), ("binary", V.BINARY), ("date", V.DATE),
    ("timestamp", V.TIMESTAMP),
    ("timestamp_ntz", V.TIMESTAMP_NTZ), ("timestamp_nanos", V.TIMESTAMP_NANOS),
    ("timestamp_ntz_nanos", V.TIMESTAMP_NTZ_NANOS), ("time", V.TIME), ("uuid", V.UUID),
    ("object, array", V.OBJECT),
]  # fmt: skip
TARGETS = [
    "boolean", "bigint", "decimal(38,9)", "float", "double", "string", "binary", "date", "timestamp",
    "timestamp_ntz", "timestamp_nanos", "time", "uuid",
]  # fmt: skip
HEADS = {"bigint": "integers", "decimal(38,9)": "decimal"}


def values_of(source: V) -> list[Variant]:
    """Values of a type at its edges, as the casts are tested with."""
    own: dict[V, list[object]] = {
        V.BINARY: [b"abc", b"\xff"],
        V.TIME: [dt.time(), dt.time(23, 59, 59, 999999)],
        V.TIMESTAMP_NANOS: [TimestampNanos(0), TimestampNanos(2**63 - 1), TimestampNanos(-(2**63))],
        V.TIMESTAMP_NTZ_NANOS: [TimestampNtzNanos(0), TimestampNtzNanos(2**63 - 1)],
    }
    family = {
        V.INT64: {"int8", "int16", "int32", "int64"},
        V.DECIMAL16: {"decimal4", "decimal8", "decimal16"},
    }
    if source in own:
        return [Variant.of(value) for value in own[source]]
    return [value for kind, value in rows() if kind in family.get(source, {source.value})]


def mark(source: V, target: str) -> str:
    scalar = target_of(parse_type(target).arrow)
    assert isinstance(scalar, Scalar)
    cast = [cast_value(value, scalar) is not None for value in values_of(source)]
    if source is not V.OBJECT:
        assert any(cast) <= casts(source, scalar.type)
    return "●" if all(cast) else "◐" if any(cast) else "·"


def table() -> str:
    heads = [HEADS.get(target, target) for target in TARGETS]
    lines = [f"| from \\ to | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for name, source in SOURCES:
        lines.append(f"| {name} | {' | '.join(mark(source, target) for target in TARGETS)} |")
    return "\n".join(lines)


def test_the_table_in_the_docs() -> None:
    text = (Path(__file__).parents[4] / "docs" / "casts.md").read_text()
    shown = text.partition("<!-- table -->\n")[2].partition("<!-- end of table -->")[0].strip()
    assert shown == table(), f"put this into docs/casts.md:\n{table()}"
