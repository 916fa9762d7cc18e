"""All verbs share formats, widths, the spelling of names, and the wording of messages."""

from __future__ import annotations

import io
import json
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.request import url2pathname

import pyarrow.parquet as pq
import pytest
from rich.console import Console

import shredlake as sl
from command_line import command
from command_line import invoke as run
from delta_tables import rows_of
from shredlake.cli import app as command_line
from shredlake.cli.app import VERBS
from shredlake.cli.verbs.describing import advise as advise_verb
from shredlake.cli.verbs.describing import history as history_verb
from shredlake.cli.verbs.describing import inspect as inspect_verb
from shredlake.cli.verbs.describing import report as report_verb
from shredlake.cli.verbs.describing import stats as stats_verb


def test_output_to_standard_output(thirty: sl.Table) -> None:
    text = run("query", thirty.uri, "id", "-o", "-", "--json", "-n", "1").stdout
    assert json.loads(text) == {"id": 20}
    data = run("query", thirty.uri, "id", "-f", "parquet", "-o", "-").stdout_bytes
    assert pq.read_table(io.BytesIO(data)).num_rows == 30
    page = run("report", thirty.uri, "--html", "-").stdout
    assert page.startswith("<!doctype html>")


def test_many_rows_are_drawn_as_they_come(thirty: sl.Table) -> None:
    thirty.append(rows_of(range(100, 2400), ({} for _ in range(2300))))
    text = run("query", thirty.uri, "id", "-n", "3000").stdout
    assert text.count("┃ ") == 3, "three headings"
    assert "2399" in text


def names(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {name for key, item in value.items() if key not in FREE for name in names(item)}
    return {name for item in value for name in names(item)} if isinstance(value, list) else set()


FREE = {"parameters", "metrics", "types", "untouched", "others", "layouts", "paths"}
"""Objects whose keys are data, or names that Delta defines."""
OTHER_SPELLINGS = {
    "uri": "table", "address": "table", "num_rows": "rows", "row_count": "rows", "num_files": "files",
    "num_row_groups": "row_groups", "size": "bytes", "compressed_size": "bytes", "size_in_bytes": "bytes",
}  # fmt: skip
"""Names of other tools and formats, and how ours are spelled."""


@pytest.mark.parametrize(
    "arguments",
    [
        ["report"],
        ["history"],
        ["stats"],
        ["schema"],
        ["count"],
        ["advise"],
        ["vacuum"],
        ["optimize"],
        ["check"],
        ["drift"],
        ["inspect"],
    ],
    ids=lambda one: one[0],
)
def test_names_in_json_have_one_spelling(thirty: sl.Table, arguments: list[str]) -> None:
    file = f"{thirty.uri.removeprefix('file://')}/{thirty.files()['path'][0]}"
    target = file if arguments == ["inspect"] else thirty.uri
    lines = run(*arguments, target, "--json").stdout.splitlines()
    found = set().union(*(names(json.loads(line)) for line in lines))
    assert found or arguments == ["drift"]
    assert [name for name in found if name != name.lower() or " " in name] == []
    assert {name: OTHER_SPELLINGS[name] for name in found & set(OTHER_SPELLINGS)} == {}


@pytest.mark.parametrize("arguments", [["report"], ["schema"], ["check"]], ids=lambda one: one[0])
def test_the_address_of_a_table_is_called_table(thirty: sl.Table, arguments: list[str]) -> None:
    assert json.loads(run(*arguments, thirty.uri, "--json").stdout)["table"] == thirty.uri


def test_booleans_and_bytes_are_readable(tmp_path: Path) -> None:
    bad = tmp_path / "bad.ndjson"
    bad.write_bytes(b'{"a": true}\n{"a": "cut\n\xff\n')
    said = run("ingest", str(bad), str(tmp_path / "t"), "--max-rejects", "5", "--engine", "local").stdout
    assert "the document is truncated" in said
    assert 'first bad.ndjson, line 2: {"a": "cut' in said
    assert "true" in run("query", str(tmp_path / "t"), "v:a::boolean").stdout
    text = run("query", str(tmp_path / "t_rejects"), "raw").stdout
    assert '{"a": "cut' in text
    assert "\\xff" in text
    facts = json.loads(
        run(
            "ingest", str(bad), str(tmp_path / "u"), "--max-rejects", "5", "--engine", "local", "--json"
        ).stdout
    )
    assert (facts["rows"], facts["rejects"], len(facts["reasons"])) == (1, 2, 2)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_nothing_that_matters_is_cut(thirty: sl.Table, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    thirty.delete("v:a::bigint = 3")

    def narrow(*, stderr: bool = False, width: int = width) -> Console:
        return Console(width=chosen, color_system=None)

    chosen = width
    for module in (advise_verb, history_verb, inspect_verb, report_verb, stats_verb):
        monkeypatch.setattr(module, "screen", narrow)
    file = str(next(Path(url2pathname(thirty.uri.removeprefix("file://"))).glob("*.parquet")))
    for verb, source, wanted in (
        ("history", thirty.uri, ["DELETE", "v:a::bigint = 3"]),
        ("report", thirty.uri, ["bigint", "files per value"]),
        ("inspect", file, ["['a']", "bigint", "fill", "bytes", "of file"]),
        ("stats", thirty.uri, ["v:a", "bigint", "files per value"]),
        ("advise", thirty.uri, ["a", "bigint", "100.0%", "because"]),
    ):
        text = run(verb, source).stdout
        assert "…" not in text
        assert all(part in " ".join(text.split()) for part in wanted), text
        if verb in ("history", "inspect", "stats"):  # the others end with a command or schema to copy
            assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("verb", VERBS)
def test_help_names_types_in_words(verb: str) -> None:
    text = run(verb, "-h").stdout
    assert not re.search(r"<list\[|<str>|<(int|float)[ >]|[{]uri[}]", text)
    for parameter in command_line.load(verb).params:
        assert parameter.name != "uri", "a table is called table"


def test_addresses_that_no_store_has(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text("{}\n")
    for verb in (["count"], ["inspect"], ["check"], ["advise"], ["ingest", str(tmp_path / "a.ndjson")]):
        said = str(run(*verb, "ftp://host/t", code=1).exception)
        assert "ftp:// is not supported; name a local path or an address with s3://" in said
        assert "Generic" not in str(run(*verb, "s3://", code=1).exception)
    assert "names no bucket or host" in str(run("count", "s3://", code=1).exception)


def test_no_colours_when_not_wanted(thirty: sl.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[3" not in run("report", thirty.uri).stdout


def test_the_log_goes_to_standard_error(tmp_path: Path) -> None:
    (tmp_path / "one.ndjson").write_text('{"a": 1}\n')
    process = command(
        *("--log-level", "info", "ingest", str(tmp_path / "one.ndjson"), str(tmp_path / "t"), "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, err = process.communicate()
    assert json.loads(out)["rows"] == 1
    assert b" INFO shredlake.jobs.ingest.ingest: " in err
    assert b"1 row more in 1 file from text; rejected: 0 documents" in err
    assert b"from 1 place in 1 file" in err
