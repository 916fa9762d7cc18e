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
from shredlake.scan_dataset import ScanDataset

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


def test_methods_of_a_dataset_answer(table: sl.Table) -> None:
    dataset, plain = sl.arrow_dataset(table, COLUMNS), pad.dataset(table.scan(COLUMNS).to_arrow())
    assert dataset.count_rows() == 60
    for condition in (a > 42, a + 1 > 43, (a > 42) & (b == "x3")):
        assert dataset.count_rows(filter=condition) == plain.count_rows(filter=condition) > 0
        twice = dataset.filter(condition).filter(pc.field("id") < 55)
        expected = plain.filter(condition).filter(pc.field("id") < 55)
        assert rows(twice.to_table(["id"])) == rows(expected.to_table(["id"]))
        assert twice.count_rows(filter=ok) == expected.count_rows(filter=ok)
    assert dataset.head(25, columns=["id"]) == plain.head(25, columns=["id"])
    assert dataset.head(0).num_rows == 0
    assert (
        dataset.take([3, 59], columns=["id"]).to_pylist() == plain.take([3, 59], columns=["id"]).to_pylist()
    )
    assert dataset.sort_by([("id", "descending")]).head(1).column("id").to_pylist() == [59]
    joined = dataset.join(sl.arrow_dataset(table, ["id", "v:b::string AS other"]), "id")
    assert joined.count_rows() == 60
    last = dataset.filter(pc.field("id") >= 40)  # of one file, whose rows are in order
    others = sl.arrow_dataset(table, ["id", "v:a::bigint AS other"]).filter(pc.field("id") >= 40)
    assert last.join_asof(others, "id", [], 0).count_rows() == 20
    assert dataset.partition_expression.equals(pc.scalar(True))


def test_what_a_dataset_lacks_is_said(table: sl.Table) -> None:
    dataset = sl.arrow_dataset(table, COLUMNS)
    with pytest.raises(sl.InvalidExpression, match="the dataset has no column 'nope'; it has: id, a"):
        dataset.to_table(["nope"])
    with pytest.raises(sl.WrongType, match="names of columns"):
        dataset.to_table({"x": a + 1})
    with pytest.raises(sl.UnsupportedFeature, match="name other types in columns="):
        dataset.replace_schema(dataset.schema)


def test_no_method_of_arrows_dataset_is_left_to_arrow() -> None:
    """They would read a dataset of Arrow that is not there, and end the process."""
    through_ours = {"scanner", "to_table", "to_batches", "head", "take", "count_rows"}
    inherited = {name for name in dir(pad.Dataset) if not name.startswith("_")}
    assert inherited - through_ours - set(vars(ScanDataset)) == set()
