"""A table of four files that overlap, and a file of documents, for the verbs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, numbered


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    made = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    for start in (0, 10, 20, 5):
        made.append(numbered(start, start + 10))
    return made


@pytest.fixture
def events(tmp_path: Path) -> Path:
    lines = [json.dumps({"id": n, "day": f"2026-01-0{1 + n % 2}"}) for n in range(10)]
    (tmp_path / "events.ndjson").write_text("\n".join([*lines, "broken"]))
    return tmp_path / "events.ndjson"
