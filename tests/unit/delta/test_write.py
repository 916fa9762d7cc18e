"""Tables of many columns: time grows with them, not with their square."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl


def _seconds(path: Path, count: int) -> float:
    schema = pa.schema([(f"c{number}", pa.int32()) for number in range(count)])
    table = sl.Table.create(path, schema)
    rows = pa.table([pa.array([1, 2], pa.int32())] * count, schema=schema)
    started = time.process_time()
    table.append(rows)
    assert sl.Table(path).scan(["c1"], where="c2 = 1").count() == 1
    assert table.scan().to_arrow().num_columns == count
    table.delete("c1 = 1")
    return time.process_time() - started


@pytest.mark.slow
def test_many_columns_are_written_and_read_in_proportion(tmp_path: Path) -> None:
    few, many = _seconds(tmp_path / "few", 500), _seconds(tmp_path / "many", 4000)
    assert many < 8 * few * 3 + 1, f"500 columns took {few:.1f} s, 4,000 took {many:.1f} s"
