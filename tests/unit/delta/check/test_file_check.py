"""One file against its entry: the first thing that is wrong decides how far the check can go."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from deletion_vectors import inline_vector
from delta_tables import rows_of
from shredlake.delta.check.file_check import check_file, file_entry, layout_with_objects, measure
from shredlake.delta.log.files import as_adds
from shredlake.delta.protocol.actions import Add, DeletionVector
from shredlake.delta.protocol.layout_tag import LAYOUT_TAG
from shredlake.delta.read.data_file import DataFile, open_file
from shredlake.delta.read.layouts import layout_of
from shredlake.parquet.variant_columns import parse_layout_json

SCHEMA = pa.schema([("id", pa.int64()), ("v", sl.variant()), ("p", pa.int32())])
VALUES = [{"a": 1, "o": {"b": "x"}}, {"a": 2, "o": {"b": "y"}}, {"a": 3, "o": {"b": 5}}]
LAYOUT = "struct<a bigint, o struct<b string>>"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> sl.Table:
    """One file, in which `o.b` has values of another type."""
    made = sl.Table.create(tmp_path_factory.mktemp("files") / "t", SCHEMA, ["p"])
    rows = rows_of([1, 2, 3], VALUES).append_column("p", pa.array([7] * 3, pa.int32()))
    made.append(rows, shredding={"v": LAYOUT})
    return made


def found(table: sl.Table, *, quick: bool = False, **changes: Any) -> tuple[int, list[tuple[str, str]]]:
    """The rows and the findings of the file if its entry said this instead."""
    [add] = as_adds(table.snapshot.files.table())
    result = check_file(table.snapshot, replace(add, **changes), quick=quick)
    return result.rows, [(one.rule, one.problem) for one in result.findings]


@pytest.mark.parametrize("quick", [True, False])
def test_a_sound_file(table: sl.Table, quick: bool) -> None:
    assert found(table, quick=quick) == (3, [])
    assert found(table, quick=quick, stats=None, tags=None) == (3, [])


@pytest.mark.parametrize(
    ("changes", "rows", "expected"),
    [
        ({"path": "../x"}, 0, ("path", "lies outside the table")),
        ({"path": "/etc/passwd"}, 0, ("path", "outside the table")),
        ({"path": "gone.parquet"}, 0, ("file-missing", "is not there")),
        ({"partition_values": {"p": "x"}}, 0, ("partition-value", "'x'")),
        ({"size": 5}, 3, ("file-size", "bytes, the log says 5")),
        ({"stats": "{"}, 3, ("statistics", "not JSON")),
        ({"stats": '{"numRecords":4}'}, 3, ("row-count", "has 3 rows, the statistics say 4")),
        ({"tags": {LAYOUT_TAG: "{"}}, 3, ("layout-tag", "can't be read")),
        ({"tags": {LAYOUT_TAG: "{}"}}, 3, ("layout-tag", "the tag shreds nothing, the file v")),
    ],
)
def test_what_is_found_in_an_entry_without_reading_rows(
    table: sl.Table, changes: dict[str, Any], rows: int, expected: tuple[str, str]
) -> None:
    counted, [(rule, problem)] = found(table, quick=True, **changes)
    assert (counted, rule) == (rows, expected[0])
    assert expected[1] in problem


def tag(**fields: Any) -> dict[str, str]:
    column = {"shredding": LAYOUT, "residual": ["$['o']['b']"], "objects": ["$", "$['o']"]} | fields
    return {LAYOUT_TAG: json.dumps({"v": column})}


@pytest.mark.parametrize(
    ("tags", "problem"),
    [
        (tag(), None),
        (tag(residual=["$", "$['a']", "$['o']['b']"]), None),  # a reader only looks at more than it must
        (tag(objects=[]), None),
        ({LAYOUT_TAG: '{"version":9}'}, None),  # of a later version
        (tag(shredding="struct<a int>"), "the tag shreds v as struct<a int>, the file as "),
        (tag(residual=[]), "has only typed values at $['o']['b'], which is not so"),
        (tag(objects=["$", "$['o']", "$['o']['b']"]), "v is an object in every row at $['o']['b']"),
    ],
)  # fmt: skip
def test_a_tag_may_promise_less_than_there_is_but_not_more(
    table: sl.Table, tags: dict[str, str], problem: str | None
) -> None:
    _, findings = found(table, quick=True, tags=tags)
    assert [rule for rule, _ in findings] == ([] if problem is None else ["layout-tag"])
    assert problem is None or problem in findings[0][1]


def vector(rows: list[int], **changes: Any) -> DeletionVector:
    return replace(DeletionVector.from_json(inline_vector(rows)), **changes)


def test_deletion_vectors(table: sl.Table) -> None:
    assert found(table, deletion_vector=vector([0])) == (3, [])
    for wrong in (vector([3]), vector([0], cardinality=2), vector([0], path_or_inline="x")):
        rows, [(rule, _)] = found(table, deletion_vector=wrong)
        assert (rows, rule) == (3, "deletion-vector")


def test_deleted_rows_make_null_counts_vague_but_not_bounds(table: sl.Table) -> None:
    stats = '{"numRecords":3,"nullCount":{"id":2},"minValues":{"id":1},"maxValues":{"id":3}}'
    assert [rule for rule, _ in found(table, stats=stats)[1]] == ["statistics"]
    assert found(table, stats=stats, deletion_vector=vector([0])) == (3, [])
    assert found(table, stats=stats.replace('"id":3}}', '"id":2}}'), deletion_vector=vector([2])) == (3, [])


def test_many_wrong_statistics_are_summed_up(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(5)]
    table = sl.Table.create(tmp_path, pa.schema([(name, pa.int64()) for name in names]))
    table.append(pa.table({name: [1] for name in names}))
    stats = json.dumps({"minValues": dict.fromkeys(names, 2)})
    _, [(_, problem)] = found(table, stats=stats)
    assert problem.count("smaller than the recorded minimum 2") == 3
    assert problem.endswith("; and 2 more")


@pytest.mark.parametrize("data", [b"", b"PAR1PAR1", b"x" * 100], ids=["empty", "no footer", "not Parquet"])
def test_what_is_not_parquet_is_damaged(table: sl.Table, tmp_path: Path, data: bytes) -> None:
    made = sl.Table.create(tmp_path, SCHEMA, ["p"])
    (tmp_path / "x.parquet").write_bytes(data)
    result = check_file(made.snapshot, Add("x.parquet", len(data), 1, {"p": "1"}), quick=True)
    assert [one.rule for one in result.findings] == ["file-damaged"]


@pytest.mark.parametrize("values", [["x"], [[1]], [2.5]], ids=["string", "list", "fraction"])
def test_a_column_of_another_type_is_no_damaged_page(tmp_path: Path, values: list[object]) -> None:
    made = sl.Table.create(tmp_path, pa.schema([("id", pa.int64())]))
    pq.write_table(pa.table({"id": values}), tmp_path / "x.parquet")
    add = Add("x.parquet", (tmp_path / "x.parquet").stat().st_size, 1, {})
    [finding] = check_file(made.snapshot, add, quick=False).findings
    assert finding.rule == "file-damaged"
    assert "does not fit the table's int64" in finding.problem


def test_the_layout_that_a_writer_would_have_tagged(table: sl.Table) -> None:
    [add] = as_adds(table.snapshot.files.table())
    file = open_file(table.snapshot, add)
    try:
        assert layout_with_objects(file) == parse_layout_json((add.tags or {})[LAYOUT_TAG])
        assert layout_with_objects(file)["v"].objects == frozenset({"$", "$['o']"})
        assert layout_of(file)["v"].objects is None
    finally:
        file.close()


def test_rows_are_measured_without_the_deleted_ones(table: sl.Table) -> None:
    [add] = as_adds(table.snapshot.files.table())
    data = DataFile(table.snapshot, replace(add, deletion_vector=vector([2])))
    assert measure(table.snapshot, data, {}).rows == 2
    data.file.close()


def test_an_entry_is_found_by_its_key(table: sl.Table) -> None:
    [add] = as_adds(table.snapshot.files.table())
    entry = file_entry(table.snapshot.storage, add.path)
    assert entry is not None
    assert entry.size == add.size
    assert file_entry(table.snapshot.storage, "none") is None
