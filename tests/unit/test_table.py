"""Create, append, overwrite, delete, alter: what is in the table afterwards, and in the log."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from delta_tables import (
    ID_AND_VARIANT,
    SHREDDED,
    numbered,
    paths,
    python,
    rows_of,
    set_by_another_writer,
    variants,
)
from shredlake.delta.stats.text import with_stats
from shredlake.delta.stats.z85 import decode_variant
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.create import planned
from shredlake.delta.write.layout import choose, of_rows
from shredlake.shredding.request import Shredding


def ids(table: sl.Table, **scan: object) -> list[int]:
    return sorted(table.scan(["id"], **scan).to_arrow().column("id").to_pylist())  # type: ignore[arg-type]


def stats(table: sl.Table) -> list[dict[str, object]]:
    return [json.loads(text) for text in table.files().column("stats").to_pylist()]


# ── Append ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("uri", ["memory://writes/{}", "{}"])
def test_append_and_read_back(tmp_path: Path, uri: str) -> None:
    table = sl.Table.create(uri.format(tmp_path), ID_AND_VARIANT, properties=SHREDDED)
    values = [{"a": 1, "s": "x", "rest": [1, None]}, {"a": "one"}, "text", None, ..., {"a": None, "s": ""}]
    assert table.append(rows_of(range(6), values)) == 1
    expected = ["null" if value is None else None if value is ... else value for value in values]
    assert [row["v"] for row in python(table.scan().to_arrow())] == expected
    assert table.version == 1
    assert [row["v"] for row in python(sl.Table(table.uri).scan().to_arrow())] == expected


def test_statistics_of_an_append(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    table.append(rows_of([3, 1, 2], [{"a": 5, "s": "b"}, {"a": -7, "s": "c"}, ...]))
    [found] = stats(table)
    assert found["numRecords"] == 3
    assert found["nullCount"] == {"id": 0, "v": 1}
    assert found["minValues"]["id"] == 1  # type: ignore[index]
    lower, upper = (decode_variant(found[side]["v"]).to_python() for side in ("minValues", "maxValues"))  # type: ignore[index]
    assert lower == {"$['a']": -7, "$['s']": "b"}
    assert upper == {"$['a']": 5, "$['s']": "c"}


def test_without_the_property_nothing_is_shredded(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.enableVariantShredding": "false"})
    table.append(numbered(0, 3), shredding={"v": "struct<a bigint>"})
    [file] = table.files().to_pylist()
    assert dict(file["tags"])["shredlake.layout"] == "{}"
    assert "v" not in stats(table)[0]["minValues"]  # type: ignore[operator]
    schema = pq.read_schema(tmp_path / file["path"])
    assert [field.name for field in schema.field("v").type] == ["metadata", "value"]


@pytest.mark.parametrize("value", ["false", "TRUE", "yes", ""])
def test_anything_but_true_forbids_shredding(tmp_path: Path, value: str) -> None:
    sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    set_by_another_writer(tmp_path, {"delta.enableVariantShredding": value})
    table = sl.Table(tmp_path)
    table.append(numbered(0, 3), shredding={"v": "struct<a bigint>"})
    assert dict(table.files().to_pylist()[0]["tags"])["shredlake.layout"] == "{}"


def test_rewritten_files_ask_the_property_too(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    table.append(numbered(0, 4))
    set_by_another_writer(tmp_path, {"delta.enableVariantShredding": "TRUE"})
    table.delete("id = 1")
    [file] = tmp_path.glob(table.files().column("path")[0].as_py())
    assert "typed_value" not in str(pq.read_schema(file))


def test_shredded_files_stay_readable_after_shredding_is_turned_off(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    table.append(numbered(0, 3))
    table.set_properties({"delta.enableVariantShredding": "false"})
    table.append(numbered(3, 6))
    layouts = [dict(tags)["shredlake.layout"] for tags in table.files().column("tags").to_pylist()]
    assert sorted(layouts, key=len) == [
        "{}",
        '{"v":{"shredding":"struct<a bigint, s string>","residual":[],"objects":["$"]}}',
    ]
    assert [row["v"]["a"] for row in sorted(python(table.scan().to_arrow()), key=lambda r: r["id"])] == list(
        range(6)
    )


def test_pinned_then_given_then_inferred() -> None:
    def chosen(properties: dict[str, str], given: Shredding, sample: pa.Table) -> dict[str, str]:
        table = planned(Storage("memory://chosen"), ID_AND_VARIANT, (), properties)
        return choose(table, given, of_rows(sample))

    enabled = {"delta.enableVariantShredding": "true"}
    pinned = enabled | {"shredlake.shredding.v": "struct<a bigint>"}
    given = {"v": "struct<s string>"}
    sample = numbered(0, 200)
    assert chosen(pinned, given, sample) == {"v": "struct<a bigint>"}
    assert chosen(pinned | {"shredlake.shredding.v": "none"}, given, sample) == {}
    assert chosen(enabled, given, sample) == {"v": "struct<s string>"}
    assert chosen(enabled, {"v": None}, sample) == {}
    assert chosen({}, given, sample) == {}
    with pytest.raises(sl.InvalidSchema, match="shredding is given for 'w'; the Variant columns are: v"):
        chosen(enabled, {"w": "bigint"}, sample)


def test_inference(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.enableVariantShredding": "true"})
    table.append(numbered(0, 500))
    layout = json.loads(dict(table.files().to_pylist()[0]["tags"])["shredlake.layout"])
    assert set(layout["v"]) == {"shredding", "residual", "objects"}
    assert table.scan(["id"], where="v:a::bigint = 77").to_arrow().to_pylist() == [{"id": 77}]


def test_nested_variants(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            ("s", pa.struct([("v", sl.variant()), ("n", pa.int64())])),
            ("l", pa.list_(pa.field("element", sl.variant()))),
            ("m", pa.map_(pa.string(), sl.variant())),
        ]
    )
    pins = {
        "delta.enableVariantShredding": "true",
        "shredlake.shredding.s.v": "struct<a bigint>",
        "shredlake.shredding.l.element": "bigint",
        "shredlake.shredding.m.value": "struct<a string>",
    }
    table = sl.Table.create(tmp_path, schema, properties=pins)
    one, two = variants([{"a": 1}, {"a": 2}]).to_pylist()
    data = pa.Table.from_pylist(
        [
            {"s": {"v": one, "n": 1}, "l": [one, None, two], "m": [("k", two)]},
            {"s": {"v": None, "n": 2}, "l": None, "m": None},
            {"s": None, "l": [], "m": []},
        ],
        schema=schema,
    )
    table.append(data)
    back = table.scan().to_arrow()
    assert back.num_rows == 3
    assert [row["s"] and row["s"]["n"] for row in back.to_pylist()] == [1, 2, None]
    assert sl.Variant(**back.to_pylist()[0]["l"][2]).to_python() == {"a": 2}
    assert sl.Variant(**dict(back.to_pylist()[0]["m"])["k"]).to_python() == {"a": 2}
    assert [row["l"] for row in back.to_pylist()][1:] == [None, []]
    [found] = stats(table)
    assert found["nullCount"] == {"s": {"v": 2, "n": 1}, "l": 1, "m": 1}
    assert decode_variant(found["minValues"]["s"]["v"]).to_python() == {"$['a']": 1}  # type: ignore[index]
    layout = json.loads(dict(table.files().to_pylist()[0]["tags"])["shredlake.layout"])
    assert set(layout) == {"s.v", "l.list.element", "m.key_value.value"}
    assert table.scan(["s.n"], where="s.v:a::bigint = 1").to_arrow().to_pylist() == [{"n": 1}]
    assert table.scan(["s.n"], where="s.v:a::bigint > 1").files().num_rows == 0


@pytest.mark.parametrize(
    "data",
    [
        lambda t: t,
        lambda t: t.to_batches()[0],
        lambda t: t.to_reader(),
        lambda t: iter(t.to_batches(max_chunksize=2)),
    ],
)
def test_what_can_be_appended(tmp_path: Path, data: object) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(data(numbered(0, 5)))  # type: ignore[operator]
    assert ids(table) == [0, 1, 2, 3, 4]


def test_polars_frames_append(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, pa.schema([("id", pa.int64()), ("s", pa.string())]))
    table.append(pl.DataFrame({"id": [1, 2], "s": ["a", None]}))
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "s": "a"}, {"id": 2, "s": None}]


def test_scans_feed_other_engines(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(numbered(0, 5))
    reader = table.scan(["id", "v:a::bigint AS a"]).to_reader()  # noqa: F841 (DuckDB finds it by its name)
    assert duckdb.sql("select sum(a) from reader").fetchall() == [(10,)]
    assert pl.DataFrame(table.scan(["id"]).to_arrow())["id"].sum() == 10
    assert table.scan(["id"]).to_pandas()["id"].sum() == 10


def test_what_can_not_be_appended(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    with pytest.raises(sl.WrongType, match="rows can't be read from an int"):
        table.append(5)  # type: ignore[arg-type]
    with pytest.raises(
        sl.InvalidSchema, match=r"the data has the column x, which the table lacks; it has id, v\."
    ):
        table.append(pa.table({"id": [1], "x": [2]}))
    with pytest.raises(sl.InvalidSchema, match="column id: string does not fit the table's int64"):
        table.append(pa.table({"id": ["one"]}))
    with pytest.raises(sl.InvalidSchema, match=r"column v: .* use sl.from_json"):
        table.append(pa.table({"v": [1]}))
    assert table.version == 0
    assert list(tmp_path.rglob("*.parquet")) == []


def test_columns_are_found_by_name_and_cast(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("s", pa.string()), ("t", pa.timestamp("us", tz="UTC"))])
    table = sl.Table.create(tmp_path, schema)
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    data = pa.table(
        {
            "T": pa.array([moment], pa.timestamp("ms", tz="Europe/Berlin")),
            "s": pa.array(["x"], pa.large_string()),
            "ID": pa.array([7], pa.int16()),
        }
    )
    table.append(data)
    assert table.scan().to_arrow().to_pylist() == [{"id": 7, "s": "x", "t": moment}]


def test_shredded_columns_are_taken_apart_or_put_together(tmp_path: Path) -> None:
    shredded = sl.shred(variants([{"a": 1}, {"a": "x"}]), sl.ShreddingSchema.parse("struct<a bigint>"))
    table = sl.Table.create(tmp_path / "plain", ID_AND_VARIANT)
    table.append(pa.table({"id": [1, 2], "v": shredded}))
    assert [row["v"] for row in python(table.scan().to_arrow())] == [{"a": 1}, {"a": "x"}]


def test_an_empty_append_commits_no_file(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    assert table.append(numbered(0, 0)) == 1
    assert table.files().num_rows == 0


def test_transactions_happen_once(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    assert table.append(numbered(0, 1), transaction=("stream", 7)) == 1
    assert table.append(numbered(0, 1), transaction=("stream", 7)) == 1
    assert table.append(numbered(0, 1), transaction=("stream", 6)) == 1
    assert table.append(numbered(1, 2), transaction=("other", 1)) == 2
    assert table.append(numbered(2, 3), transaction=("stream", 8)) == 3
    assert ids(table) == [0, 1, 2]
    assert table.snapshot.transactions["stream"].version == 8


def test_a_table_of_the_past_is_not_written(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(numbered(0, 1))
    past = sl.Table(tmp_path, version=0)
    for write in (lambda: past.append(numbered(1, 2)), lambda: past.delete(), lambda: past.restore(0)):
        with pytest.raises(sl.TableError, match="is open at version 0"):
            write()
    assert past.refresh().version == 1
    assert past.append(numbered(1, 2)) == 2


# ── Partitions ──────────────────────────────────────────────────────────────────────────────────────────

ODD_TEXTS = ["plain", "a/b", "x y", "100%", "k=v", "ü", "a'b\"c", "#?:*", None, "{}[]^\\", "."]


def test_partition_values_of_any_text(tmp_path: Path) -> None:
    schema = pa.schema([("p", pa.string()), ("n", pa.int64())])
    table = sl.Table.create(tmp_path, schema, ["p"])
    table.append(pa.table({"p": ODD_TEXTS, "n": range(len(ODD_TEXTS))}))
    found = {row["p"]: row["n"] for row in table.scan().to_arrow().to_pylist()}
    assert found == {text: number for number, text in enumerate(ODD_TEXTS)}
    for number, text in enumerate(ODD_TEXTS):
        where = (
            "p IS NULL" if text is None else "p = '" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        )
        scan = table.scan(["n"], where=where)
        assert scan.to_arrow().to_pylist() == [{"n": number}]
        assert scan.explain().files_read == 1, text


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int64(), [1, -5, None]),
        (pa.float64(), [0.1, -1e300, None]),
        (pa.bool_(), [True, False, None]),
        (pa.date32(), [date(2026, 1, 31), date(1, 1, 1), None]),
        (pa.timestamp("us", tz="UTC"), [datetime(2026, 1, 1, 1, 2, 3, 456789, UTC), None]),
        (pa.timestamp("us"), [datetime(2026, 1, 1, 1, 2, 3, 456789), datetime(2026, 1, 1), None]),
        (pa.decimal128(10, 3), [Decimal("1.500"), Decimal("-0.001"), None]),
        (pa.binary(), [b"\x01\xff", b"abc", None]),
        (pa.int8(), [-128, 127]),
    ],
)
def test_partition_values_of_every_type(tmp_path: Path, kind: pa.DataType, values: list[object]) -> None:
    schema = pa.schema([("p", kind), ("n", pa.int64())])
    table = sl.Table.create(tmp_path, schema, ["p"])
    table.append(pa.table({"p": pa.array(values, kind), "n": range(len(values))}))
    found = {row["n"]: row["p"] for row in table.scan().to_arrow().to_pylist()}
    assert found == dict(enumerate(values))
    assert len(paths(table)) == len(values)


def test_partitions_prune_together_with_statistics(tmp_path: Path) -> None:
    schema = pa.schema([("p", pa.int64()), ("id", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create(tmp_path, schema, ["p"], properties=SHREDDED)
    for part in range(3):
        for start in (0, 100):
            data = numbered(start, start + 10).append_column("p", pa.array([part] * 10, pa.int64()))
            table.append(data)
    explained = table.scan(["id"], where="p = 1 and v:a::bigint >= 105 and id + p > 0").explain()
    assert (explained.files_read, explained.files_total, explained.rows) == (1, 6, 5)
    assert (explained.pruned_by_partition, explained.pruned_by_statistics) == (4, 1)
    assert "pruned by partition values 4, by statistics 1" in str(explained)


# ── Overwrite and delete ────────────────────────────────────────────────────────────────────────────────


def test_overwrite_all(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(numbered(0, 5))
    assert table.overwrite(numbered(7, 9)) == 2
    assert ids(table) == [7, 8]
    assert ids(sl.Table(tmp_path, version=1)) == [0, 1, 2, 3, 4]


def test_overwrite_by_predicate(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    table.append(numbered(0, 10))
    table.append(numbered(100, 110))
    untouched = set(paths(sl.Table(tmp_path)))
    table.overwrite(rows_of([5], [{"a": 6}]), where="v:a::bigint between 5 and 7")
    assert ids(table) == [0, 1, 2, 3, 4, 5, 8, 9, *range(100, 110)]
    assert len(untouched & set(paths(table))) == 1
    with pytest.raises(sl.ConstraintViolation, match="row 0 does not match the predicate of the overwrite"):
        table.overwrite(rows_of([5], [{"a": 99}]), where="v:a::bigint < 5")
    assert table.version == 3


def test_overwrite_partitions(tmp_path: Path) -> None:
    schema = pa.schema([("p", pa.string()), ("id", pa.int64())])
    table = sl.Table.create(tmp_path, schema, ["p"])
    table.append(pa.table({"p": ["a", "b", None], "id": [1, 2, 3]}))
    table.overwrite(pa.table({"p": ["b", None], "id": [20, 30]}), partitions=True)
    assert ids(table) == [1, 20, 30]
    with pytest.raises(sl.InvalidSchema, match="not both"):
        table.overwrite(pa.table({"p": ["b"], "id": [20]}), partitions=True, where="id = 1")
    plain = sl.Table.create(tmp_path / "plain", schema)
    with pytest.raises(sl.InvalidSchema, match="needs a partitioned table"):
        plain.overwrite(pa.table({"p": ["b"], "id": [20]}), partitions=True)


@pytest.mark.parametrize(
    ("kind", "ours", "theirs"),
    [
        (pa.timestamp("us", tz="UTC"), datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01 00:00:00"),
        (pa.timestamp("us"), datetime(2026, 1, 1), "2026-01-01 00:00:00.0"),
        (pa.decimal128(6, 2), Decimal("1.50"), "1.5"),
        (pa.float64(), float("inf"), "Infinity"),
        (pa.bool_(), True, "TRUE"),
        (pa.string(), None, ""),
        (pa.binary(), b"\x00\xff", "\x00\xff"),
    ],
)
def test_overwrite_partitions_however_they_are_spelled(
    tmp_path: Path, kind: pa.DataType, ours: object, theirs: str
) -> None:
    """Another writer may spell the same value in another way: it is the same partition."""
    schema = pa.schema([("p", kind), ("id", pa.int64())])
    table = sl.Table.create(tmp_path, schema, ["p"])
    table.append(pa.table({"p": pa.array([ours], kind), "id": [1]}))
    log = tmp_path / "_delta_log" / f"{1:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["partitionValues"] = {"p": theirs}
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = sl.Table(tmp_path)
    table.overwrite(pa.table({"p": pa.array([ours], kind), "id": [2]}), partitions=True)
    assert ids(table) == [2]


def test_not_a_number_in_partition_values(tmp_path: Path) -> None:
    """As Java prints it, because other engines must read it."""
    table = sl.Table.create(tmp_path, pa.schema([("p", pa.float64()), ("id", pa.int64())]), ["p"])
    values = [float("inf"), float("-inf"), float("nan"), 0.1]
    table.append(pa.table({"p": values, "id": [1, 2, 3, 4]}))
    spelled = {dict(row)["p"] for row in table.files().column("partitionValues").to_pylist()}
    assert spelled == {"Infinity", "-Infinity", "NaN", "0.1"}
    assert table.scan(["id"], where="p > 1e300").to_arrow().column("id").sort().to_pylist() == [1, 3]


def test_delete_rewrites_only_what_it_must(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    for start in (0, 10, 20):
        table.append(numbered(start, start + 10))
    before = set(paths(table))
    table.delete("v:a::bigint >= 15")
    assert ids(table) == list(range(15))
    assert len(before & set(paths(table))) == 1
    metrics = table.history(1)[0]["metrics"]
    assert metrics["numDeletedRows"] == "15"
    assert metrics["numCopiedRows"] == "5"
    for found in stats(table):
        assert set(decode_variant(found["minValues"]["v"]).to_python()) == {"$['a']", "$['s']"}  # type: ignore[index]


@pytest.mark.slow
def test_statistics_survive_every_rewrite(tmp_path: Path) -> None:
    properties = SHREDDED | {"delta.checkpoint.writeStatsAsJson": "false"}
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=properties)
    table.append(numbered(0, 10))
    table.append(numbered(10, 20))

    def bounds() -> list[tuple[int, int]]:
        """Of the path a, per file, by what the scan keeps."""
        kept = [table.scan(where=f"v:a::bigint = {n}").files().num_rows for n in range(20)]
        runs = [n for n in range(20) if kept[n]]
        assert max(kept) == 1
        return [(min(runs), max(runs))] if runs else []

    assert bounds() == [(0, 19)]
    table.checkpoint()  # from here on only typed columns know the statistics of these files
    table = sl.Table(tmp_path)
    table.delete("id in (0, 19)")
    assert bounds() == [(1, 18)]
    table.overwrite(numbered(1, 2), where="id between 1 and 3")
    assert table.scan(where="v:a::bigint = 2").files().num_rows == 0
    table.checkpoint()
    table = sl.Table(tmp_path)
    table.restore(2)
    assert bounds() == [(0, 19)]
    table.checkpoint()
    table = sl.Table(tmp_path)
    assert bounds() == [(0, 19)]
    assert [json.loads(text)["numRecords"] for text in texts(table)] == [10, 10]


def texts(table: sl.Table) -> list[str]:
    """Statistics as JSON, wherever the log keeps them."""
    files = table.snapshot.files
    keep = np.ones(files.places, dtype=bool)
    return list(with_stats(table.snapshot, files.table(keep=keep), keep).column("stats").to_pylist())


def test_delete_keeps_rows_where_the_predicate_is_unknown(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(rows_of(range(5), [{"a": 1}, {"a": None}, {}, ..., {"a": "x"}]))
    table.delete("v:a::bigint = 1")
    assert ids(table) == [1, 2, 3, 4]


def test_delete_where_columns_have_odd_names(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("k`0", pa.int64()), ("a.b", pa.int64())])
    table = sl.Table.create(tmp_path, schema, properties={"delta.columnMapping.mode": "name"})
    table.append(pa.table({"id": range(5), "k`0": range(5), "a.b": range(5)}, schema))
    table.delete("`k``0` >= 3 and `a.b` < 10")
    assert ids(table) == [0, 1, 2]


def test_delete_nothing_and_everything(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(numbered(0, 5))
    assert table.delete("id > 100") == 1
    assert table.delete() == 2
    assert ids(table) == []


def test_delete_by_partition_reads_no_file(tmp_path: Path) -> None:
    schema = pa.schema([("p", pa.string()), ("id", pa.int64())])
    table = sl.Table.create(tmp_path, schema, ["p"])
    table.append(pa.table({"p": ["a", "b"], "id": [1, 2]}))
    for file in tmp_path.rglob("p=a/*.parquet"):
        file.write_bytes(b"unreadable")
    table.delete("p = 'a'")
    assert ids(table) == [2]


def test_an_append_only_table(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.appendOnly": "true"})
    table.append(numbered(0, 5))
    for write in (lambda: table.delete("id = 1"), lambda: table.overwrite(numbered(0, 1))):
        with pytest.raises(sl.TableError, match=r"is append-only .* Set the property to false first"):
            write()
    assert ids(table) == [0, 1, 2, 3, 4]
    assert len(list(tmp_path.glob("*.parquet"))) == 1, "refused before anything is written"
    assert table.optimize(sort_by="id").files_after == 1, "rows may be rearranged"


# ── Alter ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", ["name", "id"])
def test_column_mapping(tmp_path: Path, mode: str) -> None:
    schema = pa.schema(
        [
            ("p", pa.string()),
            ("id", pa.int64()),
            ("v", sl.variant()),
            ("s", pa.struct([("x y", pa.int64()), ("w", sl.variant())])),
            ("l", pa.list_(pa.field("element", pa.struct([("z", pa.int64())])))),
        ]
    )
    properties = {
        "delta.columnMapping.mode": mode,
        "delta.enableVariantShredding": "true",
        "shredlake.shredding.v": "struct<a bigint>",
        "shredlake.shredding.s.w": "struct<b string>",
    }
    table = sl.Table.create(tmp_path, schema, ["p"], properties=properties)
    w = variants([{"b": "hi"}]).to_pylist()[0]
    for n in (1, 2):
        row = {"p": f"p{n}", "id": n, "s": {"x y": n * 10, "w": w}, "l": [{"z": n}]}
        data = pa.Table.from_pylist([row], schema=schema).set_column(2, "v", variants([{"a": n}]))
        table.append(data)
    found = sorted(table.scan().to_arrow().to_pylist(), key=lambda r: r["id"])
    assert [(r["p"], r["s"]["x y"], r["l"]) for r in found] == [
        ("p1", 10, [{"z": 1}]),
        ("p2", 20, [{"z": 2}]),
    ]
    [file, _] = table.files().to_pylist()
    assert all(name.startswith("col-") for name, _ in file["partitionValues"])
    assert all(name.startswith("col-") for name in json.loads(file["stats"])["nullCount"])
    for where in ("v:a::bigint = 2", "p = 'p2'", "s.`x y` > 15", "s.w:b::string = 'hi' and id = 2"):
        scan = table.scan(["id", "s.`x y` AS x"], where=where)
        assert scan.to_arrow().to_pylist() == [{"id": 2, "x": 20}]
        assert scan.explain().files_read == 1
    table.checkpoint()
    assert sl.Table(tmp_path).scan(["id"], where="v:a::bigint = 1").explain().files_read == 1
    table.add_column(pa.field("later", pa.int64()))
    assert table.properties["delta.columnMapping.maxColumnId"] == "9"
    table.delete("id = 1")
    assert ids(table) == [2]
