"""`schema`, `head`, `count`, `delete`, `restore`, options that verbs share, and what all verbs print."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.request import url2pathname

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from typer.testing import CliRunner

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, numbered, rows_of
from shredlake.cli import app as command_line
from shredlake.cli.app import VERBS, app
from shredlake.cli.verbs.describing import advise as advise_verb
from shredlake.cli.verbs.describing import history as history_verb
from shredlake.cli.verbs.describing import inspect as inspect_verb
from shredlake.cli.verbs.describing import report as report_verb
from shredlake.cli.verbs.describing import stats as stats_verb


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    made = sl.Table.create(tmp_path / "t", ID_AND_VARIANT, properties=SHREDDED)
    for start in (0, 10, 20):
        made.append(numbered(start, start + 10))
    return made


def run(*arguments: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


def test_count(table: sl.Table) -> None:
    assert run("count", table.uri).stdout == "30\n"
    assert run("count", table.uri, "-w", "v:a::bigint < 5").stdout == "5\n"
    assert json.loads(run("count", table.uri, "--json", "--version", "1").stdout) == {
        "version": 1,
        "rows": 10,
    }


def test_head(table: sl.Table) -> None:
    rows = run("head", table.uri, "id, v:a::bigint AS a", "-n", "2", "--json").stdout.splitlines()
    assert [json.loads(row) for row in rows] == [{"id": n, "a": n} for n in (20, 21)]
    assert run("head", table.uri).stdout.count("│ ") >= 5


def test_schema(table: sl.Table) -> None:
    facts = json.loads(run("schema", table.uri, "--json").stdout)
    assert [(one["name"], one["type"], one["typed_paths"]) for one in facts["columns"]] == [
        ("id", "bigint", 0),
        ("v", "variant", 2),
    ]
    text = run("schema", table.uri).stdout
    assert "struct<a bigint, s string>" in text
    assert "2 typed paths" in text


def test_delete_and_restore(table: sl.Table) -> None:
    assert "30 rows would be deleted" in run("delete", table.uri, "--all", "--dry-run").stdout
    assert "10 rows deleted: version 4" in run("delete", table.uri, "-w", "v:a::bigint >= 20").stdout
    assert "No row meets the condition" in run("delete", table.uri, "-w", "id = 99").stdout
    assert run("count", table.uri).stdout == "20\n"
    assert json.loads(run("restore", table.uri, "--version", "3", "--json").stdout) == {
        "version": 5,
        "restored": 3,
    }
    assert run("count", table.uri).stdout == "30\n"


def test_time_travel(table: sl.Table) -> None:
    moment = table.history()[1]["timestamp"].isoformat()
    assert run("count", table.uri, "--timestamp", moment).stdout == "20\n"
    assert "together" in run("count", table.uri, "--timestamp", moment, "--version", "1", code=2).output


@pytest.mark.parametrize("arguments", [[], ["--where", "id = 1", "--all"]])
def test_delete_wants_to_know_which_rows(table: sl.Table, arguments: list[str]) -> None:
    assert "--all" in run("delete", table.uri, *arguments, code=2).output


def test_restore_wants_one_version(table: sl.Table) -> None:
    run("restore", table.uri, code=2)


def test_storage_options(table: sl.Table) -> None:
    failed = run("count", table.uri, "--storage-option", "secretvalue", code=2)
    assert "KEY=VALUE" in failed.output
    assert "secretvalue" not in failed.output
    failed = run("count", "s3://bucket/t", "--storage-option", "no_such_option=hunter2", code=1)
    assert "hunter2" not in str(failed.exception)


def test_output_to_standard_output(table: sl.Table) -> None:
    text = run("query", table.uri, "id", "-o", "-", "--json", "-n", "1").stdout
    assert json.loads(text) == {"id": 20}
    data = run("query", table.uri, "id", "-f", "parquet", "-o", "-").stdout_bytes
    assert pq.read_table(io.BytesIO(data)).num_rows == 30
    page = run("report", table.uri, "--html", "-").stdout
    assert page.startswith("<!doctype html>")


def test_many_rows_are_drawn_as_they_come(table: sl.Table) -> None:
    table.append(rows_of(range(100, 2400), ({} for _ in range(2300))))
    text = run("query", table.uri, "id", "-n", "3000").stdout
    assert text.count("┃ ") == 3, "three headings"
    assert "2399" in text


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_prints_json_and_has_help(verb: str) -> None:
    text = run(verb, "-h").stdout
    assert "--json" in text
    assert "Usage: " in text


def names(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {name for key, item in value.items() if key not in FREE for name in names(item)}
    return {name for item in value for name in names(item)} if isinstance(value, list) else set()


FREE = {"parameters", "metrics", "types", "untouched", "others", "layouts", "paths"}
"""Objects whose keys are data, or names that Delta defines."""


@pytest.mark.parametrize(
    "arguments",
    [["report"], ["history"], ["stats"], ["schema"], ["count"], ["advise"], ["vacuum"], ["optimize"]],
    ids=lambda one: one[0],
)
def test_names_in_json_have_one_spelling(table: sl.Table, arguments: list[str]) -> None:
    lines = run(*arguments, table.uri, "--json").stdout.splitlines()
    found = set().union(*(names(json.loads(line)) for line in lines))
    assert found
    assert [name for name in found if name != name.lower() or " " in name] == []
    assert "uri" not in found, "the address of a table is called table"


@pytest.mark.parametrize("arguments", [["report"], ["schema"], ["check"]], ids=lambda one: one[0])
def test_the_address_of_a_table_is_called_table(table: sl.Table, arguments: list[str]) -> None:
    assert json.loads(run(*arguments, table.uri, "--json").stdout)["table"] == table.uri


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


def test_hints(table: sl.Table) -> None:
    said = run("query", table.uri, "v:ss::string").stderr
    assert said.startswith("hint: no file has v:ss; did you mean v:s?\n")
    assert "hint" not in run("query", table.uri, "v:s::string", "-w", "v:a::int > 99").stderr
    for name, meant in (
        ("kind", "v:kind::string"),
        ("v.kind", "v:kind::string"),
        ("idd", "Did you mean id?"),
    ):
        assert meant in str(run("query", table.uri, name, code=1).exception)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_nothing_that_matters_is_cut(table: sl.Table, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table.delete("v:a::bigint = 3")

    def narrow(*, stderr: bool = False, width: int = width) -> Console:
        return Console(width=chosen, color_system=None)

    chosen = width
    for module in (advise_verb, history_verb, inspect_verb, report_verb, stats_verb):
        monkeypatch.setattr(module, "screen", narrow)
    file = str(next(Path(url2pathname(table.uri.removeprefix("file://"))).glob("*.parquet")))
    for verb, source, wanted in (
        ("history", table.uri, ["DELETE", "v:a::bigint = 3"]),
        ("report", table.uri, ["bigint", "files per value"]),
        ("inspect", file, ["['a']", "bigint", "fill", "bytes", "of file"]),
        ("stats", table.uri, ["v:a", "bigint", "files per value"]),
        ("advise", table.uri, ["a", "bigint", "100.0%", "because"]),
    ):
        text = run(verb, source).stdout
        assert "…" not in text
        assert all(part in " ".join(text.split()) for part in wanted), text
        if verb in ("history", "inspect", "stats"):  # the others end with a command or schema to copy
            assert max(map(len, text.splitlines())) <= width


def test_summaries_of_verbs_are_never_cut() -> None:
    for width in ("60", "80", "200"):
        text = CliRunner().invoke(app, ["-h"], env={"COLUMNS": width, "TERMINAL_WIDTH": width}).stdout
        assert all(summary in " ".join(text.split()) for _, summary in VERBS.values())


def test_every_verb_has_json_and_help() -> None:
    for verb in VERBS:
        options = {option for parameter in command_line.load(verb).params for option in parameter.opts}
        assert "--json" in options, verb
        assert f" {verb} [OPTIONS]" in run(verb, "-h").stdout, verb


@pytest.mark.parametrize("verb", VERBS)
def test_help_names_types_in_words(verb: str) -> None:
    text = run(verb, "-h").stdout
    assert not re.search(r"<list\[|<str>|<(int|float)[ >]|[{]uri[}]", text)
    for parameter in command_line.load(verb).params:
        assert parameter.name != "uri", "a table is called table"


def test_head_writes_to_a_file(table: sl.Table, tmp_path: Path) -> None:
    run("head", table.uri, "id", "-n", "3", "--output", str(tmp_path / "rows.csv"))
    assert (tmp_path / "rows.csv").read_text().splitlines() == ['"id"', "20", "21", "22"]


def test_addresses_that_no_store_has(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text("{}\n")
    for verb in (["count"], ["inspect"], ["check"], ["advise"], ["ingest", str(tmp_path / "a.ndjson")]):
        said = str(run(*verb, "ftp://host/t", code=1).exception)
        assert "ftp:// is not supported; name a local path or an address with s3://" in said
        assert "Generic" not in str(run(*verb, "s3://", code=1).exception)
    assert "names no bucket or host" in str(run("count", "s3://", code=1).exception)


def test_draft_files_through_pipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = tmp_path / "draft.parquet"
    sl.write_draft(pa.table({"v": sl.from_json(['{"a": 1}', '{"a": 2}'])}), draft, {"v": "struct<a bigint>"})
    sent = CliRunner().invoke(app, ["migrate", "-", "-"], input=draft.read_bytes())
    assert sent.exit_code == 0, sent.output
    (tmp_path / "new.parquet").write_bytes(sent.stdout_bytes)
    assert sl.check(tmp_path / "new.parquet") == []
    assert sl.to_json(sl.read_parquet(tmp_path / "new.parquet")["v"]).to_pylist() == ['{"a":1}', '{"a":2}']
    said = CliRunner().invoke(app, ["migrate", "-", str(tmp_path / "file.parquet")], input=draft.read_bytes())
    assert "2 rows" in said.stdout


def test_no_colours_when_not_wanted(table: sl.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[3" not in run("report", table.uri).stdout


def test_completion_knows_verbs_and_their_options() -> None:
    for line, wanted in (("shredlake hea", "head"), ("shredlake count --whe", "--where")):
        words = line.split()
        environment = {
            "_SHREDLAKE_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        }
        result = CliRunner().invoke(app, [], env=environment, prog_name="shredlake")
        assert wanted in result.output.split(), os.fspath(command_line.__file__)


def test_log_level(table: sl.Table) -> None:
    assert run("--log-level", "debug", "count", table.uri).stdout == "30\n"
    assert "--log-level" in run("--log-level", "loud", "count", table.uri, code=2).output
