"""How the command line behaves: errors are one line, data is never interpreted, output goes where asked."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.cli import failures
from shredlake.cli.app import main
from shredlake.cli.messages import escaped_json
from shredlake.cli.rows import format_of
from shredlake.formatting import escaped
from waiting import wait_until

EVIL = "\x1b]0;evil\x07\x9b31m\u202e"
"""Sets a terminal's title, its colour, and the direction of the text."""


class Ran:
    """The outcome of a run of the command line: exit code, standard output, standard error."""

    def __init__(self, code: Any, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def shredlake(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any, tmp_path: Path) -> Any:
    """Runs the command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Ran:
        capsysbinary.readouterr()
        monkeypatch.setattr("sys.argv", ["shredlake", *arguments])
        code: Any = 0
        try:
            main()
        except SystemExit as left:
            code = left.code or 0
        out, err = capsysbinary.readouterr()
        return Ran(code, out.decode(), err.decode())

    return run


def documents(path: Path, *texts: str) -> Path:
    path.write_text("".join(text + "\n" for text in texts))
    return path


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A folder with a table `t` and the file `ok.ndjson` that it was made of."""
    documents(tmp_path / "ok.ndjson", '{"seq": 1, "s": "a"}', '{"seq": 2, "s": "b"}')
    table = sl.Table.create(tmp_path / "t", pa.schema([("v", sl.variant())]))
    texts = (tmp_path / "ok.ndjson").read_text().splitlines()
    table.append(pa.table({"v": sl.from_json(pa.array(texts))}))
    (tmp_path / "empty").mkdir()
    return tmp_path


def command(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "shredlake", *arguments], **options)


# ── Errors ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("query ok.ndjson", "ok.ndjson is a file, not a table; use ingest or advise"),
        ("history ok.ndjson", "is a file, not a table"),
        ("stats ok.ndjson", "is a file, not a table"),
        ("report ok.ndjson", "is a file, not a table"),
        ("vacuum ok.ndjson", "is a file, not a table"),
        ("optimize ok.ndjson", "is a file, not a table"),
        ("ingest ok.ndjson ok.ndjson", "ok.ndjson is a file; name the folder of a table"),
        ("ingest ok.ndjson u --format delta", "is a file, not a table"),
        ("ingest ok.ndjson u --format parquet", "ok.ndjson can't be read as parquet"),
        ("ingest ok.ndjson .", "is not a table and not empty: it holds 'ok.ndjson'. Choose an empty folder"),
        ("ingest nowhere u", "nothing to ingest at nowhere"),
        ("inspect t", "t is a Delta table, not a Parquet file; name one of its files, such as t/part-"),
        ("check empty", "empty is not a Delta table: there is no _delta_log with a commit"),
        ("inspect empty", "empty is a folder, not a Parquet file; it has no Parquet files"),
        ("inspect .", "is a folder, not a Parquet file"),
        ("check nowhere.parquet", "nowhere.parquet can't be opened"),
        ("query t -o nowhere/x.csv", "nowhere/x.csv: there is no folder nowhere; create it first"),
        ("query t -o empty", "empty is a folder; name a file in it"),
        ("query t -o x.xlsx", "unknown format '.xlsx'; name it with --format"),
        ("query t -f parquet", "name it with --output FILE"),
        ("query t v:a.id,v:id", "two columns are named 'id'. Rename one with AS"),
        ("query t --version 7", "has no version 7"),
        ("query t v:seq:: ", "^"),
        ("query t --where v:seq>", "at character"),
        ("query t --where v:seq::bigint", ""),
        ("query t v:s::int --strict -f json", "without --strict it is null"),
        ("vacuum t --retention-hours 0", "Pass --force if no one else uses the table"),
        ("advise nowhere", "nowhere does not exist"),
        ("migrate ok.ndjson t/part.parquet", "ok.ndjson is not a Parquet file"),
    ],
)
def test_an_error_is_one_line(shredlake: Any, lake: Path, arguments: str, said: str) -> None:
    ran = shredlake(*arguments.split())
    assert ran.code == 1, ran.out
    assert ran.out == ""
    assert ran.err.startswith("shredlake: ")
    assert ran.err.count("\n") == 1, ran.err
    assert "Traceback" not in ran.err
    if said != "^":
        assert said in ran.err
    assert not re.search(r"enforce_retention|force=True|strict=True", ran.err), "names of Python"


@pytest.mark.parametrize(
    "arguments",
    [
        ["query", "t", "--limit", "-3"],
        ["query", "t", "--version", "-1"],
        ["query", "t", "--format", "xml"],
        ["query"],
        ["nothing"],
        ["vacuum", "t", "--retention-hours", "-5"],
        ["vacuum", "t", "--retention-hours", "nan"],
        ["history", "t", "--limit", "-1"],
        ["stats", "t", "--bars", "0"],
        ["check", "x.parquet", "--limit", "-1"],
        ["advise", "t", "--column", ""],
        ["advise", "t", "--max-leaves", "0"],
        ["ingest", "ok.ndjson"],
        ["ingest", "ok.ndjson", "u", "--column", " "],
        ["ingest", "ok.ndjson", "u", "--file-size", "-1"],
        ["ingest", "ok.ndjson", "u", "--max-rejects", "150%"],
        ["ingest", "ok.ndjson", "u", "--max-rejects", "nan%"],
        ["ingest", "ok.ndjson", "u", "--max-rejects", "-1"],
        ["ingest", "ok.ndjson", "u", "--with", "day"],
        ["optimize", "t", "--file-size", "0"],
        ["optimize", "t", "--column", ""],
        ["migrate", "a", "b", "--table", "--unshred"],
        ["demo", "--events", "-5"],
        ["demo", "--events", "0"],
        ["demo", "--engine", "foo"],
    ],
)
def test_options_that_make_no_sense_are_wrong_usage(shredlake: Any, lake: Path, arguments: list[str]) -> None:
    ran = shredlake(*arguments)
    assert ran.code == 2, ran.err
    assert "Usage: shredlake" in ran.err
    assert not (lake / "u").exists()


def test_a_folder_that_can_not_be_written(shredlake: Any, lake: Path) -> None:
    closed = lake / "closed"
    closed.mkdir(mode=0o555)
    if os.access(closed, os.W_OK):
        pytest.skip("this user may write everywhere")
    for arguments in (["query", "t", "-o", "closed/x.csv"], ["ingest", "ok.ndjson", "closed/t"]):
        ran = shredlake(*arguments)
        assert (ran.code, ran.err.count("\n")) == (1, 1)
        assert "ermission denied" in ran.err


def test_unexpected_errors_say_how_to_see_more(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise KeyError(f"slot0 {EVIL}")

    with pytest.raises(SystemExit) as left:
        failures.run(fail)
    said = capsys.readouterr().err
    assert left.value.code == 3
    assert said.startswith("shredlake: unexpected error: KeyError: ")
    log = Path(said.rstrip("\n").rpartition(" The log is ")[2])
    assert "Traceback (most recent call last)" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0
    log.unlink()
    assert "\x1b" not in said
    monkeypatch.setenv("SHREDLAKE_DEBUG", "1")
    with pytest.raises(SystemExit):
        failures.run(fail)
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (sl.InvalidPath("no key", path="$.a..b", position=4), "no key, at character 5 of '$.a..b'"),
        (PermissionError(13, "Permission denied", "/x/y"), "/x/y: permission denied"),
        (OSError(28, "No space left on device"), "no space left on device"),
        (MemoryError(), "out of memory"),
        (sl.TableError("first\n   second\n"), "first second"),
    ],
)
def test_errors_as_one_line(error: BaseException, line: str) -> None:
    assert failures.expected(error) == line


# ── Markup and control characters ───────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose names and values are markup and control sequences."""
    tmp_path = tmp_path_factory.mktemp("hostile")
    name = f"[/x]{EVIL}"
    rows = [json.dumps({"id": n, name: f"[bold]{EVIL}{n}", "[red]": ":smile:"}) for n in range(30)]
    documents(tmp_path / "in.ndjson", *rows)
    schema = pa.schema([("v", sl.variant()), ("s", pa.string())])
    table = sl.Table.create(tmp_path / "t", schema, properties={"delta.enableVariantShredding": "true"})
    table.append(pa.table({"v": sl.from_json(pa.array(rows)), "s": [f"[/x]{EVIL}"] * 30}))
    table.delete(f"s = 'a{EVIL}'")
    table.append(pa.table({"v": sl.from_json(pa.array(rows)), "s": ["a"] * 30}))
    table.delete(f"s = 'a' or s = '{EVIL}'")
    return tmp_path


VERBS = [
    ["query", "t"],
    ["query", "t", "-f", "json"],
    ["query", "t", "-f", "csv"],
    ["history", "t"],
    ["history", "t", "--json"],
    ["stats", "t"],
    ["stats", "t", "--json"],
    ["report", "t"],
    ["report", "t", "--json"],
    ["advise", "in.ndjson"],
    ["advise", "in.ndjson", "--json"],
    ["inspect", "FILE"],
    ["inspect", "FILE", "--json"],
    ["check", "FILE"],
    ["check", "t"],
    ["check", "t", "--json"],
    ["vacuum", "t"],
    ["query", f"no{EVIL}where"],
    ["query", "t", f"`[/x]{EVIL}`"],
    ["stats", "t", "--path", EVIL],
    ["ingest", "in.ndjson", "u", "--engine", "local"],
    ["migrate", "t", "plain", "--unshred", "--engine", "local"],
]


def a_file(root: Path) -> str:
    return str(next((root / "t").glob("*.parquet")))


@pytest.mark.parametrize("arguments", VERBS, ids=" ".join)
def test_markup_in_data_is_text(
    shredlake: Any, hostile: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile)
    ran = shredlake(*[a_file(hostile) if one == "FILE" else one for one in arguments])
    assert "unexpected error" not in ran.err
    assert ran.code in (0, 1)
    if arguments[0] in ("ingest", "report", "advise") and "--json" not in arguments:
        assert ran.code == 0
        assert "[/x]" in ran.out


def test_data_in_a_pipe_is_exact(shredlake: Any, hostile: Path) -> None:
    table = str(hostile / "t")
    out = shredlake("query", table, "s", "-f", "csv").out
    assert f"[/x]{EVIL}" in out
    line = json.loads(shredlake("query", table, "s, v", "-f", "json", "-n", "1").out)
    assert line["s"] == f"[/x]{EVIL}"
    assert line["v"][f"[/x]{EVIL}"] == f"[bold]{EVIL}0"


@pytest.mark.slow
def test_no_control_character_of_the_data_reaches_a_terminal(hostile: Path) -> None:
    """All verbs in one process whose output and errors are a terminal."""
    verbs = [[a_file(hostile) if one == "FILE" else one for one in verb] for verb in VERBS]
    script = (
        "import sys\nfrom shredlake.cli.app import main\n"
        "assert sys.stdout.isatty() and sys.stderr.isatty()\n"
        f"for verb in {verbs!r}:\n"
        "    sys.argv = ['shredlake', *verb]\n"
        "    try:\n        main()\n    except SystemExit:\n        pass\n"
        "print('done')\n"
    )
    own, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=theirs, stdout=theirs, stderr=theirs, cwd=hostile
    )
    os.close(theirs)
    seen = io.BytesIO()
    while True:
        try:
            data = os.read(own, 1 << 16)
        except OSError:
            break
        if not data:
            break
        seen.write(data)
    os.close(own)
    assert process.wait() == 0
    text = seen.getvalue().decode()
    assert "done" in text
    assert "Traceback" not in text
    for character in ("\x1b]", "\x07", "\x9b", "\u202e"):
        assert character not in text, repr(character)
    assert "\\x1b]0;evil\\x07" in text, "shown escaped"
    assert "\\u001b]0;evil\\u0007" in text, "in JSON as JSON escapes it"


def test_escapes() -> None:
    assert escaped("tab\there\x1b[0m\x7f\u2066") == "tab\\there\\x1b[0m\\x7f\\u2066"
    assert json.loads(escaped_json('"\x7f\u202e"')) == "\x7f\u202e"
    assert escaped("é 😀 漢") == "é 😀 漢"


# ── Streamed rows ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 60,000 rows in one file."""
    root = tmp_path_factory.mktemp("large")
    texts = pa.array([json.dumps({"n": n, "text": f"row {n} " + "x" * 200}) for n in range(60_000)])
    table = sl.Table.create(root / "t", pa.schema([("n", pa.int64()), ("v", sl.variant())]))
    table.append(pa.table({"n": range(60_000), "v": sl.from_json(texts)}))
    return root


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
    assert process.wait() in (0, 1)


def test_limits(shredlake: Any, large: Path) -> None:
    table = str(large / "t")
    for rows in (0, 1, 5, 1024, 1025, 5000):
        assert len(shredlake("query", table, "n", "-f", "json", "-n", str(rows)).out.splitlines()) == rows
    drawn = shredlake("query", table, "n")
    assert len(drawn.out.splitlines()) == 20 + 4
    assert drawn.err == "Only the first 20 rows are shown. Use --limit to show more.\n"
    assert shredlake("query", table, "n", "-w", "n < 20").err == ""


# ── Where output goes, where input comes from ───────────────────────────────────────────────────────────


def test_the_format_follows_the_suffix(shredlake: Any, lake: Path) -> None:
    for name in ("out.parquet", "out.csv", "out.json", "out.ndjson", "out.txt", "out"):
        assert shredlake("query", "t", "v:seq::int AS n", "-o", name).code == 0
    assert pq.read_table("out.parquet")["n"].to_pylist() == [1, 2]
    assert Path("out.csv").read_text() == '"n"\n1\n2\n'
    assert Path("out.json").read_text() == Path("out.ndjson").read_text() == '{"n": 1}\n{"n": 2}\n'
    assert Path("out.txt").read_text() == Path("out").read_text()
    assert "┃" in Path("out").read_text()
    assert format_of("json", "out.parquet") == "json", "what is asked for goes before the name"


def test_an_output_is_whole_or_not_there(shredlake: Any, lake: Path) -> None:
    kept = lake / "out.json"
    kept.write_text("before")
    assert shredlake("query", "t", "v:s::int AS x", "--strict", "-o", "out.json").code == 1
    assert kept.read_text() == "before"
    assert [path.name for path in lake.glob(".out*")] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_ingested(lake: Path, name: str) -> None:
    process = command(
        "ingest", name, "u", "--engine", "local", cwd=lake, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    process.communicate((lake / "ok.ndjson").read_bytes())
    assert process.returncode == 0
    assert sl.Table(lake / "u").scan().count() == 2


def test_pipes_by_name(shredlake: Any, lake: Path) -> None:
    os.mkfifo(lake / "pipe")
    file = next((lake / "t").glob("*.parquet"))
    for verb, data in (("advise", (lake / "ok.ndjson").read_bytes()), ("check", file.read_bytes())):
        feeder = threading.Thread(target=(lake / "pipe").write_bytes, args=(data,))
        feeder.start()
        ran = shredlake(verb, "pipe")
        feeder.join()
        assert ran.code == 0, ran.err


def test_ingest_beside_other_files_is_forced(shredlake: Any, lake: Path) -> None:
    assert shredlake("ingest", "ok.ndjson", ".", "--engine", "local").code == 1
    assert not (lake / "_delta_log").exists()
    assert shredlake("ingest", "ok.ndjson", ".", "--engine", "local", "--force").code == 0
    assert (lake / "_delta_log").exists()


def test_vacuum_says_what_it_leaves(shredlake: Any, lake: Path) -> None:
    (lake / "t" / "raw.ndjson").write_text("{}\n")
    (lake / "t" / "link").symlink_to(lake)
    ran = shredlake("vacuum", "t")
    assert ran.err.splitlines() == [
        "0 files would be deleted. Run again with --delete to delete them.",
        "Not deleted: 1 file not written by a Delta writer, such as raw.ndjson",
        "Not deleted: 1 symbolic link, such as link",
    ]
    assert json.loads(shredlake("vacuum", "t", "--json").out)["left"] == {
        "foreign": ["raw.ndjson"],
        "links": ["link"],
    }


# ── Ctrl-C ──────────────────────────────────────────────────────────────────────────────────────────────


def test_ctrl_c_while_the_library_is_loaded() -> None:
    script = (
        "import os, signal, threading\nfrom shredlake.__main__ import main\n"
        "threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "main()\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, "query", "nowhere"], capture_output=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, b"", b"shredlake: interrupted\n")


@pytest.mark.slow
def test_an_interrupted_query_ends_with_one_line(large: Path) -> None:
    process = command("query", str(large / "t"), "-f", "json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline(), "it is under way, and waits for its reader"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err) == (130, b"shredlake: interrupted\n")


@pytest.mark.slow
def test_an_interrupted_ingest_commits_nothing(tmp_path: Path) -> None:
    source = documents(tmp_path / "a.ndjson", *(json.dumps({"n": n, "t": "x" * 500}) for n in range(60_000)))
    process = command("ingest", str(source), str(tmp_path / "t"), "--engine", "local", stderr=subprocess.PIPE)
    wait_until(lambda: (tmp_path / "t").exists() or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    if process.returncode == 0:
        pytest.skip("it was done before")
    assert (process.returncode, err) == (130, b"shredlake: interrupted\n")
    assert not list(tmp_path.glob("t/_delta_log/*.json"))
