"""Aggregates over scans that merge equal rows: the same answer as DuckDB gives over the documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from random_tables import delete_by_vectors
from shredlake import caches
from shredlake.expr.ast import Column
from shredlake.parquet.format.thrift import FALSE
from shredlake.parquet.read.open_file import OpenFile
from shredlake.parquet.read.skipping import extreme_values
from shredlake.parquet.read.statistics import IS_EXACT
from shredlake.sql.runs import MOST_CODES, merge_rows
from sql_cases import Case, rows_of

duckdb = pytest.importorskip("duckdb", reason="SQL needs DuckDB")


ROWS = 6_000


PROPERTIES = {"delta.enableVariantShredding": "true", "delta.enableDeletionVectors": "true"}


def document(row: int) -> dict[str, Any]:
    """Sorted by `kind`, with all kinds of null, mixed types, and floats that compare unlike integers."""
    found: dict[str, Any] = {
        "kind": ("a", "b", "c")[row // 2100],
        "user": f"u{row // 4:05}",
        "t": (row * 7919 - 20_000) * 977_000_000,
        "n": row % 5,
        "x": (1.5, 0.0, -0.0, 2.5)[row % 4],
    }
    if 2600 <= row < 2700:
        found["kind"] = None
    if 2700 <= row < 2800:
        del found["kind"]
    if row % 11 == 0:
        del found["t"]
    if row % 13 == 0:
        found["t"] = str(row) if row % 2 else "never"
    if row >= 5000 and row % 50 == 0:
        found["n"] = "3" if row % 100 else None
    return found


DOCUMENTS = [document(row) for row in range(ROWS)]


DELETED = (2650, 3999, 5990)


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> sl.Table:
    """Three files with layouts of their own, several row groups each, and deletion vectors in two of them."""
    place = str(tmp_path_factory.mktemp("merging") / "events")
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create(place, schema, properties=PROPERTIES)
    texts = pa.array([json.dumps(one) for one in DOCUMENTS])
    rows = pa.table({"id": range(ROWS), "v": sl.from_json(texts)})
    options = sl.WriteOptions(row_group_rows=300, page_rows=100)
    layouts = ["infer", "struct<kind string, t bigint, user string, n bigint>", None]
    for number, layout in enumerate(layouts):
        step = ROWS // len(layouts)
        table.append(rows.slice(number * step, step), shredding=layout, options=options)
    delete_by_vectors(table, set(DELETED))
    assert table.files().column("deletionVector").null_count == 1
    return table


@pytest.fixture(scope="module")
def oracle() -> Any:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    kept = [(row, json.dumps(one)) for row, one in enumerate(DOCUMENTS) if row not in DELETED]
    columns = {"id": [row for row, _ in kept], "v": [text for _, text in kept]}
    connection.register("events", pa.table(columns))
    return connection


QUERIES = (
    "select {kind:string}, count(*) from events group by 1",
    "select {kind:string}, count(*), min({n:bigint}), max({t:bigint}) from events group by 1",
    "select {kind:string}, {n:bigint}, count(*) from events group by 1, 2",
    "select {kind:string}, {n:bigint}, count({t:bigint}) from events group by 1, 2",
    "select {kind:string}, hour(make_timestamp({t:bigint})), count(*) from events group by all",
    "select hour(make_timestamp({t:bigint})) h, minute(make_timestamp({t:bigint})) m, count(*) from events "
    "group by h, m",
    "select second(make_timestamp({t:bigint})), count(distinct {user:string}) from events group by 1",
    "select Hour ( Make_Timestamp ( {t:bigint} ) ), count(*), min({t:bigint}) from events group by 1",
    "select hour(make_timestamp({t:bigint})), count(*) from events where {kind:string} = 'b' group by 1",
    "select hour(make_timestamp({t:bigint})), count(*) from events "
    "where hour(make_timestamp({t:bigint})) < 5 and {kind:string} in ('a', 'b') group by 1",
    "select * from (select {kind:string} k, hour(make_timestamp({t:bigint})) h, count(*) n from events "
    "group by all) where h = 7 and k <> 'c'",
    "select hour(make_timestamp({t:bigint})) h, count(*) from events group by h "
    "having h > 20 and count(*) > 9",
    "select hour(make_timestamp({t:bigint})), {user:string} from events where id < 50",
    "select count(*), min(hour(make_timestamp({t:bigint}))) from events",
    "select {x:double}, count(*) from events where {x:double} > 1 group by 1",
    "select {kind:string} from events where id between 200 and 700",
    "select {kind:string} k, count(*) from events where length({kind:string}) = 1 group by k",
    "select {kind:string} k, min({t:bigint}) from events where length({kind:string}) + id > 9 group by k",
    "select id // 3000, count(*), min(id), max(id) from events group by 1",
)


@pytest.mark.parametrize("query", QUERIES)
def test_the_same_answer_as_over_the_documents(events: sl.Table, oracle: Any, query: str) -> None:
    case = Case(query)
    expected = rows_of(oracle.sql(case.oracle).to_arrow_table())
    assert rows_of(sl.sql(case.ours, events=events).to_arrow()) == expected


def test_row_groups_of_one_value_are_not_read(tmp_path: Path) -> None:
    table = sl.Table.create(str(tmp_path / "t"), pa.schema([("v", sl.variant())]))
    texts = [f'{{"kind": "k{row // 1000}", "n": 5}}' for row in range(4000)]
    options = sl.WriteOptions(row_group_rows=500)
    table.append(pa.table({"v": sl.from_json(pa.array(texts))}), options=options)
    grouped = sl.sql(
        "select v:kind::string as kind, min(v:n::bigint) n, count(*) c from t group by kind", t=table
    )
    expected = {(f"k{number}", 5, 1000) for number in range(4)}
    assert {tuple(row.values()) for row in grouped.to_arrow().to_pylist()} == expected
    assert "row groups 0 of 8" in " ".join(str(grouped.explain()).split())
    found = sl.sql("select v:kind::string as kind from t", t=table).to_arrow()
    assert found.column(0).to_pylist() == [f"k{row // 1000}" for row in range(4000)]


def test_minima_and_maxima_come_from_footers(events: sl.Table, oracle: Any, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create(str(tmp_path / "t"), schema, properties=PROPERTIES)
    kept = [one for one in DOCUMENTS if isinstance(one.get("t"), int | None)]
    texts = pa.array([json.dumps(one) for one in kept])
    rows = pa.table({"id": range(len(kept)), "v": sl.from_json(texts)})
    table.append(rows, options=sl.WriteOptions(row_group_rows=300))
    oracle.register("clean", pa.table({"id": range(len(kept)), "v": texts}))

    def answers(template: str, *, read: bool) -> None:
        case = Case(template)
        found = sl.sql(case.ours, clean=table)
        assert rows_of(found.to_arrow()) == rows_of(oracle.sql(case.oracle).to_arrow_table())
        assert ("the footers answer; no data is read" not in str(found.explain())) is read

    answers("select min({t:bigint}), max({t:bigint}), count(*), min(id) from clean", read=False)
    answers("select max({t:bigint}) from clean where id >= 0", read=False)
    answers("select max({missing:bigint}) from clean where id >= 0", read=False)
    answers("select max({t:bigint}) from clean where id > 1000", read=True)
    answers("select min({user:string}), max({x:double}) from clean", read=True)
    answers("select min({t:int}) from clean where {t:bigint} between 0 and 100000", read=True)
    answers("select {kind:string}, min({t:bigint}) from clean group by 1", read=True)
    delete_by_vectors(table, {max(range(len(kept)), key=lambda row: kept[row].get("t") or 0)})
    gone = max(kept, key=lambda one: one.get("t") or 0)
    left = pa.array([json.dumps(one) for one in kept if one is not gone])
    oracle.register("clean", pa.table({"id": range(len(left)), "v": left}))
    answers("select max({t:bigint}) from clean", read=True)


def test_a_bound_that_its_writer_calls_inexact_is_not_a_minimum(tmp_path: Path) -> None:
    file = tmp_path / "file.parquet"
    sl.write_parquet(pa.table({"n": pa.array([5, 6, None], pa.int64())}), file)
    opened = OpenFile(str(file))
    access = opened.columns.access(Column("n"))
    assert [one.as_py() for one in extreme_values(opened, access, pa.int64(), "min")] == [5]
    statistics = opened.chunks.chunk(0, 0).statistics
    assert statistics is not None
    statistics.set(IS_EXACT["min"], FALSE, False)
    assert extreme_values(opened, access, pa.int64(), "min") == [None]
    caches.clear()  # this parsed footer is not what the file has


def test_equal_rows_are_merged_wherever_they_are() -> None:
    letters = pa.array(["a", "b", None] * 5).dictionary_encode()
    numbers = pa.array([7, 8, None, 7, 8] * 3)
    merged = merge_rows([letters, numbers], [], 15)
    rows = zip(merged.pick(letters).to_pylist(), merged.pick(numbers).to_pylist(), strict=True)
    counted = dict(zip(rows, merged.weights().to_pylist(), strict=True))
    plain = list(zip(letters.to_pylist(), numbers.to_pylist(), strict=True))
    assert counted == {row: plain.count(row) for row in plain}


@pytest.mark.parametrize(
    "values",
    [
        pa.array([0, MOST_CODES * 2, 0, 5]),
        pa.array([-(2**63), 2**63 - 1, None, 0]),
        pa.array([2**64 - 1, 0, None, 0], pa.uint64()),
        pa.array([0.0, -0.0, float("nan"), None]),
        pa.array([], pa.int64()),
        pa.array([None, None], pa.int64()),
    ],
)
def test_values_that_have_no_small_numbers_stay_what_they_are(values: pa.Array) -> None:
    merged = merge_rows([values], [], len(values))
    weights = merged.weights().to_pylist()
    again = [text for one, weight in zip(merged.pick(values).to_pylist(), weights, strict=True)
             for text in [repr(one)] * weight]  # fmt: skip
    assert sorted(again) == sorted(map(repr, values.to_pylist()))


def test_all_bytes_are_told_apart() -> None:
    column = pa.array([-128, 127, 0, 127], pa.int8())
    merged = merge_rows([column], [], 4)
    found = zip(merged.pick(column).to_pylist(), merged.weights().to_pylist(), strict=True)
    assert sorted(found) == [(-128, 1), (0, 1), (127, 2)]


def test_rows_of_many_blocks_are_counted() -> None:
    column = pa.array([row // 20_000 for row in range(50_000)], pa.int32())
    merged = merge_rows([column], [], 50_000)
    assert merged.pick(column).to_pylist() == [0, 1, 2]
    assert merged.weights().to_pylist() == [20_000, 20_000, 10_000]
