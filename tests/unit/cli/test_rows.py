"""Rows are written to the given output in any format, and only as many are read as are shown."""

from __future__ import annotations

import json
import os
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from command_line import command


def test_json_of_every_type(shredlake: Any, tmp_path: Path) -> None:
    rows = pa.table(
        {
            "i": pa.array([1, None], pa.int32()),
            "b": pa.array([True, None]),
            "f": pa.array([1.5, float("inf")]),
            "d": pa.array([Decimal("1.50"), None]),
            "s": pa.array(['a "q" \\ \n\x01é', None]),
            "x": pa.array([b"\xff", None]),
            "l": pa.array([[1, None], None], pa.list_(pa.int64())),
            "t": pa.array([0, None], pa.timestamp("us", "UTC")),
            'na"me': pa.array(["x", "y"]),
            "v": sl.from_json(pa.array(['{"k": 1.50}', None])),
        }
    )
    sl.Table.create(tmp_path / "t", rows.schema).append(rows)
    first, second = map(json.loads, shredlake("query", "t", "-f", "json").out.splitlines())
    assert list(first) == rows.column_names
    assert first == {
        "i": 1,
        "b": True,
        "f": 1.5,
        "d": 1.5,
        "s": 'a "q" \\ \n\x01é',
        "x": "/w==",
        "l": [1, None],
        "t": "1970-01-01 00:00:00+00:00",
        'na"me': "x",
        "v": {"k": 1.5},
    }
    assert {name: value for name, value in second.items() if value is not None} == {
        "f": "Infinity",
        'na"me': "y",
    }


def test_the_stream_of_a_scan_starts_small_and_is_whole(large: Path) -> None:
    scan = sl.Table(large / "t").scan(["n"])
    batches = list(scan.stream(first_rows=5))
    assert batches[0].num_rows == 5
    assert pa.Table.from_batches(batches)["n"].to_pylist() == list(range(60_000))
    found = list(sl.Table(large / "t").scan(["n"], "n >= 59000 or n < 3").stream(2))
    assert sum(batch.num_rows for batch in found) == 1003


def test_a_few_rows_read_little(large: Path) -> None:
    file = next((large / "t").glob("*.parquet"))
    with pq.ParquetFile(file) as opened:
        assert opened.metadata.num_row_groups == 1, "or the test shows nothing"
    scan = sl.Table(large / "t").scan()
    stream = scan.stream(first_rows=6)
    assert next(stream).num_rows == 6
    stream.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("form", ["json", "csv"])
def test_all_rows_in_order(shredlake: Any, large: Path, form: str) -> None:
    ran = shredlake("query", str(large / "t"), "n", "-f", form)
    lines = ran.out.splitlines()
    if form == "csv":
        assert lines.pop(0) == '"n"'
        assert lines == [str(n) for n in range(60_000)]
    else:
        assert lines == [f'{{"n": {n}}}' for n in range(60_000)]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "csv"])
def test_who_reads_only_the_first_line_sees_no_error(large: Path, form: str) -> None:
    process = command("query", str(large / "t"), "-f", form, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["schema", "t"], ["stats", "t", "--json"], ["--help"], ["--version"]])
def test_a_closed_pipe_has_an_exit_code_of_its_own(lake: Path, arguments: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    process = command(*arguments, stdout=write, stderr=subprocess.PIPE, cwd=lake)
    os.close(write)
    _, err = process.communicate()
    assert (process.returncode, err) == (141, b"")


def test_limits(shredlake: Any, large: Path) -> None:
    table = str(large / "t")
    for rows in (0, 1, 5, 1024, 1025, 5000):
        assert len(shredlake("query", table, "n", "-f", "json", "-n", str(rows)).out.splitlines()) == rows
    drawn = shredlake("query", table, "n")
    assert len(drawn.out.splitlines()) == 20 + 4
    assert drawn.err == "Only the first 20 rows are shown. Use --limit to show more.\n"
    assert shredlake("query", table, "n", "-w", "n < 20").err == ""


def test_an_output_is_whole_or_not_there(shredlake: Any, lake: Path) -> None:
    kept = lake / "out.json"
    kept.write_text("before")
    assert shredlake("query", "t", "v:s::int AS x", "--strict", "-o", "out.json").code == 1
    assert kept.read_text() == "before"
    assert [path.name for path in lake.glob(".out*")] == []
