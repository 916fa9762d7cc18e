"""Data is never interpreted, neither as markup nor by a terminal."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from command_line import EVIL, documents
from command_line import invoke as run
from shredlake.cli import app


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
    texts = sl.Table.create(tmp_path / "c", pa.schema([("s", pa.string())]))
    texts.append(pa.table({"s": [*rows, f"[/x]{EVIL}"]}))
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
    ["count", "t", "--where", f"s = '[/x]{EVIL}'"],
    ["count", "t", "--where", f"`[/x]{EVIL}` = 1"],
    ["head", "t"],
    ["head", "t", "-f", "json"],
    ["head", "t", f"v:['[/x]{EVIL}']::string AS `{EVIL}`"],
    ["schema", "t"],
    ["schema", "t", "--json"],
    ["sql", "select * from t", "-t", "t=t"],
    ["sql", f'select s AS "[/x]{EVIL}" from t', "-t", "t=t", "-f", "json"],
    ["sql", f"select '{EVIL}' || nothing from t", "-t", "t=t"],
    ["sql", f"select s from t where s = '{EVIL}'", "-t", "t=t", "--explain"],
    ["views", "t"],
    ["views", "t", "-d", "duckdb", "--name", f"[/x]{EVIL}"],
    ["views", "t", "--json"],
    ["drift", "t"],
    ["drift", "t", "--json"],
    ["drift", "t", "--read"],
    ["doctor", "t", "--rules-only"],
    ["doctor", "t", "--rules-only", "--json"],
    ["doctor", f"[/x]{EVIL}", "--rules-only"],
    ["delete", "t", "--where", f"s = '[/x]{EVIL}' and s is null"],
    ["delete", "t", "--where", f"`[/x]{EVIL}` = 1"],
    ["optimize", "t", "--engine", "local", "--sort-by", f"v:['[/x]{EVIL}']::string"],
    ["optimize", "t", "--engine", "local", "--where", f"`{EVIL}`"],
    ["restore", "t", "--version", "1"],
    ["restore", "t", "--timestamp", EVIL],
    ["convert", "c", "-c", "s", "--engine", "local", "--rejects", f"rejects{EVIL}"],
    ["convert", "c", "-c", f"[/x]{EVIL}", "--engine", "local"],
    ["demo", "--events", EVIL],
]


def test_every_verb_is_tried() -> None:
    assert {arguments[0] for arguments in VERBS} == set(app.VERBS)


def a_file(root: Path) -> str:
    return str(next((root / "t").glob("*.parquet")))


@pytest.mark.parametrize("arguments", VERBS, ids=" ".join)
def test_markup_in_data_is_text(
    shredlake: Any, hostile: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile)
    ran = shredlake(*[a_file(hostile) if one == "FILE" else one for one in arguments])
    assert "unexpected error" not in ran.err
    assert ran.code in ((2,) if arguments[0] == "demo" else (0, 1))
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


def test_lines_in_a_pipe_end_without_blanks(tmp_path: Path) -> None:
    documents(tmp_path / "in.ndjson", '{"id": 1, "city": "Rome"}', '{"id": 2, "city": "Ravenna"}', '{"id":')
    ran = [
        run("ingest", str(tmp_path / "in.ndjson"), str(tmp_path / "t")),
        *(run(verb, str(tmp_path / "t")) for verb in ("schema", "history", "stats", "report", "advise")),
    ]
    for lines in (one.stdout.splitlines() for one in ran):
        assert lines
        assert [line for line in lines if line != line.rstrip()] == []
