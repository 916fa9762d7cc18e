"""Queries on Spark over tables as other writers and other features make them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import add, metadata, rows_of, variants, write_commit
from random_tables import delete_by_vectors
from shredlake import caches
from shredlake.caches import LruCache
from shredlake.delta.log.files import as_adds
from shredlake.delta.read import layouts as footers
from shredlake.parquet.write.writer import WriteOptions
from shredlake.spark.query import layouts
from shredlake.spark.query.api import read, register, scan, sql
from shredlake.spark.query.path_columns import Service
from spark_metrics import what_was_read

pytestmark = pytest.mark.spark

SHREDDED = {"delta.enableVariantShredding": "true"}


def ids(frame: Any) -> list[int]:
    return sorted(row["id"] for row in frame.collect())


@pytest.fixture(scope="module")
def foreign(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Files that Spark itself shredded, under a log with the names of the features' previews."""
    place = tmp_path_factory.mktemp("foreign") / "t"
    settings = {
        "spark.sql.variant.writeShredding.enabled": "true",
        "spark.sql.variant.forceShreddingSchemaForTest": "a bigint, s string",
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        for number in range(3):
            text = (
                """concat('{"a":', if(id % 40 = 7, '"x"', string(id)), ',"s":"s', id, '","rest":', id, '}')"""
            )
            frame = spark.range(number * 100, number * 100 + 100, 1, 1)
            frame.selectExpr("id", f"parse_json({text}) AS v").write.mode("append").parquet(str(place))
    finally:
        for name in settings:
            spark.conf.unset(name)
    files = sorted(path.name for path in place.glob("*.parquet"))
    protocol = {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["variantType-preview", "variantShredding-preview"],
            "writerFeatures": ["variantType-preview", "variantShredding-preview", "appendOnly", "invariants"],
        }
    }
    adds = [add(name, size=(place / name).stat().st_size) for name in files]
    write_commit(place, 0, [protocol, metadata(), *adds])
    return str(place)


@pytest.mark.parametrize("many", [False, True], ids=["by threads", "on Spark"])
def test_layouts_of_others_are_read_from_footers_and_remembered(
    spark: Any, foreign: str, many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    caches.clear()
    if many:
        monkeypatch.setattr(layouts, "ENOUGH_FOR_SPARK", 1)
    planned = scan(spark, foreign, ["id"], where="v:a::bigint = 250")
    [group] = planned.groups
    assert {served.service for served in group.served.values()} == {Service.MIXED}
    assert ids(planned.frame()) == [250]
    monkeypatch.setattr(footers, "footer_layout", None)  # so that opening one again would fail
    assert ids(read(spark, foreign, ["id"], where="v:s::string = 's17'")) == [17]


def test_more_layouts_than_the_cache_holds(foreign: str) -> None:
    snapshot = sl.Table(foreign).snapshot
    adds = as_adds(snapshot.files.table())
    found = layouts.FileLayouts(None, snapshot, LruCache(1)).of(adds)
    assert len(adds) > 1
    assert found == layouts.FileLayouts(None, snapshot).of(adds)


def test_frames_and_answers_are_kept_by_their_session(spark: Any, foreign: str) -> None:
    """Cleared, they are made again; another session begins with none."""
    text = "select /* not planned */ count(*) from t where try_variant_get(v, '$.a', 'bigint') = 250"
    caches.clear()
    assert sql(spark, text, t=foreign).collect()[0][0] == 1
    sizes = caches.sizes()
    assert min(sizes[name] for name in ("answers", "frames", "groups of files", "views of frames")) > 0
    other = spark.newSession()
    assert not caches.of_session(other, "answers", 1)
    assert sql(other, text, t=foreign).collect()[0][0] == 1
    assert len(caches.of_session(other, "answers", 1)) == 1
    caches.clear()
    assert not any(caches.sizes()[name] for name in sizes)
    assert sql(spark, text, t=foreign).collect()[0][0] == 1


def test_others_tables_answer_alike(spark: Any, foreign: str) -> None:
    text = "select v:s::string s, try_cast(v:a as int) a, v:rest::int r from t where v:rest::int % 50 = 7"
    register(spark, "native_foreign", foreign)
    theirs = spark.sql(text.replace("from t", "from native_foreign"))
    ours = sql(spark, text, t=foreign)
    assert sorted(map(str, ours.collect())) == sorted(map(str, theirs.collect()))
    assert [row["a"] for row in ours.collect() if row["r"] % 200 == 7] == [None, None]


@pytest.mark.parametrize("mapping", ["none", "name", "id"])
@pytest.mark.parametrize("partitioned", [False, True])
def test_vectors_mapping_and_partitions(spark: Any, tmp_path: Path, mapping: str, partitioned: bool) -> None:
    """Deleted rows stay away, however the query is answered: from paths, from whole Variants, by workers."""
    properties = {**SHREDDED, "delta.enableDeletionVectors": "true"}
    if mapping != "none":
        properties["delta.columnMapping.mode"] = mapping
    schema = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", sl.variant())])
    table = sl.Table.create(tmp_path / "t", schema, ["p"] if partitioned else [], properties)
    for start in (0, 50):
        numbers = range(start, start + 50)
        rows = pa.table(
            {
                "id": pa.array(numbers, pa.int64()),
                "p": ["one" if n % 2 else "two" for n in numbers],
                "v": variants([{"a": n if n % 9 else str(n), "s": f"s{n}"} for n in numbers]),
            }
        )
        options = WriteOptions(row_group_rows=10)
        table.append(rows, shredding={"v": "struct<a bigint, s string>"}, options=options)
    delete_by_vectors(table, {3, 4, 18, 60})
    assert any(item.deletion_vector for item in _adds(table))
    where = "v:a::bigint between 1 and 20"
    kept = [n for n in range(1, 21) if n not in (3, 4, 18)]
    assert ids(read(spark, table.uri, ["id"], where=where)) == kept
    assert ids(read(spark, table.uri, ["id", "v", "p"], where=where + " and p = 'one'")) == [
        n for n in kept if n % 2
    ]
    assert ids(sql(spark, f"select id, p from t where {where}", t=table.uri)) == kept
    whole = sql(spark, f"select id, to_json(v) j from t where {where} and v is not null", t=table.uri)
    assert ids(whole) == kept
    if mapping != "id":
        assert what_was_read(whole).workers == 0
    counted = sql(spark, "select count(*) c, count(v) v from t where p = 'one'", t=table.uri).collect()[0]
    assert (counted["c"], counted["v"]) == (49, 49)
    register(spark, "registered", table.uri)
    assert spark.sql("select count(*) c from registered").collect()[0]["c"] == 96
    assert spark.sql("select max(v:a::bigint) m from registered").collect()[0]["m"] == 99


def _adds(table: sl.Table) -> Any:
    from shredlake.delta.log.files import as_adds

    return as_adds(table.files())


def test_files_of_one_name_in_two_folders(spark: Any, tmp_path: Path) -> None:
    """Rows that are deleted in one of them are not deleted in the other."""
    schema = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", sl.variant())])
    table = sl.Table.create(
        tmp_path / "t", schema, ["p"], {**SHREDDED, "delta.enableDeletionVectors": "true"}
    )
    rows = pa.table(
        {"id": [0, 1, 2, 3], "p": ["x", "x", "y", "y"], "v": variants([{"a": n} for n in range(4)])}
    )
    table.append(rows, shredding={"v": "struct<a bigint>"})
    delete_by_vectors(table, {0})
    _rename(tmp_path / "t", lambda path: path.rsplit("/", 1)[0] + "/same.parquet")
    frame = read(spark, tmp_path / "t", ["id", "v:a::bigint AS a"])
    assert ids(frame) == [1, 2, 3]
    assert ids(sql(spark, "select id from t where v:a::int >= 0", t=tmp_path / "t")) == [1, 2, 3]


@pytest.mark.parametrize(
    "name", ["_hidden.parquet", "with space & {a,b}[c]*?.parquet", "100%25.parquet", "é#;.parquet"]
)
def test_odd_names_of_files(spark: Any, tmp_path: Path, name: str) -> None:
    place = tmp_path / "t able {x}"
    table = sl.Table.create(place, pa.schema([("id", pa.int64()), ("v", sl.variant())]), properties=SHREDDED)
    table.append(rows_of([1, 2], [{"a": 1}, {"a": 2}]), shredding={"v": "struct<a bigint>"})
    _rename(place, lambda _: name)
    assert ids(read(spark, place, ["id"], where="v:a::int = 2")) == [2]
    assert ids(sql(spark, "select id, v from t where v:a::int = 2", t=place)) == [2]


def _rename(place: Path, new: Any) -> None:
    """Gives the data files other names, in the folder and in the log."""
    from urllib.parse import quote, unquote

    for commit in sorted((place / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            for kind in ("add", "remove"):
                if kind in action:
                    old = unquote(action[kind]["path"])
                    if (place / old).exists():
                        (place / old).rename(place / new(old))
                    action[kind]["path"] = quote(new(old), safe="/=")
        commit.write_text("".join(json.dumps(action) + "\n" for action in actions))
    for checksum in (place / "_delta_log").glob("*.crc"):
        checksum.unlink()


def test_a_table_made_again_under_the_same_names(spark: Any, tmp_path: Path) -> None:
    """Relations are remembered by their files; these are others."""
    for count in (3, 50):
        place = tmp_path / "made"
        if place.exists():
            shutil.rmtree(place)
        schema = pa.schema([("v", sl.variant())])
        texts = pa.array([json.dumps({"id": number + count}) for number in range(count)])
        table = sl.Table.create(str(place), schema, properties=SHREDDED)
        table.append(pa.table({"v": sl.from_json(texts)}))
        [file] = place.glob("*.parquet")
        for commit in (place / "_delta_log").glob("*.json"):
            commit.write_text(commit.read_text().replace(file.name, "one.parquet"))
        file.rename(place / "one.parquet")
        found = read(spark, str(place), ["v:id::bigint AS id"])
        assert ids(found) == list(range(count, 2 * count))


def test_explain_in_words_and_figures(spark: Any, tmp_path: Path) -> None:
    table = sl.Table.create(
        tmp_path / "t", pa.schema([("id", pa.int64()), ("v", sl.variant())]), [], SHREDDED
    )
    for file in range(4):
        numbers = range(file * 100, file * 100 + 100)
        values = [
            {"ts": n, "amount": str(n) if file == 3 and n % 10 == 0 else n, "t": f"x{n % 7}"} for n in numbers
        ]
        table.append(
            rows_of(numbers, values),
            shredding={"v": "struct<ts bigint, amount bigint, t string>"},
            options=WriteOptions(row_group_rows=25),
        )
    found = scan(
        spark, table.uri, ["v:amount::bigint AS a"], where="v:ts::bigint >= 290 and v:t::string like '%3'"
    )
    lines = str(found.explain()).splitlines()
    assert lines[0].split()[:4] == ["files", "2", "of", "4"]
    assert lines[1].split()[:5] == ["row", "groups", "5", "of", "8"]
    assert lines[3:] == [
        "v:ts::bigint >= 290 rules out 2 of 4 files, 3 row groups in the files read",
        "v:t::string LIKE '%3' rules out 0 of 4 files: by their statistics, all may match",
        "v:amount is mixed in 1 of 2 files: 5.0% of rows read from value",
        "filters that are added to the DataFrame later rule out row groups, but no files",
    ]
    whole = str(scan(spark, table.uri, ["v"], where="v:nowhere::int = 1").explain())
    assert "v:nowhere::int = 1 rules out" in whole


def test_a_frame_is_an_ordinary_one(spark: Any, tmp_path: Path) -> None:
    """Joined, cached, united, grouped, of an older version."""
    table = sl.Table.create(
        tmp_path / "t", pa.schema([("id", pa.int64()), ("v", sl.variant())]), [], SHREDDED
    )
    table.append(rows_of([1, 2, 3], [{"a": 1}, {"a": "2"}, {"a": 3}]), shredding={"v": "struct<a bigint>"})
    table.append(rows_of([4], [{"a": 4}]), shredding={"v": None})
    frame = read(spark, table.uri, ["id", "v:a::int AS a"])
    joined = frame.join(read(spark, table.uri, ["id", "v"]), "id").where("a > 1").cache()
    assert ids(joined) == [2, 3, 4]
    assert joined.unionByName(joined).groupBy("a").count().orderBy("a").collect()[0]["count"] == 2
    joined.unpersist()
    assert ids(read(spark, table.uri, ["id"], version=1)) == [1, 2, 3]
