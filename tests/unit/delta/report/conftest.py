"""A table whose report has something to say in every section."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, rows_of


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    """Three layouts, mixed types, deleted rows, and a table of rejects beside it."""
    made = sl.Table.create(
        tmp_path / "t", ID_AND_VARIANT, properties={"delta.enableVariantShredding": "true"}
    )
    for start in range(0, 60, 10):
        values: list[Any] = [{"a": n, "b": "x" if n % 2 else n} for n in range(start, start + 10)]
        layout = "struct<a bigint, b bigint>" if start < 30 else "struct<a double, c string, b bigint>"
        made.append(rows_of(range(start, start + 10), values), shredding={"v": layout})
    made.append(rows_of([99], [{"a": 1}]), shredding={"v": None})
    made.delete("id = 5")
    (tmp_path / "bad.ndjson").write_bytes(b'{"a": 1}\n{"a": tru\nnope\n{"a" 1}\n{"b" 2}\n')
    sl.ingest(str(tmp_path / "bad.ndjson"), tmp_path / "t", max_rejects=10)
    return sl.Table(tmp_path / "t")
