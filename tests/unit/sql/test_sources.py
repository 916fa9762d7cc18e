"""A source reads values by the cast options of the query, whatever it reads."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.expr.parse import parse_columns
from shredlake.kernels.cast_options import CastOptions, spark_on
from shredlake.sql.sources import ArrowSource, ParquetSource, Source, source_of

ROWS = pa.table({"v": sl.from_json(pa.array(['{"d": 2.0e23}']))})


def source(kind: str, folder: Path) -> Source:
    """The rows as Arrow data, a Parquet file or a Delta table."""
    if kind == "arrow":
        return ArrowSource(ROWS)
    if kind == "parquet":
        sl.write_parquet(ROWS, folder / "f.parquet", shredding={"v": "struct<d double>"})
        return ParquetSource(str(folder / "f.parquet"))
    table = sl.Table.create(folder / "t", pa.schema([("v", sl.variant())]))
    table.append(ROWS)
    return source_of(table)


@pytest.mark.parametrize("kind", ["arrow", "parquet", "delta"])
@pytest.mark.parametrize(("java", "digits"), [(17, "1.9999999999999998E23"), (21, "2.0E23")])
def test_the_digits_are_those_of_the_dialect(kind: str, java: int, digits: str, tmp_path: Path) -> None:
    options = CastOptions(dialect=spark_on(java))
    columns = parse_columns(["v:d::string AS d"])
    scan = source(kind, tmp_path).scan(columns, None, options)
    [batch] = scan.batches({}, lambda batch: batch)
    assert batch.to_pydict() == {"d": [digits]}
