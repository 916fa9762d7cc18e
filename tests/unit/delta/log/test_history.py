"""The history of a table: newest first, and free-form fields of other writers."""

from __future__ import annotations

import json
from pathlib import Path

import shredlake as sl
from delta_tables import ID_AND_VARIANT, numbered
from shredlake.delta.log.history import history


def test_the_newest_operation_comes_first(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path / "t", ID_AND_VARIANT)
    table.append(numbered(0, 5))
    table.delete("id = 3")
    entries = list(history(table.snapshot))
    assert [(entry["version"], entry["operation"]) for entry in entries] == [
        (2, "DELETE"),
        (1, "WRITE"),
        (0, "CREATE TABLE"),
    ]
    assert entries == sorted(entries, key=lambda entry: entry["timestamp"], reverse=True)
    assert [entry["version"] for entry in history(table.snapshot, limit=1)] == [2]


def test_an_older_version_has_no_later_operations(tmp_path: Path) -> None:
    sl.Table.create(tmp_path / "t", ID_AND_VARIANT).append(numbered(0, 5))
    assert [entry["version"] for entry in history(sl.Table(tmp_path / "t", 0).snapshot)] == [0]


def test_fields_of_a_commit_info_may_have_any_type(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path / "t", ID_AND_VARIANT)
    table.append(numbered(0, 5))
    commit = tmp_path / "t" / "_delta_log" / f"{1:020}.json"
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    for line in lines:
        if "commitInfo" in line:
            line["commitInfo"] |= {"operationParameters": "text", "operationMetrics": [1], "userMetadata": 5}
    commit.write_text("".join(json.dumps(line) + "\n" for line in lines))
    [entry] = history(sl.Table(tmp_path / "t").snapshot, limit=1)
    assert (entry["parameters"], entry["metrics"], entry["user_metadata"]) == ({}, {}, 5)
