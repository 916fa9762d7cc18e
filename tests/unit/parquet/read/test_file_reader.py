"""Windows of one file: what each job reads."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.parquet.read import file_reader

ROWS = 3_000


@pytest.mark.parametrize("page_index", [True, False])
def test_a_count_reads_only_the_condition(
    page_index: bool, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_reader, "WINDOW_BYTES", 1_000)
    file = f"{tmp_path}/f.parquet"
    data = pa.table({"id": range(ROWS), "text": ["a text that is not read"] * ROWS})
    pq.write_table(data, file, write_page_index=page_index)
    scan = sl.scan_parquet(file, where="id % 2 = 0")
    assert scan.count() == ROWS // 2
    assert scan.explain().columns == ("id",)
