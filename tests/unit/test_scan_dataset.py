"""Tables as pyarrow datasets: the same rows as Arrow's own evaluation, with less read."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pad
import pytest

import shredlake as sl
from shredlake.delta.read import scan as scans

COLUMNS = ["id", "v:a::bigint AS a", "v:b::string AS b", "v:f::double AS f", "v:ok::boolean AS ok"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> sl.Table:
    made = sl.Table.create(
        tmp_path_factory.mktemp("dataset") / "t", pa.schema([("id", pa.int64()), ("v", sl.variant())])
    )
    for start in range(0, 60, 20):
        made.append([{"id": n, "v": document(n)} for n in range(start, start + 20)])
    return made


def document(n: int) -> dict[str, Any]:
    whole = {"a": n, "b": f"x{n % 5}", "f": float("nan") if n % 11 == 0 else n / 4, "ok": n % 2 == 0}
    return {key: value for place, (key, value) in enumerate(whole.items()) if (n + place) % 7}


a, b, f, ok = (pc.field(name) for name in ("a", "b", "f", "ok"))
FILTERS = {
    "none": None,
    "greater": a > 42,
    "and": (a >= 10) & (a < 30) & (b == "x3"),
    "or": (a < 3) | (b == "x1"),
    "not": ~(a > 42),
    "in": a.isin([1, 41, 99]),
    "null": a.is_null(),
    "valid": b.is_valid() & ok,
    "nan": f > 5,
    "not nan": ~(f > 5),
    "nan differs": f != 5.0,
    "sum": a + 1 > 50,
    "other column": pc.field("id") == 17,
}

GREATER = f.is_nan() | (f > 5)
SAME_IN_ARROW = {str(f > 5): GREATER, str(~(f > 5)): ~GREATER}
"""Filters of the same meaning for Arrow, if NaN is the greatest number, as in DataFusion and DuckDB."""


def rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("filter_", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("columns", [None, ["b", "id"], []], ids=["all", "some", "none"])
def test_the_rows_are_those_that_arrow_finds(
    table: sl.Table, filter_: Any, columns: list[str] | None
) -> None:
    whole = table.scan(COLUMNS).to_arrow()
    expected = whole if filter_ is None else whole.filter(SAME_IN_ARROW.get(str(filter_), filter_))
    dataset = sl.arrow_dataset(table, COLUMNS)
    [fragment] = dataset.get_fragments(filter_)
    scanner = fragment.scanner(dataset.schema, columns=columns, filter=filter_, batch_size=10)
    found = scanner.to_table()
    assert scanner.projected_schema == found.schema
    assert found.num_rows == expected.num_rows
    assert rows(found) == rows(expected.select(found.schema.names))


def test_filters_skip_files(table: sl.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    scan = scans.TableScan.to_batches

    def watched(self: Any) -> Any:
        read.append(self.explain().files_read)
        return scan(self)

    monkeypatch.setattr(scans.TableScan, "to_batches", watched)
    dataset = sl.arrow_dataset(str(table.uri), COLUMNS)
    dataset.scanner(["id"], a > 42).to_table()
    dataset.scanner(["id"], a + 1 > 50).to_table()
    assert read == [1, 3]


def test_duckdb_reads_it(table: sl.Table) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: pip install 'shredlake[sql]'")
    dataset = sl.arrow_dataset(table, COLUMNS)
    assert isinstance(dataset, pad.Dataset)
    found = duckdb.connect().from_arrow(dataset).filter("a > 42 and b = 'x3'").project("id").fetchall()
    assert sorted(found) == [(43,), (53,), (58,)]


def test_datafusion_pushes_columns_and_filters(table: sl.Table) -> None:
    datafusion = pytest.importorskip(
        "datafusion", reason="datafusion is not installed: pip install datafusion"
    )
    context = datafusion.SessionContext()
    context.register_dataset("t", sl.arrow_dataset(table, COLUMNS))
    for where in (
        "a > 42",
        "b = 'x3' and a is not null",
        "f > 5",
        "f <> 5",
        "a in (1, 41)",
        "not ok",
        "true",
    ):
        found = context.sql(f"select id, b from t where {where}").to_arrow_table().to_pylist()
        whole = context.sql(f"select count(*) as n, max(id) as last from t where {where}").to_pylist()
        assert whole == [{"n": len(found), "last": max(row["id"] for row in found)}]
        memory = datafusion.SessionContext()
        memory.from_arrow(table.scan(COLUMNS).to_arrow(), "t")
        expected = memory.sql(f"select id, b from t where {where}").to_pylist()
        assert sorted(found, key=operator.itemgetter("id")) == sorted(expected, key=operator.itemgetter("id"))


def test_a_folder_that_is_not_a_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(sl.NotATable):
        sl.arrow_dataset(tmp_path)
