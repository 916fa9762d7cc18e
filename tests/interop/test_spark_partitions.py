"""Tables of many partitions, layouts and files on Spark: values are data, and the plan stays small."""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors.exceptions.captured import UnsupportedOperationException

import shredlake as sl
from delta_tables import variants
from random_tables import delete_by_vectors
from shredlake import caches
from shredlake.caches import of_session
from shredlake.spark.query import file_groups, frames
from shredlake.spark.query.api import explain, planned, read, register, scan, sql
from shredlake.spark.query.data_files import MOST_FILES, DataFiles
from shredlake.spark.query.file_index import partitions_by_folder
from shredlake.spark.query.strategies.answer import BY_ANALYSIS

pytestmark = pytest.mark.spark

SHREDDED = {"delta.enableVariantShredding": "true"}
LAYOUT = {"v": "struct<a bigint, s string>"}

VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (
        pa.string(),
        ["plain", None, "a b/c", "100%", "ü€\u00a0x", "k=v", "a:b", "'\"`", "#?", "{[^\\]}"],
    ),
    "day": (pa.date32(), [dt.date(1, 1, 1), dt.date(1582, 10, 10), dt.date(2026, 1, 31), None]),
    "moment": (
        pa.timestamp("us", "UTC"),
        [dt.datetime(1900, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 3, 29, 1, 30, 9, tzinfo=dt.UTC), None],
    ),
    "local": (pa.timestamp("us"), [dt.datetime(2026, 3, 29, 2, 30), dt.datetime(1969, 12, 31, 23, 59, 1)]),
    "price": (pa.decimal128(20, 3), [Decimal("-1.500"), Decimal("12345678901234567.001"), None]),
    "bytes": (pa.binary(), [b"\x00\xff/=%", b"abc", None]),
    "flag": (pa.bool_(), [True, False, None]),
    "double": (pa.float64(), [float("inf"), -0.5, None]),
    "long": (pa.int64(), [-(2**63), 2**63 - 1, 0, None]),
    "short": (pa.int16(), [-(2**15), 7]),
}  # fmt: skip


def partitioned(place: Path, values: list[Any], kind: pa.DataType, rows: int = 3, **properties: str) -> Any:
    """A table with a partition for each of these values."""
    schema = pa.schema([("id", pa.int64()), ("p", kind), ("v", sl.variant())])
    names = {name.replace("_", "."): value for name, value in properties.items()}
    table = sl.Table.create(place, schema, ["p"], {**SHREDDED, **names})
    count = rows * len(values)
    data = {
        "id": pa.array(range(count), pa.int64()),
        "p": pa.array([values[n % len(values)] for n in range(count)], kind),
        "v": variants([{"a": n, "s": f"s{n % 3}"} for n in range(count)]),
    }
    table.append(pa.table(data), shredding=LAYOUT)
    return table


def flattened(table: Any, place: Path) -> str:
    """A copy of the table with all files in one folder, as writers with random prefixes have it."""
    source = Path(table.uri.removeprefix("file://"))
    (place / "_delta_log").mkdir(parents=True)
    for commit in sorted((source / "_delta_log").glob("*.json")):
        lines = []
        for line in commit.read_text().splitlines():
            action = json.loads(line)
            for file in action.values():
                if "path" in file:
                    file["path"] = re.sub(r".*/", "", file["path"])
            lines.append(json.dumps(action))
        (place / "_delta_log" / commit.name).write_text("\n".join(lines) + "\n")
    for file in source.rglob("*.parquet"):
        shutil.copy(file, place / file.name)
    for file in source.glob("deletion_vector*"):
        shutil.copy(file, place / file.name)
    return str(place)


def scans(frame: Any) -> int:
    """The number of file scans in a plan."""
    text = str(frame._jdf.queryExecution().optimizedPlan().toString())
    return len(re.findall(r"\bRelation \[", text))


@pytest.mark.parametrize("name", VALUES)
def test_values_of_every_type(spark: Any, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By Spark's own partitions, by a join if one folder has them all, and by a join without the index."""
    kind, values = VALUES[name]
    table = partitioned(tmp_path / "t", values, kind)
    flat = flattened(table, tmp_path / "flat")
    expected = {row["id"]: row["p"] for row in table.scan(["id", "p"]).to_arrow().to_pylist()}

    def found(place: str, *columns: str) -> dict[int, Any]:
        rows = read(spark, place, ["id", "p", *columns]).toArrow().to_pylist()
        return {row["id"]: row["p"] for row in rows}

    def same(left: dict[int, Any], right: dict[int, Any]) -> bool:
        return {n: str(value) for n, value in left.items()} == {n: str(value) for n, value in right.items()}

    assert len(expected) == 3 * len(values)
    assert found(table.uri) == expected
    assert found(table.uri, "v:a::bigint AS a") == expected
    assert found(flat, "v:a::bigint AS a") == expected
    assert same(found(flat, "v"), expected)
    monkeypatch.setattr(frames, "relation", lambda *_, **__: None)
    caches.clear()
    assert found(table.uri) == expected
    assert found(flat) == expected
    caches.clear()


def test_folders_that_do_not_tell_partitions_apart(spark: Any, tmp_path: Path) -> None:
    table = partitioned(tmp_path / "t", ["a", "b"], pa.string())
    own = DataFiles.of(table.snapshot, None)
    shared = DataFiles.of(sl.Table(flattened(table, tmp_path / "flat")).snapshot, None)
    assert partitions_by_folder(shared) is None
    found = partitions_by_folder(own)
    assert found is not None
    assert len(found) == 2


@pytest.mark.parametrize("flat", [False, True], ids=["folders", "one folder"])
def test_partitions_are_not_branches(spark: Any, tmp_path: Path, flat: bool) -> None:
    table = partitioned(tmp_path / "t", [f"p{n}" for n in range(60)], pa.string())
    place = flattened(table, tmp_path / "flat") if flat else table.uri
    grouped = sql(spark, "select p, sum(v:a::bigint) s, count(*) n from t group by p", t=place)
    assert scans(grouped) == 1
    assert {row["p"]: (row["s"], row["n"]) for row in grouped.collect()} == {
        f"p{n}": (3 * n + 180, 3) for n in range(60)
    }
    register(spark, "sixty", place)
    whole = spark.sql("select p, count(v) from sixty group by p")
    assert scans(whole) == 1
    assert whole.count() == 60
    one = sql(spark, "select count(*) from t where p = 'p7' and v:a::bigint > 60", t=place)
    assert one.collect()[0][0] == 2
    assert explain(spark, "select v:a::int from t where p = 'p7'", t=place).tables["t"].files == 1


@pytest.mark.parametrize("mapping", ["none", "name", "id"])
@pytest.mark.parametrize("flat", [False, True], ids=["folders", "one folder"])
def test_deleted_rows_of_many_partitions(spark: Any, tmp_path: Path, mapping: str, flat: bool) -> None:
    properties = {"delta_enableDeletionVectors": "true"}
    if mapping != "none":
        properties["delta_columnMapping_mode"] = mapping
    table = partitioned(tmp_path / "t", ["a", "b b", None, "c"], pa.string(), 5, **properties)
    delete_by_vectors(table, {1, 6, 7, 19})
    place = flattened(table, tmp_path / "flat") if flat else table.uri
    kept = sorted(set(range(20)) - {1, 6, 7, 19})
    for columns in (["id"], ["id", "p"], ["id", "p", "v:a::bigint AS a"], ["id", "v"]):
        assert sorted(row["id"] for row in read(spark, place, columns).collect()) == kept
    found = sql(spark, "select p, count(*) n from t where v:a::bigint >= 0 group by p", t=place)
    assert {row["p"]: row["n"] for row in found.collect()} == {"a": 5, "b b": 4, None: 4, "c": 3}


def test_deleted_rows_of_files_with_the_same_name(spark: Any, tmp_path: Path) -> None:
    """As converted tables have them: `part-0.parquet` in every folder."""
    table = partitioned(tmp_path / "t", ["a", "b", "c"], pa.string(), 4, delta_enableDeletionVectors="true")
    log = tmp_path / "t" / "_delta_log"
    for commit in sorted(log.glob("*.json")):
        commit.write_text(re.sub(r"(p=\w/)[^\"]*\.parquet", r"\1part-0.parquet", commit.read_text()))
    for file in (tmp_path / "t").rglob("p=*/*.parquet"):
        file.rename(file.with_name("part-0.parquet"))
    shutil.rmtree(log / "_staged", ignore_errors=True)
    table = sl.Table(table.uri)
    delete_by_vectors(table, {1, 3, 6})
    assert scans(read(spark, table.uri, ["id", "v:a::int AS a"])) <= 2
    found = read(spark, table.uri, ["id", "p"]).collect()
    assert {row["id"]: row["p"] for row in found} == {n: "abc"[n % 3] for n in (0, 2, 4, 5, 7, 8, 9, 10, 11)}


def test_workers_apply_vectors_of_very_many_rows(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = partitioned(tmp_path / "t", ["a", "b"], pa.string(), 10, delta_enableDeletionVectors="true")
    delete_by_vectors(table, {0, 2, 4, 1})
    monkeypatch.setattr(file_groups, "MOST_DELETED", 2)
    planned = scan(spark, table.uri, ["id", "p"])
    assert [group.worker for group in planned.groups] == ["", file_groups.TOO_MANY_DELETED]
    assert sorted(row["id"] for row in planned.frame().collect()) == [3, *range(5, 20)]


def mixed_files(place: Path, files: int, paths: int) -> Any:
    """Each file has another pattern of paths that are mixed, and another layout of paths beside them."""
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create(place, schema, properties=SHREDDED)
    for file in range(files):
        fields = ", ".join(f"m{n} bigint" for n in range(paths))
        rows = [
            {**{f"m{n}": "x" if row == 0 and file >> n & 1 else row for n in range(paths)}, f"o{file}": row}
            for row in range(4)
        ]
        data = pa.table({"id": pa.array(range(4 * file, 4 * file + 4), pa.int64()), "v": variants(rows)})
        table.append(data, shredding={"v": f"struct<{fields}, o{file} bigint>"})
    return table


def test_patterns_of_mixed_paths_are_not_branches(spark: Any, tmp_path: Path) -> None:
    table = mixed_files(tmp_path / "t", 16, 4)
    columns = [f"v:m{n}::string AS m{n}" for n in range(4)]
    typed = [f"v:m{n}::bigint AS m{n}" for n in range(4)]
    planned = scan(spark, table.uri, ["id", *typed])
    assert len(planned.groups) == 2  # the file in which nothing is mixed, and all others
    assert scans(planned.frame()) == 3
    for asked in (columns, typed):
        found = {row["id"]: list(row)[1:] for row in read(spark, table.uri, ["id", *asked]).collect()}
        expected = table.scan(["id", *asked]).to_arrow().to_pylist()
        assert found == {row["id"]: list(row.values())[1:] for row in expected}
    counted = sql(spark, "select count(*) from t where try_variant_get(v, '$.m1', 'bigint') = 2", t=table.uri)
    assert counted.collect()[0][0] == 16


def test_layouts_beyond_a_dozen_are_read_by_workers(spark: Any, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create(tmp_path / "t", schema, properties=SHREDDED)
    kinds = ["bigint", "int", "smallint", "decimal(9,2)", "double"]
    for number in range(25):
        first, second = kinds[number % 5], kinds[number // 5]
        data = pa.table(
            {"id": pa.array([number], pa.int64()), "v": variants([{"a": number % 100, "b": number}])}
        )
        table.append(data, shredding={"v": f"struct<a {first}, b {second}>"})
    planned = scan(spark, table.uri, ["id", "v:a::double AS a", "v:b::double AS b"])
    by_spark = [group for group in planned.groups if not group.worker]
    assert sum(group.branches for group in by_spark) == file_groups.BRANCHES - 1
    assert scans(planned.frame()) == file_groups.BRANCHES - 1  # and one branch of the workers
    assert file_groups.TOO_MANY_LAYOUTS in {group.worker for group in planned.groups}
    assert file_groups.TOO_MANY_LAYOUTS in str(planned.explain())
    found = {row["id"]: (row["a"], row["b"]) for row in planned.frame().collect()}
    assert found == {n: (float(n), float(n)) for n in range(25)}


def test_files_that_workers_read_are_one_branch_whatever_the_reasons(spark: Any, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create(tmp_path / "t", schema, properties=SHREDDED)
    paths = file_groups.BRANCHES + 4
    for number in range(paths):
        data = {"id": pa.array([number], pa.int64()), "v": variants([{f"p{number}": {"x": number}}])}
        table.append(pa.table(data), shredding={"v": f"struct<p{number} struct<x bigint>>"})
    columns = ["id", *(f"v:p{n}::string AS p{n}" for n in range(paths))]
    planned = scan(spark, table.uri, columns)
    assert len({group.worker for group in planned.groups}) == paths
    plan = planned.frame()._jdf.queryExecution().optimizedPlan().toString()
    assert len(re.findall(r"MapInArrow", plan)) == 1
    found = {row["id"]: list(row)[1:] for row in planned.frame().collect()}
    expected = table.scan(columns).to_arrow().to_pylist()
    assert found == {row["id"]: list(row.values())[1:] for row in expected}
    assert found[3][3] == '{"x":3}'


@pytest.mark.parametrize("cache", ["files of scans", "groups of files", "frames", "file indexes", "answers"])
def test_caches_are_bounded_by_the_number_of_files(spark: Any, tmp_path: Path, cache: str) -> None:
    table = partitioned(tmp_path / "t", list(range(8)), pa.int64())

    def files_of_seven(number: int) -> None:
        query = f"select p, max(v:a::bigint) AS a from t where p <> {number} group by p"
        assert len(planned(spark, query, {"t": table.uri}, strategies=BY_ANALYSIS).frame.collect()) == 7

    files_of_seven(0)
    kept = of_session(spark, cache, 64)
    assert kept._heaviest == MOST_FILES
    caches.clear()
    kept._heaviest = 20
    try:
        for number in range(6):
            files_of_seven(number)
        assert [weight for weight in kept._weights.values() if weight] == [7, 7]
    finally:
        kept._heaviest = MOST_FILES


def test_refreshing_a_view_does_not_empty_it(spark: Any, tmp_path: Path) -> None:
    """The files are not in a folder that Spark could list again: it must say so, and not find nothing."""
    table = partitioned(tmp_path / "t", ["a", "b"], pa.string())
    register(spark, "refreshed", table.uri)
    with pytest.raises(UnsupportedOperationException, match=r"shredlake.*listStatus"):
        spark.catalog.refreshTable("refreshed")
    assert spark.table("refreshed").count() == 6


def test_the_same_files_are_indexed_once(spark: Any, tmp_path: Path) -> None:
    table = partitioned(tmp_path / "t", ["a", "b"], pa.string())
    caches.clear()
    for columns in (["id"], ["p"], ["v:a::int AS a"], ["id", "v:s::string AS s"]):
        assert read(spark, table.uri, columns).count() == 6
    assert caches.sizes()["file indexes"] == 1
    assert read(spark, table.uri, ["id"], where="p = 'a'").count() == 3
    assert caches.sizes()["file indexes"] == 2
