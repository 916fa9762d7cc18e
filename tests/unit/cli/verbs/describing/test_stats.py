"""`shredlake stats`: which files overlap."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shredlake as sl
from command_line import run
from delta_tables import ID_AND_VARIANT, rows_of
from shredlake.cli.app import main
from shredlake.delta.stats.ranges import ranges


def test_stats_draw_which_files_overlap(table: sl.Table, tmp_path: Path) -> None:
    text = run("stats", str(tmp_path), "--path", "v:a")
    heading, *bars = text.rstrip().splitlines()
    assert heading == "v:a  bigint  4 of 4 files  0 .. 29  1.5 files per value"
    starts = [len(bar) - len(bar.lstrip()) for bar in bars]
    assert len(bars) == 4
    assert starts == sorted(starts)
    assert starts[1] < len(bars[0]), "the file 5 to 14 overlaps the file 0 to 9"
    assert starts[3] >= len(bars[1]), "the file 20 to 29 overlaps none"


def test_stats_of_many_files_are_heights(table: sl.Table, tmp_path: Path) -> None:
    text = run("stats", str(tmp_path), "--path", "id", "--bars", "2")
    assert "up to 2 files cover the same value" in text
    assert "█" in text.splitlines()[1]
    [found] = [
        json.loads(line) for line in run("stats", str(tmp_path), "--path", "id", "--json").splitlines()
    ]
    assert (found["minimum"], found["maximum"], found["files"], max(found["depths"])) == (0, 29, 4, 2)


def test_stats_of_every_path_and_type(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.enableVariantShredding": "true"})
    layout = "struct<a bigint, s string, u struct<t timestamp, `x.y` double>, o boolean>"
    value = {"a": 1, "s": "x", "u": {"t": None, "x.y": 1.5}, "o": True}
    table.append(rows_of([1, 2], [value, value]), shredding={"v": layout})
    table.append(rows_of([3], [{"a": "text"}]), shredding={"v": "struct<a string>"})
    names = [(item.name, str(item.type)) for item in ranges(table.snapshot)]
    assert names == [
        ("id", "int64"),
        ("v:a", "int64"),
        ("v:a", "string"),
        ("v:o", "bool"),
        ("v:s", "string"),
        ("v:u['x.y']", "double"),
    ]
    assert run("stats", str(tmp_path)).count("files per value") == 6


def test_stats_of_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sl.Table.create(tmp_path, ID_AND_VARIANT)
    assert run("stats", str(tmp_path)) == "The files of this table have no statistics.\n"
    monkeypatch.setattr("sys.argv", ["shredlake", "stats", str(tmp_path), "--path", "nope"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 1
    assert capsys.readouterr().err == "shredlake: 'nope' has no statistics; statistics exist for: none\n"
