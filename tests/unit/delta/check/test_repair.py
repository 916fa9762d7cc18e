"""Repairs: only what follows from sound parts is rebuilt, and only the entry that was wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, ids, numbered
from shredlake.delta.check.file_check import FileResult
from shredlake.delta.check.findings import Finding
from shredlake.delta.check.log_check import LogCheck
from shredlake.delta.check.repair import Repairs
from shredlake.delta.log.files import as_adds
from shredlake.delta.protocol.layout_tag import LAYOUT_TAG
from shredlake.delta.storage.storage import Storage
from shredlake.errors import UnsupportedFeature


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    """Two files and a checkpoint of both."""
    made = sl.Table.create(tmp_path, ID_AND_VARIANT)
    for start in (0, 10):
        made.append(numbered(start, start + 10))
    made.checkpoint()
    return made


def repairs_of(table: sl.Table) -> tuple[Repairs, list[Finding]]:
    log = LogCheck(Storage(table.uri))
    findings = list(log.findings())
    return Repairs(log, log.snapshot()), findings


def checkpoint_of(root: Path, version: int) -> Path:
    return root / "_delta_log" / f"{version:020}.checkpoint.parquet"


def test_without_findings_nothing_is_committed(table: sl.Table) -> None:
    repairs, findings = repairs_of(table)
    assert repairs.run(findings) == ((), None)
    assert table.refresh().version == 2


@pytest.mark.parametrize(
    ("rules", "considered"),
    [
        ([], False),
        (["statistics"], True),
        (["row-count", "layout-tag"], True),
        (["statistics", "page-damaged"], False),
        (["file-missing"], False),
    ],
)
def test_a_file_is_rebuilt_if_nothing_else_is_wrong_with_it(
    table: sl.Table, rules: list[str], considered: bool
) -> None:
    repairs, _ = repairs_of(table)
    [first, _] = as_adds(table.snapshot.files.table())
    findings = [Finding(rule, first.path, "x") for rule in rules]
    repairs.consider(FileResult(first, 10, tuple(findings)))
    assert list(repairs.adds) == ([first.path] if considered else [])
    assert repairs.planned(findings) == ((tuple(findings) if considered else ()), None)


def test_only_what_is_wrong_in_an_entry_changes(table: sl.Table, tmp_path: Path) -> None:
    repairs, _ = repairs_of(table)
    first, second = as_adds(table.snapshot.files.table())
    wrong = '{"v":{"shredding":"struct<z bigint>","residual":[]}}'
    spoilt = [
        replace(first, stats='{"numRecords":1}', tags={LAYOUT_TAG: wrong, "mine": "kept"}),
        replace(second, stats='{"numRecords":1}', tags={LAYOUT_TAG: wrong}),
    ]
    findings = [Finding("row-count", first.path, "x"), Finding("layout-tag", second.path, "x")]
    for add, finding in zip(spoilt, findings, strict=True):
        repairs.consider(FileResult(add, 10, (finding,)))
    assert repairs.run(findings) == (tuple(findings), 3)
    found = {add.path: add for add in as_adds(table.refresh().snapshot.files.table())}
    assert json.loads(found[first.path].stats or "") == json.loads(first.stats or "")
    assert found[first.path].tags == spoilt[0].tags
    assert found[second.path].stats == '{"numRecords":1}'
    assert found[second.path].tags == second.tags
    assert not any(add.data_change for add in found.values())
    entry = table.history(1)[0]
    assert (entry["operation"], entry["metrics"]["numUpdatedFiles"]) == ("REPAIR", "2")
    assert json.loads(entry["parameters"]["rules"]) == ["layout-tag", "row-count"]


def test_every_damaged_checkpoint_is_replaced(table: sl.Table, tmp_path: Path) -> None:
    table.append(numbered(20, 21))
    table.checkpoint()
    for version in (2, 3):
        checkpoint_of(tmp_path, version).write_bytes(b"PAR1")
    repairs, findings = repairs_of(table)
    done, committed = repairs.run(findings)
    assert ([one.rule for one in done], committed) == (["checkpoint"] * 2, None)
    assert list(LogCheck(Storage(table.uri)).findings()) == []
    for version in range(3):
        (tmp_path / "_delta_log" / f"{version:020}.json").unlink()
    assert ids(sl.Table(tmp_path, version=2)) == list(range(20))  # the new checkpoint stands for them


def test_a_damaged_checkpoint_is_only_replaced_where_the_commits_are_there(
    table: sl.Table, tmp_path: Path
) -> None:
    table.append(numbered(20, 21))
    table.checkpoint()
    checkpoint_of(tmp_path, 2).write_bytes(b"PAR1")
    (tmp_path / "_delta_log" / f"{0:020}.json").unlink()
    repairs, findings = repairs_of(table)
    assert [one.rule for one in findings] == ["checkpoint"]
    assert repairs.run(findings) == ((), None)
    assert checkpoint_of(tmp_path, 2).read_bytes() == b"PAR1"


def test_a_wrong_checksum_is_deleted(table: sl.Table, tmp_path: Path) -> None:
    wrong = tmp_path / "_delta_log" / f"{1:020}.crc"
    wrong.write_text('{"numFiles": 7, "tableSizeBytes": 1}')
    repairs, findings = repairs_of(table)
    assert repairs.planned(findings) == (tuple(findings), None)
    assert wrong.exists()
    assert repairs.run(findings) == (tuple(findings), None)
    assert not wrong.exists()


def test_a_table_that_we_may_not_write_is_not_repaired(tmp_path: Path) -> None:
    sl.Table.create(tmp_path, pa.schema([("id", pa.int64())]))
    commit = tmp_path / "_delta_log" / f"{0:020}.json"
    future = '{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["fromTheFuture"]}'
    lines = [line for line in commit.read_text().splitlines() if '"protocol"' not in line]
    lines = [line.replace('"actions"', '"other"') for line in lines]
    commit.write_text("\n".join([*lines, f'{{"protocol":{future}}}']))
    (tmp_path / "_delta_log" / "_last_checkpoint").write_text("{")
    repairs, findings = repairs_of(sl.Table(tmp_path))
    with pytest.raises(UnsupportedFeature):
        repairs.run(findings)
    assert (tmp_path / "_delta_log" / "_last_checkpoint").read_text() == "{"
