"""`shredlake drift`: one line per change."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from command_line import invoke
from delta_tables import ID_AND_VARIANT, SHREDDED, numbered


@pytest.fixture
def drifted(tmp_path: Path) -> sl.Table:
    """Version 2 has another type of `id`, a path more, and a path less."""
    table = sl.Table.create(
        tmp_path, pa.schema([("v", sl.variant())]), properties={"delta.enableVariantShredding": "true"}
    )
    table.append([{"v": {"id": n, "name": "x"}} for n in range(20)])
    table.append([{"v": {"id": str(n), "[red]new\x1b": True}} for n in range(20)])
    return table


def test_changes_as_a_table(drifted: sl.Table) -> None:
    heading, columns, *rows, how = invoke("drift", drifted.uri).stdout.splitlines()
    assert heading == f"{drifted.uri}  versions 0 to 2"
    assert columns.split() == ["version", "time", "operation", "change", "path", "types", "known", "from"]
    assert {row.split()[0] for row in rows} <= {"1", "2"}
    assert len(rows) == 3
    [changed] = [row for row in rows if " changed " in row]
    assert "integer" in changed
    assert "string" in changed
    assert "\x1b" not in "".join(rows)
    assert how == (
        "2 files known from the log, 0 read. The log knows only shredded paths; use --read for all"
    )


def test_changes_as_json(drifted: sl.Table) -> None:
    lines = invoke("drift", drifted.uri, "--since", "1", "--json").stdout.splitlines()
    found = [json.loads(line) for line in lines]
    assert sorted(one["kind"] for one in found) == ["appeared", "changed", "vanished"]
    [changed] = [one for one in found if one["kind"] == "changed"]
    assert (changed["path"], changed["version"]) == ("v:id", 2)


def test_a_narrow_terminal_gets_paragraphs(drifted: sl.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = invoke("drift", drifted.uri).stdout.splitlines()
    [at] = [number for number, line in enumerate(lines) if "v:id changed: " in line]
    assert lines[at].startswith("      2  v:id")
    assert "known from" in lines[at + 1]


def test_the_data_is_read_if_asked_for(drifted: sl.Table) -> None:
    assert invoke("drift", drifted.uri, "--read").stdout.splitlines()[-1] == (
        "0 files known from the log, 2 read"
    )


def test_nothing_changed(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    table.append(numbered(0, 5))
    text = invoke("drift", table.uri).stdout
    assert "No path changed." in text
    assert "1 file known from the log" in text
    assert invoke("drift", table.uri, "--json").stdout == ""


def test_a_version_that_is_not_there(drifted: sl.Table) -> None:
    assert "has the versions 0 to 2" in str(invoke("drift", drifted.uri, "--since", "9", code=1).exception)
