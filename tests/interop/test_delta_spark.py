"""delta-spark reads the tables that we write, and we read those that it writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import shredlake as sl
from datagen import write_ndjson
from delta_spark import DeltaSpark, DeltaSparkError, started
from delta_tables import SHREDDED, numbered, rows_of, variants
from shredlake.delta.stats.z85 import decode_variant
from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.ingest.ingest import IngestOptions, ingest_text
from shredlake.jobs.optimize import optimize_table
from shredlake.kernels.checksum import checksum
from shredlake.variant.scalars import Float32, Int8, Int16, Int32, Int64

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SHAPES = ("bluesky", "github", "logs", "telemetry")
WRITES_SHREDDED = {"spark__sql__variant__writeShredding__enabled": "true"}
WITH_STATISTICS = {"spark__databricks__delta__variantShredding__parseFooterForStats": "true"}


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeltaSpark]:
    """One delta-spark for all tests of this file."""
    yield from started(tmp_path_factory.mktemp("delta-spark"))


# ── Comparing rows ──────────────────────────────────────────────────────────────────────────────────────


def ours(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as Python objects, Variants at any depth as `sl.Variant`."""

    def walk(kind: pa.DataType, value: Any) -> Any:
        if value is None:
            return None
        if sl.is_variant(kind):
            return sl.Variant(value["metadata"], value["value"])
        if pa.types.is_struct(kind):
            return {item.name: walk(item.type, value[item.name]) for item in kind}
        if pa.types.is_map(kind):
            return [(walk(kind.key_type, key), walk(kind.item_type, item)) for key, item in value]
        if pa.types.is_list(kind):
            return [walk(kind.value_type, item) for item in value]
        return value

    return [
        {item.name: walk(item.type, row[item.name]) for item in table.schema} for row in table.to_pylist()
    ]


def seen(rows: list[dict[str, Any]]) -> list[str]:
    """Rows in a form that can be compared: sorted texts, NaN equal to itself."""

    def plain(value: Any) -> Any:
        match value:
            case sl.Variant():
                return ("variant", plain(value.to_python()))
            case dict():
                return {name: plain(item) for name, item in sorted(value.items())}
            case list():
                return [plain(item) for item in value]
            case tuple():
                return tuple(plain(item) for item in value)
            case datetime() if value.tzinfo is not None:
                return ("utc", value.astimezone(UTC).replace(tzinfo=None))
            case Decimal():
                return Decimal(value).normalize()
            case _:
                return value

    return sorted(repr(plain(row)) for row in rows)


def columns_of_timestamps(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    """Spark hands timestamps over without their zone, which is UTC."""
    return [
        {
            name: value.replace(tzinfo=UTC) if name in names and value is not None else value
            for name, value in row.items()
        }
        for row in rows
    ]


def assert_same(delta: DeltaSpark, table: sl.Table, path: Path, *timestamps: str) -> None:
    """Asserts that both read the same rows, and at least one."""
    found = columns_of_timestamps(delta.rows(path), *timestamps)
    assert seen(found) == seen(ours(table.scan().to_arrow()))
    assert found


def forget_before(path: Path, version: int) -> None:
    """Removes the log before a checkpoint, so that readers must use the checkpoint."""
    log = path / "_delta_log"
    assert list(log.glob(f"{version:020}.checkpoint*"))
    for file in list(log.glob("*")):
        number = file.name[:20]
        if file.suffix == ".crc" or (number.isdigit() and int(number) < version):
            file.unlink()


# ── What we write, Delta reads ──────────────────────────────────────────────────────────────────────────

EVERY_TYPE = pa.table(
    {
        "flag": pa.array([True, False, None]),
        "tiny": pa.array([1, -128, None], pa.int8()),
        "small": pa.array([1, -32768, None], pa.int16()),
        "int": pa.array([1, -(2**31), None], pa.int32()),
        "long": pa.array([1, -(2**63), None], pa.int64()),
        "float": pa.array([1.5, float("nan"), None], pa.float32()),
        "double": pa.array([0.1, float("-inf"), None], pa.float64()),
        "money": pa.array([Decimal("1.50"), Decimal("-99999999.99"), None], pa.decimal128(10, 2)),
        "wide": pa.array([Decimal("1"), Decimal("-1e27"), None], pa.decimal128(38, 10)),
        "text": pa.array(["", "é😀" * 40, None]),
        "bytes": pa.array([b"", b"\x00\xff", None]),
        "day": pa.array([date(2026, 1, 31), date(1582, 10, 4), None]),
        "moment": pa.array(
            [datetime(2026, 1, 31, 12, 0, 0, 123457, UTC), datetime(1900, 1, 1, tzinfo=UTC), None],
            pa.timestamp("us", tz="UTC"),
        ),
        "wall": pa.array([datetime(2026, 1, 31, 12), datetime(1, 1, 1), None], pa.timestamp("us")),
        "list": pa.array([[1, None], [], None], pa.list_(pa.int32())),
        "map": pa.array([[("a", 1), ("b", None)], [], None], pa.map_(pa.string(), pa.int64())),
        "struct": pa.array([{"x": 1, "y": "a"}, {"x": None, "y": None}, None]),
    }
)

EVERY_VARIANT: list[Any] = [
    {"a": None, "b": True, "c": Int8(1), "d": Int16(2), "e": Int32(3), "f": Int64(2**40), "g": 0.5},
    {"a": 1, "b": "x" * 100, "c": Decimal("1.50"), "d": Decimal("123456789012.5"), "e": Decimal("1e30")},
    {"a": date(2026, 1, 31), "b": datetime(2026, 1, 31, 12, 0, 0, 5, UTC), "c": datetime(2026, 1, 31)},
    {"a": Float32(0.5), "b": b"\x00\xff", "c": [1, "two", None, {"d": [3]}], "": {"": {}}, "ü": "😀"},
    {"a": 5, "s": "text"}, {}, [], [[], {}], "short", 7, None, True, ...,
]  # fmt: skip


def test_every_type(delta: DeltaSpark, tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path / "t", EVERY_TYPE.schema)
    table.append(EVERY_TYPE)
    assert_same(delta, table, tmp_path / "t", "moment")
    for where in ("long = 1", "money > 1", "day = date'2026-01-31'", "text = ''", "`double` < 0"):
        found = ours(table.scan(where=where).to_arrow())
        theirs = columns_of_timestamps(delta.rows(tmp_path / "t", rest=f"WHERE {where}"), "moment")
        assert seen(theirs) == seen(found), where
        assert len(found) == 1, where


@pytest.mark.parametrize("layout", ["none", "struct<a bigint, s string>", "inferred"])
def test_every_variant(delta: DeltaSpark, tmp_path: Path, layout: str) -> None:
    properties = {"delta.enableVariantShredding": "true"}
    if layout != "inferred":
        properties["shredlake.shredding.v"] = layout
    table = sl.Table.create(tmp_path / "t", rows_of([], []).schema, properties=properties)
    table.append(rows_of(range(len(EVERY_VARIANT)), EVERY_VARIANT))
    table.append(numbered(100, 150))
    assert_same(delta, table, tmp_path / "t")
    where = "try_variant_get(v, '$.a', 'int') > 120"
    [found] = delta.rows(tmp_path / "t", "count(*) AS n", f"WHERE {where}")
    assert found["n"] == table.scan(where=where).count() == 29


def test_nested_variants(delta: DeltaSpark, tmp_path: Path) -> None:
    inner = variants([{"a": 1}, {"a": "x"}, 3])
    data = pa.table(
        {
            "list": pa.ListArray.from_arrays(
                pa.array([0, 2, 2, 3]), inner, mask=pa.array([False, False, False])
            ),
            "map": pa.MapArray.from_arrays(pa.array([0, 1, 3, 3]), pa.array(["k", "l", "m"]), inner),
            "struct": pa.StructArray.from_arrays(
                [inner, pa.array([1, 2, 3])], names=["v", "n"], mask=pa.array([False, True, False])
            ),
        }
    )
    layouts = {"list.element": "struct<a bigint>", "map.value": "struct<a string>", "struct.v": "infer"}
    table = sl.Table.create(tmp_path / "t", data.schema, properties={"delta.enableVariantShredding": "true"})
    table.append(data, shredding=layouts)
    assert_same(delta, table, tmp_path / "t")


def test_partitions_and_deletes(delta: DeltaSpark, tmp_path: Path) -> None:
    schema = pa.schema(
        [
            ("city", pa.string()),
            ("day", pa.date32()),
            ("at", pa.timestamp("us", tz="UTC")),
            ("amount", pa.decimal128(8, 2)),
            ("score", pa.float64()),
            ("v", sl.variant()),
        ]
    )
    moments = [datetime(2026, 1, 1, 12, 30, 0, 5, UTC), None, datetime(1950, 1, 1, tzinfo=UTC)] * 2
    data = pa.table(
        {
            "city": pa.array(["a/b c%20", "ü=é", None, "x:y?", "'q'", "plain"]),
            "day": pa.array([date(2026, 1, 1), None, date(1999, 12, 31)] * 2),
            "at": pa.array(moments, pa.timestamp("us", tz="UTC")),
            "amount": pa.array([Decimal("1.50"), None, Decimal("-3")] * 2, pa.decimal128(8, 2)),
            "score": pa.array([0.1, float("inf"), float("nan"), float("-inf"), None, 1e300]),
            "v": variants([{"a": n} for n in range(6)]),
        },
        schema=schema,
    )
    table = sl.Table.create(
        tmp_path / "t",
        schema,
        partition_by=["city", "day", "at", "amount", "score"],
        properties={"delta.enableVariantShredding": "true"},
    )
    table.append(data)
    table.append(data)
    assert_same(delta, table, tmp_path / "t", "at")
    table.delete("v:a::int = 1 OR city = 'a/b c%20'")
    assert table.scan().count() == 8
    assert_same(delta, table, tmp_path / "t", "at")
    for where in ("city = 'ü=é'", "city IS NULL", "day = date'1999-12-31'", "amount = 1.50", "score = 1e300"):
        theirs = columns_of_timestamps(delta.rows(tmp_path / "t", rest=f"WHERE {where}"), "at")
        assert seen(theirs) == seen(ours(table.scan(where=where).to_arrow())), where
    table.overwrite(data.slice(5), partitions=True)
    assert table.scan().count() == 7
    assert_same(delta, table, tmp_path / "t", "at")


@pytest.mark.parametrize("policy", ["classic", "v2"])
@pytest.mark.parametrize("as_json", ["true", "false"])
def test_checkpoints_with_shredded_statistics(
    delta: DeltaSpark, tmp_path: Path, policy: str, as_json: str
) -> None:
    properties = {**SHREDDED, "delta.checkpointPolicy": policy, "delta.checkpoint.writeStatsAsJson": as_json}
    table = sl.Table.create(tmp_path / "t", rows_of([], []).schema, properties=properties)
    for start in range(0, 30, 10):
        table.append(numbered(start, start + 10))
    table.checkpoint()
    forget_before(tmp_path / "t", 3)
    assert_same(delta, sl.Table(tmp_path / "t"), tmp_path / "t")
    found = delta.rows(tmp_path / "t", "id", "WHERE id BETWEEN 5 AND 12 AND v:a::int > 6 ORDER BY id")
    assert [row["id"] for row in found] == list(range(7, 13))
    # Delta goes on from there, and keeps the statistics that it read in our checkpoint.
    delta.sql(f"INSERT INTO delta.`{tmp_path / 't'}` SELECT 100, parse_json('{{\"a\": 100}}')")
    delta.checkpoint(tmp_path / "t")
    forget_before(tmp_path / "t", 4)
    again = sl.Table(tmp_path / "t")
    assert_same(delta, again, tmp_path / "t")
    scan = again.scan(["id"], where="v:a::bigint = 15")
    assert scan.to_arrow().column("id").to_pylist() == [15]
    assert scan.explain().pruned_by_statistics >= 2


def test_deltas_engine_decodes_our_statistics(delta: DeltaSpark, tmp_path: Path) -> None:
    table = sl.Table.create(
        tmp_path / "t", rows_of([], []).schema, properties={"delta.enableVariantShredding": "true"}
    )
    values = [
        {"i": n, "s": f"{n:03}" * 20, "d": n / 4, "m": Decimal(n) / 10, "b": n > 3, "o": {"it's": n},
         "day": date(2026, 1, 1 + n), "at": datetime(2026, 1, 1, n, 0, 0, 1, UTC),
         "wall": datetime(2026, 1, 1, n)}
        for n in range(1, 20)
    ]  # fmt: skip
    table.append(rows_of(range(19), values))
    stats = json.loads(table.files().column("stats")[0].as_py())
    for side in ("minValues", "maxValues"):
        text = stats[side]["v"]
        assert delta.decoded(text) == decode_variant(text)
        assert {"$['i']", "$['s']", "$['o']['it\\'s']", "$['at']"} <= set(decode_variant(text).keys())
    # And in its own checkpoint they are Variants again.
    delta.checkpoint(tmp_path / "t")
    [checkpoint] = (tmp_path / "t" / "_delta_log").glob("*.checkpoint.parquet")
    [row] = delta.sql(
        f"SELECT add.stats_parsed.minValues.v AS low, add.stats_parsed.maxValues.v AS high "
        f"FROM parquet.`{checkpoint}` WHERE add IS NOT NULL"
    )
    assert row["low"] == decode_variant(stats["minValues"]["v"])
    assert row["high"] == decode_variant(stats["maxValues"]["v"])


@pytest.mark.parametrize("mode", ["name", "id"])
def test_column_mapping(delta: DeltaSpark, tmp_path: Path, mode: str) -> None:
    schema = pa.schema(
        [("a b,c", pa.int64()), ("part", pa.string()),
         ("s", pa.struct([("x", pa.int64()), ("v", sl.variant())])), ("v", sl.variant())]
    )  # fmt: skip
    inner = variants([{"a": 1}, {"a": 2}, ...])
    data = pa.table(
        {
            "a b,c": [1, 2, 3],
            "part": ["p", "q", None],
            "s": pa.StructArray.from_arrays([pa.array([1, 2, 3]), inner], names=["x", "v"]),
            "v": inner,
        },
        schema=schema,
    )
    properties = {"delta.columnMapping.mode": mode, "delta.enableVariantShredding": "true"}
    table = sl.Table.create(tmp_path / "t", schema, partition_by=["part"], properties=properties)
    table.append(data)
    table.checkpoint()
    assert_same(delta, table, tmp_path / "t")
    delta.sql(f"ALTER TABLE delta.`{tmp_path / 't'}` RENAME COLUMN `a b,c` TO id")
    delta.sql(f"ALTER TABLE delta.`{tmp_path / 't'}` DROP COLUMN s")
    delta.sql(f"INSERT INTO delta.`{tmp_path / 't'}` SELECT 9, 'p', parse_json('{{\"a\": 9}}')")
    renamed = sl.Table(tmp_path / "t")
    assert renamed.schema.names == ["id", "part", "v"]
    assert_same(delta, renamed, tmp_path / "t")
    assert renamed.scan(["id"], where="id > 2 and v:a::int = 9").to_arrow().to_pylist() == [{"id": 9}]
    renamed.append(pa.table({"id": [10], "part": ["z"], "v": variants([{"a": 10}])}))
    renamed.delete("v:a::int = 2")
    assert_same(delta, renamed, tmp_path / "t")


def test_constraints_and_feed(delta: DeltaSpark, tmp_path: Path) -> None:
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("v", sl.variant(), metadata={"CURRENT_DEFAULT": "parse_json('{\"a\": 1}')"}),
            pa.field("a", pa.int64(), metadata={"delta.generationExpression": "v:a::bigint"}),
        ]
    )
    properties = {
        **SHREDDED,
        "delta.constraints.positive": "v:a::bigint > 0",
        "delta.enableChangeDataFeed": "true",
    }
    path = tmp_path / "t"
    table = sl.Table.create(path, schema, properties=properties)
    table.append(pa.table({"id": [1, 2], "v": variants([{"a": 5}, {"a": 6}])}))
    table.append(pa.table({"id": [3]}))
    delta.sql(f"INSERT INTO delta.`{path}` (id, v) VALUES (4, parse_json('{{\"a\": 7}}'))")
    delta.sql(f"INSERT INTO delta.`{path}` (id) VALUES (5)")
    with pytest.raises(DeltaSparkError, match=r"(?i)check constraint positive"):
        delta.sql(f"INSERT INTO delta.`{path}` (id, v) VALUES (6, parse_json('{{\"a\": -7}}'))")
    with pytest.raises(DeltaSparkError, match=r"(?i)not null"):
        delta.sql(f"INSERT INTO delta.`{path}` (id, v) VALUES (NULL, parse_json('{{\"a\": 7}}'))")
    table.refresh()
    found = table.scan(["id", "a"]).to_arrow().sort_by("id").to_pylist()
    assert [tuple(row.values()) for row in found] == [(1, 5), (2, 6), (3, 1), (4, 7), (5, 1)]
    assert_same(delta, table, path)
    table.delete("id = 1")
    delta.sql(f"DELETE FROM delta.`{path}` WHERE id = 2")
    delta.sql(f"UPDATE delta.`{path}` SET v = parse_json('{{\"a\": 70}}') WHERE id = 4")
    table.refresh()
    theirs = delta.sql(f"SELECT id, a, _change_type, _commit_version FROM table_changes_by_path('{path}', 0)")
    mine = table.changes(0).select(["id", "a", "_change_type", "_commit_version"]).to_pylist()
    assert seen(theirs) == seen(mine)
    assert {row["_change_type"] for row in mine} == {
        "insert",
        "delete",
        "update_preimage",
        "update_postimage",
    }


# ── What Delta writes, we read ──────────────────────────────────────────────────────────────────────────

DOCUMENT = (
    'parse_json(concat(\'{"n": \', id, \', "s": "text \', id, \'", "o": {"it\'\'s": \', id / 4, \'}, '
    "\"mixed\": ', if(id % 2 = 0, string(id), '\"x\"'), ', \"l\": [', id, ']}'))"
)


def fill(delta: DeltaSpark, path: Path, start: int, stop: int) -> None:
    delta.sql(f"INSERT INTO delta.`{path}` SELECT id, {DOCUMENT} FROM range({start}, {stop}, 1, 1)")


def test_tables_with_variant_statistics(delta: DeltaSpark, tmp_path: Path) -> None:
    path = tmp_path / "t"
    delta.set(**WRITES_SHREDDED, **WITH_STATISTICS, spark__databricks__delta__stats__limitPerVariant="100")
    delta.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, v VARIANT) USING delta "
        "TBLPROPERTIES ('delta.enableVariantShredding' = 'true')"
    )
    for start in range(0, 40, 10):
        fill(delta, path, start, start + 10)
    table = sl.Table(path)
    assert_same(delta, table, path)
    bounds = [
        decode_variant(json.loads(text)["minValues"]["v"])
        for text in table.files().column("stats").to_pylist()
    ]
    assert sorted(low["$['n']"].to_python() for low in bounds) == [0, 10, 20, 30]
    assert all("$['mixed']" not in low.keys() for low in bounds)  # noqa: SIM118
    for where, count, read in (
        ("v:n::bigint = 15", 1, 1),
        ("v:n::bigint BETWEEN 8 AND 11", 4, 2),
        ("v:s::string = 'text 33'", 1, 2),  # texts from "text 0" to "text 9" are around it too
        ("v:o['it\\'s']::double > 9.6", 1, 1),
        ("v:mixed::string = 'x'", 20, 4),
    ):
        scan = table.scan(where=where)
        assert (scan.count(), scan.files().num_rows) == (count, read), where
    # The same from Delta's checkpoint, in which the bounds are Variant columns.
    delta.checkpoint(path)
    forget_before(path, 4)
    again = sl.Table(path)
    assert_same(delta, again, path)
    scan = again.scan(["id"], where="v:n::bigint = 15")
    assert (scan.to_arrow().to_pylist(), scan.files().num_rows) == ([{"id": 15}], 1)
    # And we go on writing it: our checkpoint keeps their bounds.
    again.append(rows_of([100], [{"n": 100}]))
    again.checkpoint()
    forget_before(path, 5)
    last = sl.Table(path)
    assert last.scan(where="v:n::bigint = 15").files().num_rows == 1
    assert_same(delta, last, path)


def test_statistics_that_delta_cuts_through_a_character(delta: DeltaSpark, tmp_path: Path) -> None:
    path = tmp_path / "t"
    delta.set(**WRITES_SHREDDED, **WITH_STATISTICS)
    delta.sql(
        f"CREATE TABLE delta.`{path}` (v VARIANT) USING delta "
        "TBLPROPERTIES ('delta.enableVariantShredding' = 'true')"
    )
    value = "z" * 31 + "😀 and more"
    rows = ", ".join(f'(parse_json(\'{{"s": "{text}"}}\'))' for text in ("a", value))
    delta.sql(f"INSERT INTO delta.`{path}` VALUES {rows}")
    table = sl.Table(path)
    assert "maxValues" in table.files().column("stats")[0].as_py()
    assert table.scan(where=f"v:s::string = '{value}'").count() == 1
    assert_same(delta, table, path)


def test_tables_with_deletion_vectors(delta: DeltaSpark, tmp_path: Path) -> None:
    path = tmp_path / "t"
    delta.set(**WRITES_SHREDDED, **WITH_STATISTICS)
    delta.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, v VARIANT) USING delta TBLPROPERTIES "
        "('delta.enableVariantShredding' = 'true', 'delta.enableDeletionVectors' = 'true')"
    )
    fill(delta, path, 0, 1000)
    delta.sql(f"DELETE FROM delta.`{path}` WHERE id % 7 = 3")
    delta.sql(f"DELETE FROM delta.`{path}` WHERE id BETWEEN 100 AND 199")
    table = sl.Table(path)
    [vector] = table.files().column("deletionVector").to_pylist()
    assert vector["cardinality"] == 1000 - table.scan().count()
    assert_same(delta, table, path)
    numbers = ("v:n::bigint = 101", "v:n::bigint = 10", "v:n::bigint = 11", "id > 990")
    for where in (*numbers, "v:s::string LIKE 'text 9%'"):
        theirs = delta.rows(path, rest=f"WHERE {where}")
        assert seen(theirs) == seen(ours(table.scan(where=where).to_arrow())), where
        assert table.scan(where=where).count() == len(theirs)
    table.delete("id = 0")
    assert_same(delta, table, path)
    delta.sql(f"DELETE FROM delta.`{path}` WHERE id = 1")
    table.refresh()
    assert_same(delta, table, path)
    delta.checkpoint(path)
    forget_before(path, table.version)
    assert_same(delta, sl.Table(path), path)


def test_every_type_of_theirs(delta: DeltaSpark, tmp_path: Path) -> None:
    path = tmp_path / "t"
    sl.write_parquet(EVERY_TYPE, tmp_path / "source.parquet")
    delta.sql(
        f"CREATE TABLE delta.`{path}` USING delta AS SELECT *, parse_json(to_json(struct(*))) AS v, "
        f"array(long::variant, text::variant) AS vs FROM parquet.`{tmp_path / 'source.parquet'}`"
    )
    assert_same(delta, sl.Table(path), path, "moment")


def test_partitions_and_checkpoints_of_theirs(delta: DeltaSpark, tmp_path: Path) -> None:
    path = tmp_path / "t"
    delta.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, city STRING, day DATE, at TIMESTAMP, wall TIMESTAMP_NTZ, "
        "v VARIANT) USING delta PARTITIONED BY (city, day, at, wall) "
        "TBLPROPERTIES ('delta.checkpointPolicy' = 'v2')"
    )
    for number, city in enumerate(("a/b c%20", "ü=é", "", "x:y?+&")):
        delta.sql(
            f"INSERT INTO delta.`{path}` SELECT id, '{city}', date'2026-01-0{number + 1}', "
            f"timestamp'2026-01-01T00:00:00.00000{number}Z', timestamp_ntz'2026-01-01T00:00:0{number}', "
            f"{DOCUMENT} FROM range(3)"
        )
    delta.sql(f"INSERT INTO delta.`{path}` VALUES (9, NULL, NULL, NULL, NULL, NULL)")
    assert_same(delta, sl.Table(path), path, "at")
    delta.checkpoint(path)
    forget_before(path, 5)
    table = sl.Table(path)
    assert table.protocol.reader_features is not None
    assert "v2Checkpoint" in table.protocol.reader_features
    assert_same(delta, table, path, "at")
    scan = table.scan(where="day = date'2026-01-02' and wall = timestamp_ntz'2026-01-01T00:00:01'")
    assert (scan.count(), scan.explain().pruned_by_partition) == (3, 4)


def test_widened_types_and_other_features_of_theirs(delta: DeltaSpark, tmp_path: Path) -> None:
    path = tmp_path / "t"
    delta.sql(
        f"CREATE TABLE delta.`{path}` (i INT, f FLOAT, m DECIMAL(6,2), v VARIANT) USING delta TBLPROPERTIES "
        "('delta.enableTypeWidening' = 'true', 'delta.enableInCommitTimestamps' = 'true', "
        "'delta.feature.vacuumProtocolCheck' = 'supported', 'delta.enableRowTracking' = 'true')"
    )
    delta.sql(f"INSERT INTO delta.`{path}` VALUES (1, 0.1, 1.25, parse_json('1'))")
    for change in ("i TYPE BIGINT", "f TYPE DOUBLE", "m TYPE DECIMAL(12,4)"):
        delta.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN {change}")
    delta.sql(f"INSERT INTO delta.`{path}` VALUES (5000000000, 0.1, 12345678.1234, parse_json('2'))")
    table = sl.Table(path)
    assert table.schema.field("i").type == pa.int64()
    assert_same(delta, table, path)
    # Of a float 0.1 its log says 0.1, so that by its statistics Delta itself passes over the first row.
    delta.set(spark__databricks__delta__stats__skipping="false")
    for where in ("f > 0.1D", "f = 0.1D", "i > 1", "m = 1.25", "f < 0.1000001D"):
        found = ours(table.scan(where=where).to_arrow())
        assert seen(delta.rows(path, rest=f"WHERE {where}")) == seen(found), where
    delta.set(spark__databricks__delta__stats__skipping=None)
    with pytest.raises(sl.UnsupportedFeature, match="rowTracking"):
        table.append(pa.table({"i": [1]}))


def test_a_table_that_both_write(delta: DeltaSpark, tmp_path: Path) -> None:
    path = tmp_path / "t"
    delta.set(**WRITES_SHREDDED, **WITH_STATISTICS)
    table = sl.Table.create(path, rows_of([], []).schema, properties=SHREDDED)
    for number in range(4):
        table.append(numbered(100 * number, 100 * number + 50))
        fill(delta, path, 100 * number + 50, 100 * number + 60)
        table.delete(f"id = {100 * number + 55}")
        delta.sql(f"DELETE FROM delta.`{path}` WHERE id = {100 * number + 5}")
        table.refresh()
    assert table.scan().count() == 4 * 58
    assert_same(delta, table, path)
    delta.sql(f"OPTIMIZE delta.`{path}`")
    assert_same(delta, table.refresh(), path)
    table.restore(3)
    assert table.scan().count() == 59

    assert_same(delta, table, path)


# ── What the pipeline writes, Delta reads ───────────────────────────────────────────────────────────────


def theirs(delta: DeltaSpark, table: Path) -> pa.Array:
    """The Variants that Delta reads, as a column: texts would not tell 1.0 from 1."""
    found = [row["v"] for row in delta.rows(table, "v")]
    return pa.array([{"metadata": one.metadata, "value": one.value} for one in found], sl.variant())


def test_an_ingested_and_optimized_table(delta: DeltaSpark, tmp_path: Path) -> None:
    lines: list[str] = []
    for shape in SHAPES:
        source = tmp_path / f"{shape}.ndjson"
        write_ndjson(shape, source, 300)
        lines += source.read_text().splitlines()
        ingest_text(LocalEngine(), str(source), str(tmp_path / "table"), IngestOptions())
    optimize_table(LocalEngine(), str(tmp_path / "table"))
    ingest_text(
        LocalEngine(), str(tmp_path / "logs.ndjson"), str(tmp_path / "table"), IngestOptions(job_id="b")
    )
    lines += (tmp_path / "logs.ndjson").read_text().splitlines()
    assert checksum(theirs(delta, tmp_path / "table")) == checksum(sl.from_json(pa.array(lines)))


def test_a_table_that_our_spark_ingest_wrote(delta: DeltaSpark, spark: SparkSession, tmp_path: Path) -> None:
    from shredlake import spark as sls

    lines: list[str] = []
    for shape in SHAPES:
        write_ndjson(shape, tmp_path / f"{shape}.ndjson", 100)
        lines += (tmp_path / f"{shape}.ndjson").read_text().splitlines()
    sls.ingest(spark, str(tmp_path / "*.ndjson"), tmp_path / "table")
    assert checksum(theirs(delta, tmp_path / "table")) == checksum(sl.from_json(pa.array(lines)))
    assert_same(delta, sl.Table(tmp_path / "table"), tmp_path / "table")
