"""A healthy table has no findings, each kind of damage has its own, and a repair fixes what it reports."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64
from typer.testing import CliRunner

import shredlake as sl
from delta_tables import python, variants
from shredlake.cli.app import app
from shredlake.delta.check.findings import RULES
from shredlake.delta.read.deletion_vectors import PORTABLE
from shredlake.delta.stats import z85

SCHEMA = pa.schema([("id", pa.int64()), ("x", pa.float64()), ("day", pa.int32()), ("v", sl.variant())])
PROPERTIES = {
    "delta.checkpoint.writeStatsAsStruct": "false",  # a small footer: there are many checks
    "delta.enableVariantShredding": "true",
    "shredlake.shredding.v": "struct<a bigint, s string>",
}


def rows(first: int, count: int = 20) -> pa.Table:
    numbers = range(first, first + count)
    columns = {
        "id": pa.array([None if n % 7 == 0 else n for n in numbers], pa.int64()),
        "x": pa.array([n / 4 for n in numbers]),
        "day": pa.array([1] * count, pa.int32()),
        "v": variants([{"a": n, "s": f"s{n}", "rest": [n]} for n in numbers]),
    }
    return pa.table(columns, schema=SCHEMA)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Version 1 has a checkpoint, version 2 is a commit behind it."""
    place = tmp_path_factory.mktemp("sound") / "t"
    table = sl.Table.create(place, SCHEMA, ["day"], PROPERTIES)
    table.append(rows(0))
    table.checkpoint()
    table.append(rows(20))
    return place


@pytest.fixture
def table(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "t"))


# ── Damage ──────────────────────────────────────────────────────────────────────────────────────────────


def log_file(table: Path, name: str) -> Path:
    return table / "_delta_log" / name


def commit(version: int) -> str:
    return f"{version:020}.json"


def newest_file(table: Path) -> Path:
    return table / str(entry(table)["path"])


def entry(table: Path) -> dict[str, Any]:
    lines = log_file(table, commit(2)).read_text().splitlines()
    return next(json.loads(line)["add"] for line in lines if '"add"' in line)


def change_entry(table: Path, **fields: Any) -> None:
    """Replaces the entry of the newest file, as another writer might have written it."""
    path = log_file(table, commit(2))
    actions = [json.loads(line) for line in path.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"] |= fields
    path.write_text("".join(json.dumps(action) + "\n" for action in actions))


def change_stats(table: Path, change: Callable[[dict[str, Any]], object]) -> None:
    stats = json.loads(entry(table)["stats"])
    change(stats)
    change_entry(table, stats=json.dumps(stats))


def add_commit(table: Path, *actions: dict[str, Any]) -> None:
    log_file(table, commit(3)).write_text("".join(json.dumps(action) + "\n" for action in actions))


def lose_a_row_of_the_checkpoint(table: Path) -> None:
    path = log_file(table, f"{1:020}.checkpoint.parquet")
    found = pq.read_table(path)
    pq.write_table(found.filter(found.column("add").is_null()), path)


def wrong_path_bound(stats: dict[str, Any]) -> None:
    stats["maxValues"]["v"] = z85.encode_variant(sl.Variant.of({"$['a']": 25}))


def bound_of_another_type(stats: dict[str, Any]) -> None:
    stats["minValues"]["v"] = z85.encode_variant(sl.Variant.of({"$['s']": 1}))


def flip_in_first_page(table: Path) -> None:
    path = newest_file(table)
    metadata = pq.read_metadata(path)
    chunk = metadata.row_group(0).column(1)
    at = chunk.data_page_offset + chunk.total_compressed_size - 3
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def checksum(table: Path, **fields: Any) -> None:
    size = sum(path.stat().st_size for path in table.rglob("day=1/*.parquet"))
    facts = {"numFiles": 2, "tableSizeBytes": size, "numMetadata": 1, "numProtocol": 1} | fields
    log_file(table, f"{2:020}.crc").write_text(json.dumps(facts))


VECTOR = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"  # rows 3, 4, 7, 11, 18, 29


def vector(table: Path, cardinality: int) -> None:
    found = {"storageType": "i", "pathOrInlineDv": VECTOR, "sizeInBytes": 40, "cardinality": cardinality}
    change_entry(table, deletionVector=found)


DAMAGES: list[tuple[str, Callable[[Path], object]]] = [
    ("log-gap", lambda table: log_file(table, commit(1)).unlink()),
    ("commit", lambda table: os.truncate(log_file(table, commit(2)), 900)),
    ("commit", lambda table: log_file(table, commit(2)).write_text('{"add": {"path": 5}}\n')),
    ("commit", lambda table: log_file(table, commit(2)).write_text("")),
    ("protocol", lambda table: add_commit(table, {"protocol": {
        "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["fromTheFuture"],
        "writerFeatures": ["fromTheFuture"]}})),
    ("checkpoint", lose_a_row_of_the_checkpoint),
    ("checkpoint", lambda table: log_file(table, f"{1:020}.checkpoint.parquet").write_bytes(b"PAR1")),
    ("last-checkpoint", lambda table: log_file(table, "_last_checkpoint").write_text("{")),
    ("last-checkpoint", lambda table: log_file(table, "_last_checkpoint").write_text('{"version": 9}')),
    ("version-checksum", lambda table: checksum(table, numFiles=3)),
    ("version-checksum", lambda table: log_file(table, f"{2:020}.crc").write_text("[]")),
    ("path", lambda table: change_entry(table, path="%2e%2e/elsewhere.parquet")),
    ("file-missing", lambda table: newest_file(table).unlink()),
    ("file-size", lambda table: change_entry(table, size=1)),
    ("file-damaged", lambda table: newest_file(table).write_bytes(bytes(newest_file(table).stat().st_size))),
    ("partition-value", lambda table: change_entry(table, partitionValues={"day": "someday"})),
    ("deletion-vector", lambda table: vector(table, 7)),
    ("deletion-vector", lambda table: vector(table, 6)),  # it deletes row 29 of 20
    ("layout-tag", lambda table: change_entry(table, tags={"shredlake.layout": "{"})),
    ("layout-tag", lambda table: change_entry(
        table, tags={"shredlake.layout": '{"v":{"shredding":"struct<a bigint>","residual":[]}}'})),
    ("layout-tag", lambda table: change_entry(
        table, tags={"shredlake.layout": '{"v":{"shredding":"struct<a bigint, s string>","residual":[]}}'})),
    ("row-count", lambda table: change_stats(table, lambda stats: stats.update(numRecords=19))),
    ("page-damaged", flip_in_first_page),
    ("statistics", lambda table: change_entry(table, stats="{")),
    ("statistics", lambda table: change_stats(table, lambda stats: stats["minValues"].update(id=23))),
    ("statistics", lambda table: change_stats(table, lambda stats: stats["maxValues"].update(x=5.5))),
    ("statistics", lambda table: change_stats(table, lambda stats: stats["nullCount"].update(id=0))),
    ("statistics", lambda table: change_stats(table, wrong_path_bound)),
    ("statistics", lambda table: change_stats(table, bound_of_another_type)),
]  # fmt: skip

READS_DATA = ("page-damaged", "statistics")
IDS = [f"{number}-{rule}" for number, (rule, _) in enumerate(DAMAGES)]


def test_every_rule_has_a_damage() -> None:
    assert {rule for rule, _ in DAMAGES} == set(RULES)


def test_a_sound_table_has_no_findings(table: Path) -> None:
    checksum(table)
    (table / "day=1" / "part-00000000-0000-0000-0000-000000000000.c000.parquet").write_bytes(b"")
    report = sl.check_table(table)
    assert report.findings == ()
    assert (report.version, report.files, report.rows, report.checkpoints) == (2, 2, 40, 1)
    assert report.orphans == 0  # the file is young: it may belong to a write in progress
    assert json.loads(json.dumps(report.to_dict()))["ok"] is True


def contents(table: Path) -> dict[str, bytes]:
    return {str(path.relative_to(table)): path.read_bytes() for path in table.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("rule", "damage"), DAMAGES, ids=IDS)
def test_each_damage_has_exactly_its_finding_and_a_repair_mends_what_it_says(
    table: Path, sound: Path, rule: str, damage: Callable[[Path], object]
) -> None:
    damage(table)
    before = contents(table)
    planned = sl.check_table(table, repair=True, dry_run=True)
    assert [finding.rule for finding in planned.findings] == [rule]
    quick = [] if rule in READS_DATA and "not JSON" not in str(planned) else [rule]
    assert [finding.rule for finding in sl.check_table(table, quick=True).findings] == quick
    assert contents(table) == before
    assert [finding.rule for finding in planned.repaired] == ([rule] if RULES[rule].repair else [])
    report = sl.check_table(table, repair=True)
    if not RULES[rule].repair:
        assert [finding.rule for finding in report.findings] == [rule]
        assert contents(table) == before
        return
    assert report.ok, report
    assert [finding.rule for finding in report.repaired] == [rule]
    after = sl.check_table(table)
    assert after.ok, after
    assert python(sl.Table(table).scan().to_arrow()) == python(sl.Table(sound).scan().to_arrow())
    for name, data in before.items():
        if "_delta_log" not in name or name.endswith(".json"):
            assert contents(table)[name] == data, name
    where = "v:a::bigint >= 38 AND x < 9.6"
    assert sl.Table(table).scan(where=where).count() == sl.Table(sound).scan(where=where).count() == 1


def test_a_repair_of_a_file_with_deleted_rows_keeps_them_deleted(table: Path) -> None:
    data = PORTABLE.to_bytes(4, "little") + BitMap64([3]).serialize()
    inline = z85.encode(data + bytes(-len(data) % 4))
    found = {"storageType": "i", "pathOrInlineDv": inline, "sizeInBytes": len(data), "cardinality": 1}
    change_entry(table, deletionVector=found)
    change_stats(table, lambda stats: stats["minValues"].update(id=30))
    count = sl.Table(table).scan().count()
    assert sl.check_table(table, repair=True).ok
    assert sl.Table(table).scan().count() == count == 39
    assert sl.Table(table).scan(where="id = 22").count() == 1


def test_open_table_moves_to_the_repair(table: Path) -> None:
    opened = sl.Table(table)
    change_stats(table, lambda stats: stats["minValues"].update(id=23))
    assert sl.Table(table).check().findings[0].rule == "statistics"
    report = opened.check(repair=True)
    assert (report.repaired_version, opened.version) == (3, 3)
    assert opened.history(1)[0]["operation"] == "REPAIR"


def test_a_checkpoint_without_its_commits_stays_a_finding(table: Path) -> None:
    for version in (0, 1):
        log_file(table, commit(version)).unlink()
    assert sl.check_table(table).ok  # the log was cleaned up
    log_file(table, f"{1:020}.checkpoint.parquet").write_bytes(b"PAR1")
    report = sl.check_table(table, repair=True)
    assert report.version is None
    assert report.repaired == ()
    assert [finding.rule for finding in report.findings] == ["checkpoint"]


def test_on_the_command_line(table: Path) -> None:
    run = CliRunner().invoke
    healthy = run(app, ["check", str(table)])
    assert healthy.exit_code == 0
    assert "nothing is wrong" in healthy.output
    change_stats(table, lambda stats: stats["minValues"].update(id=23))
    found = run(app, ["check", str(table)])
    assert found.exit_code == 1
    assert "[statistics]" in found.output
    report = json.loads(run(app, ["check", str(table), "--json"]).output)
    assert [finding["rule"] for finding in report["findings"]] == ["statistics"]
    planned = run(app, ["check", str(table), "--repair", "--dry-run"])
    assert planned.exit_code == 1
    assert "would be repaired" in planned.output
    assert run(app, ["check", str(table), "--repair"]).exit_code == 0
    assert run(app, ["check", str(table)]).exit_code == 0
    assert run(app, ["check", str(table), "--dry-run"]).exit_code == 2
    assert run(app, ["check", str(newest_file(table)), "--quick"]).exit_code == 2
