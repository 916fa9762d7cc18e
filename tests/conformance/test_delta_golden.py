"""The four golden tables: every row, every statistic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.schema.types import parse_schema
from shredlake.delta.stats.z85 import decode_variant

SPARK_TABLES = ["spark-variant-checkpoint", "spark-shredded-variant-preview-delta"]


def plain(value: Any, kind: pa.DataType) -> Any:
    """Rows as Python objects, Variants decoded wherever they are."""
    if value is None:
        return None
    if sl.is_variant(kind):
        return sl.Variant(value["metadata"], value["value"]).to_python()
    if pa.types.is_map(kind):
        return {key: plain(item, kind.item_type) for key, item in value}
    if pa.types.is_struct(kind):
        return {field.name: plain(value[field.name], field.type) for field in kind}
    if pa.types.is_list(kind):
        return [plain(item, kind.value_type) for item in value]
    return value


def rows(table: pa.Table) -> list[dict[str, Any]]:
    return [
        {field.name: plain(row[field.name], field.type) for field in table.schema}
        for row in table.to_pylist()
    ]


@pytest.fixture
def golden(conformance: Path) -> Path:
    return conformance / "delta-golden"


@pytest.mark.parametrize("name", SPARK_TABLES)
def test_every_row_of_the_spark_tables(golden: Path, name: str) -> None:
    found = rows(sl.Table(golden / name).scan().to_arrow())
    assert sorted(row["id"] for row in found) == sorted([*range(100), 0, 1])
    for row in found:
        number = row["id"]
        value = {"key": number}
        assert row == {
            "id": number,
            "v": value,
            "array_of_variants": [value, None, value, None, value],
            "struct_of_variants": {"v": value},
            "map_of_variants": {str(number): value, "nullKey": None},
            "array_of_struct_of_variants": [
                {"v": value},
                {"v": None},
                None,
                {"v": value},
                None,
                {"v": value},
            ],
            "struct_of_array_of_variants": {"v": [None, value]},
        }


@pytest.mark.parametrize("name", SPARK_TABLES)
def test_the_spark_tables_with_and_without_their_checkpoint(golden: Path, name: str) -> None:
    """The checkpoint at version 2 and the commits 0 to 2 say the same."""
    table = sl.Table(golden / name)
    assert table.version == 2
    assert table.snapshot.segment.checkpoint is not None
    from_commits: set[str] = set()
    for version in range(3):
        text = (golden / name / "_delta_log" / f"{version:020}.json").read_text()
        lines = [json.loads(line) for line in text.splitlines()]
        from_commits.update(line["add"]["path"] for line in lines if "add" in line)
    assert set(table.files().column("path").to_pylist()) == from_commits
    assert [entry["operation"] for entry in table.history()] == [
        "WRITE",
        "WRITE",
        "CREATE OR REPLACE TABLE AS SELECT",
    ]


@pytest.mark.parametrize("name", SPARK_TABLES)
def test_time_travel(golden: Path, name: str) -> None:
    assert [sl.Table(golden / name, version=version).scan().count() for version in range(3)] == [
        100,
        101,
        102,
    ]
    with pytest.raises(sl.VersionNotFound, match="has no version 3; the latest is 2"):
        sl.Table(golden / name, version=3)


@pytest.mark.parametrize("name", SPARK_TABLES)
def test_statistics_and_paths_of_the_spark_tables(golden: Path, name: str) -> None:
    table = sl.Table(golden / name)
    by_id = {}
    for row in table.files().to_pylist():
        stats = json.loads(row["stats"])
        assert set(stats["nullCount"]) == set(table.schema.names)
        by_id[stats["minValues"]["id"], stats["maxValues"]["id"]] = stats["numRecords"]
    assert by_id == {(0, 49): 50, (50, 99): 50, (0, 0): 1, (1, 1): 1}
    scan = table.scan(["id", "v:key::int AS key"], where="id = 77")
    assert scan.to_arrow().to_pylist() == [{"id": 77, "key": 77}]
    assert scan.explain().files_read == 1


def test_rows_of_the_statistics_tables(golden: Path) -> None:
    found = rows(sl.Table(golden / "variant-stats-no-checkpoint").scan().to_arrow())
    assert found == [
        {
            "i": 100 + number,
            "v": {"id": number, "name": str(10 - number)},
            "nv": {"v": {"id": 10 + number, "name": str(20 - number)}},
        }
        for number in range(10)
    ]
    assert rows(sl.Table(golden / "variant-stats-state-reconstruction").scan().to_arrow()) == [{"v": 0}]


def test_statistics_of_the_statistics_tables(golden: Path) -> None:
    [file] = sl.Table(golden / "variant-stats-no-checkpoint").files().to_pylist()
    stats = json.loads(file["stats"])

    def bounds(side: str) -> list[Any]:
        return [
            decode_variant(stats[side]["v"]).to_python(),
            decode_variant(stats[side]["nv"]["v"]).to_python(),
        ]

    assert stats["numRecords"] == 10
    assert (stats["minValues"]["i"], stats["maxValues"]["i"]) == (100, 109)
    assert bounds("minValues") == [{"$['id']": 0, "$['name']": "1"}, {"$['id']": 10, "$['name']": "11"}]
    assert bounds("maxValues") == [{"$['id']": 9, "$['name']": "9"}, {"$['id']": 19, "$['name']": "20"}]
    assert stats["nullCount"] == {"i": 0, "v": 0, "nv": {"v": 0}}

    [file] = sl.Table(golden / "variant-stats-state-reconstruction").files().to_pylist()
    stats = json.loads(file["stats"])
    assert decode_variant(stats["minValues"]["v"]).to_python() == {"$": 0}
    assert decode_variant(stats["maxValues"]["v"]).to_python() == {"$": 0}
    assert stats["nullCount"] == {"v": 0}


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("v:id::bigint > 9", 0),
        ("v:id::bigint >= 9", 1),
        ("v:id::bigint < 0", 0),
        ("v:id::bigint = 5", 1),
        ("v:name::string > '9'", 0),
        ("v:name::string < '1'", 0),
        ("nv.v:id::bigint < 10", 0),
        ("nv.v:id::bigint > 19 or i > 109", 0),
        ("nv.v:id::bigint > 19 or i > 108", 1),
        ("i between 0 and 99", 0),
        ("v:other::bigint = 5", 1),
    ],
)
def test_databricks_statistics_prune(golden: Path, where: str, kept: int) -> None:
    scan = sl.Table(golden / "variant-stats-no-checkpoint").scan(where=where)
    assert scan.files().num_rows == kept


def test_a_root_statistic_prunes(golden: Path) -> None:
    table = sl.Table(golden / "variant-stats-state-reconstruction")
    assert table.scan(where="v::bigint = 0").to_arrow().num_rows == 1
    assert table.scan(where="v::bigint > 0").files().num_rows == 0


def test_the_protocols_schema_example(conformance: Path) -> None:
    spec = conformance.parent / "spec" / "delta-variant-type.md"
    if not spec.exists():
        pytest.skip("the specification is not beside the conformance data")
    text = spec.read_text().split("```")[1]
    schema = parse_schema(text)
    assert schema.fields[0].type == "variant"
    assert schema.fields[1].type.element == "variant"
    assert schema.fields[1].type.contains_null is False
    assert schema.fields[1].nullable is False


def test_the_documents_z85_examples() -> None:
    lower = decode_variant("0S&u501fk+ze0(tB98CpzF6vU0rJl95HpNdvjbtatpi(cu0wW^cTu")
    upper = decode_variant("0S&u500&]LC42A9vqZe}wb#-i1}-a+cT!xdbWhT9cTx}7v<+K")
    assert lower.to_python() == {"$['a']": "min-string", "$['b']['c']": 1}
    assert upper.to_python() == {"$['a']": "variant", "$['b']['c']": 100}
