"""`shredlake check`, of files and of tables."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import url2pathname

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shredlake as sl
from command_line import invoke
from shredlake.cli.app import app


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    sl.write_parquet(pa.table({"v": sl.from_json(['{"a": 1}', '{"a": "x"}'])}), tmp_path / "ok.parquet")
    return tmp_path / "ok.parquet"


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A file that breaks three rules of schemas, and one of data in each of three rows."""
    pair = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    rows = pa.array([{"metadata": b"\x01\0\0", "value": b"\xff"}] * 3, pair)
    pq.write_table(pa.table({"v": rows}), tmp_path / "bad.parquet")
    return tmp_path / "bad.parquet"


def test_a_sound_file(sound: Path) -> None:
    assert invoke("check", str(sound)).stdout == "no violations\n"
    assert invoke("check", str(sound), "--json").stdout == ""


def test_violations_of_a_file(broken: Path) -> None:
    lines = invoke("check", str(broken), code=1).stdout.splitlines()
    assert lines[0] == "v, $: no VARIANT annotation [annotation]"
    assert [line.partition(":")[0] for line in lines if line.endswith("[malformed-value]")] == [
        f"v, row {row}, $" for row in range(3)
    ]
    assert "6 violations of 4 rules:" in lines
    counts = [line.split(":")[0].split() for line in lines[lines.index("6 violations of 4 rules:") + 1 :]]
    assert counts[0] == ["3", "malformed-value"], "the most frequent rule comes first"
    assert len(counts) == 4


def test_violations_as_json(broken: Path) -> None:
    found = [json.loads(line) for line in invoke("check", str(broken), "--json", code=1).stdout.splitlines()]
    assert [one["row"] for one in found] == [None, None, None, 0, 1, 2]
    assert {one["column"] for one in found} == {"v"}
    assert found[0]["rule"] == "annotation"


def test_json_says_beside_the_data_that_violations_are_left(broken: Path) -> None:
    run = invoke("check", str(broken), "--json", "--limit", "2", code=1)
    assert len(run.stdout.splitlines()) == 2
    assert run.stderr == "2 of 6 violations; --limit shows more\n"
    assert invoke("check", str(broken), "--json", "--limit", "6", code=1).stderr == ""


@pytest.mark.parametrize(("limit", "shown"), [(0, 0), (1, 1), (6, 6), (7, 6)])
def test_a_limit_is_one_of_lines_not_of_the_count(broken: Path, limit: int, shown: int) -> None:
    text = invoke("check", str(broken), "--limit", str(limit), code=1).stdout
    assert sum(line.startswith("v, ") for line in text.splitlines()) == shown
    assert (f"... and {6 - shown:,} more" in text) is (shown < 6)
    assert "6 violations of 4 rules:" in text
    lines = invoke("check", str(broken), "--limit", str(limit), "--json", code=1).stdout.splitlines()
    assert len(lines) == shown


def test_a_file_from_standard_input(broken: Path, sound: Path) -> None:
    for file, code in ((sound, 0), (broken, 1)):
        done = CliRunner().invoke(app, ["check", "-"], input=file.read_bytes())
        assert (done.exit_code, done.stdout) == (code, invoke("check", str(file), code=code).stdout)


def damaged(table: sl.Table) -> Path:
    """The path of the table, whose log has a wrong maximum of its first file."""
    place = Path(url2pathname(table.uri.removeprefix("file://")))
    commit = place / "_delta_log" / f"{1:020}.json"
    bound = '\\"maxValues\\":{\\"id\\":'
    commit.write_text(commit.read_text().replace(f"{bound}9", f"{bound}3"))
    return place


def test_a_table_is_checked_and_repaired(table: sl.Table) -> None:
    place = damaged(table)
    said = invoke("check", str(place), code=1).stdout
    assert "[statistics]" in said
    assert "1 finding of 1 rule:" in said
    report = json.loads(invoke("check", str(place), "--json", code=1).stdout)
    assert (report["ok"], [one["rule"] for one in report["findings"]]) == (False, ["statistics"])
    planned = invoke("check", str(place), "--repair", "--dry-run", code=1).stdout
    assert "would be repaired: " in planned
    assert "[statistics]" in invoke("check", str(place), code=1).stdout, "nothing was repaired yet"
    repaired = invoke("check", str(place), "--repair").stdout
    assert "\nrepaired: " in repaired
    assert repaired.endswith("nothing is wrong\n")
    assert invoke("check", str(place)).stdout.endswith("nothing is wrong\n")


def test_a_quick_check_reads_no_rows(table: sl.Table) -> None:
    assert "quick: no rows were read" in invoke("check", table.uri, "--quick").stdout
    assert json.loads(invoke("check", table.uri, "--quick", "--json").stdout)["quick"] is True
    assert "no rows were read" not in invoke("check", table.uri).stdout


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("table", ["--dry-run"], "--dry-run needs --repair"),
        ("file", ["--quick"], "--quick and --repair are for tables"),
        ("file", ["--repair"], "--quick and --repair are for tables"),
        ("table", ["--limit", "-1"], "expected 0 or more"),
    ],
)
def test_options_that_do_not_fit(
    table: sl.Table, sound: Path, target: str, options: list[str], message: str
) -> None:
    said = invoke("check", table.uri if target == "table" else str(sound), *options, code=2).stderr
    assert message in " ".join(said.split())


@pytest.mark.parametrize("width", [30, 60, 200])
def test_the_summary_fits_the_width(thirty: sl.Table, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    path = thirty.files().column("path").to_pylist()[0]
    (Path(thirty.uri.removeprefix("file://")) / path).unlink()
    text = invoke("check", thirty.uri, code=1).stdout
    summary = text.partition("1 finding of 1 rule:\n")[2].splitlines()
    assert all(len(line) <= width for line in summary)
    assert " ".join(" ".join(summary).split()) == "1 file-missing: Every file that the log names is there."
    assert all(line.startswith(" " * 12) for line in summary[1:]), "continued under the text"
