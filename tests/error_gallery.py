"""Generates docs/error-gallery.md: runs each mistake and writes down its message.

Run `python tests/error_gallery.py` to rewrite the page; a test compares it.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

import shredlake as sl
from shredlake.cli.app import main

PAGE = Path(__file__).parents[1] / "docs" / "error-gallery.md"

COMMANDS = {
    "Which table?": [
        "query nowhere",
        "query ok.ndjson",
        "query f.parquet",
        "query empty",
        "history other",
        "count t --version 99",
        "count t --version -1",
        "count t --timestamp yesterday",
        "count t --timestamp 1999-01-01",
        "count t --version 1 --timestamp 2026-01-01",
        "head s3://",
        "head ftp://host/t",
        "count t --storage-option region",
        "schema damaged",
        "schema truncated",
        "schema future",
        "head lost",
    ],
    "Which column or path?": [
        "query t kind",
        "query t v.kind",
        "query t idd",
        "query t v:kund::string -n 1",
        "query t v:kind::strng",
        "query t v:kind::string,",
        "query t v:a.b,v:c.b",
        "query t v:kind::decimal(99,1)",
        "query t v:[",
        "query t v:kind:string",
        "query t \"v->>'kind'\"",
        "query t v:kind AS k",
        "query t 'select id from t'",
        "query t v:kind[",
        "query t 'count(*)'",
        "query t 'sum(id)'",
        "query t 'nofunction(id)'",
        "stats t --path v:nothing",
        "advise t --column id",
        "advise t --column ''",
        "advise two",
    ],
    "Which condition?": [
        "query t -w 'id >'",
        "query t -w 'id = = 1'",
        "query t -w v:kind",
        "query t -w v:kind::string",
        "query t -w id",
        "query t -w \"id = 'one'\"",
        "query t -w 'v = 1'",
        "query t -w 'id = 1; drop table t'",
        "query t -w 'id in (select 1)'",
        "query t -w \"kind = 'a'\"",
        "query t v:kind::int --strict --json",
        "delete t",
        "delete t --all --where 'id = 1'",
        "delete t -w 'nope = 1'",
    ],
    "Where to?": [
        "query t -o nowhere/x.csv",
        "query t -o empty",
        "query t -o x.xlsx",
        "query t -f parquet",
        "query t -f xml",
        "query t --json -f csv",
        "report t --html nowhere/report.html",
        "report t --html empty",
        "inspect f.parquet --html nowhere/f.html",
    ],
    "Loading": [
        "ingest ok.ndjson",
        "ingest nowhere.ndjson u",
        "ingest empty u",
        "ingest ok.ndjson ok.ndjson",
        "ingest ok.ndjson other",
        "ingest bad.ndjson u --max-rejects 1",
        "ingest bad.ndjson u --max-rejects many",
        "ingest bad.ndjson u --max-rejects 150%",
        "ingest table.csv u",
        "ingest f.parquet u",
        "ingest utf16.ndjson u",
        "ingest ok.ndjson u --shredding 'struct<a bigint'",
        "ingest ok.ndjson u --shredding 'struct<a number>'",
        "ingest ok.ndjson u --with day",
        "ingest ok.ndjson u --with 'day: v:ts::dat'",
        "ingest ok.ndjson u --partition-by day",
        "ingest ok.ndjson u --sort-by 'v:id::'",
        "ingest ok.ndjson u --sort-by id",
        "ingest ok.ndjson u --bloom-filter nope",
        "ingest ok.ndjson u --partition-by v:id",
        "ingest twice.ndjson u",
        "ingest truncated.ndjson.gz u",
        "ingest ok.ndjson u --rejects u",
        "ingest ok.ndjson t --column w",
        "ingest ok.ndjson t --partition-by id",
        "ingest ok.ndjson u --file-size 0",
        "ingest ok.ndjson u --format delta",
        "ingest ok.ndjson u --format parquet",
        "migrate ok.ndjson u.parquet",
        "migrate empty u",
        "migrate f.parquet u --table --unshred",
    ],
    "SQL": [
        "sql 'selct 1'",
        "sql \"select kind from 't'\"",
        "sql \"select v:kund::string from 't'\"",
        "sql \"select * from 'nowhere'\"",
        'sql "select * from nowhere"',
        "sql \"select id from 't' where id = 'x'\"",
        'sql "drop table t"',
        "sql 'select 1; select 2'",
        "sql 'select \"id from t'",
        "sql 'select * from e' --table e",
        "sql 'select * from e' --table e=nowhere",
    ],
    "Files": [
        "inspect t",
        "inspect empty",
        "inspect nowhere.parquet",
        "inspect ok.ndjson",
        "inspect short.parquet",
        "check empty",
        "check t --dry-run",
        "check f.parquet --repair",
        "check short.parquet",
    ],
    "Maintaining": [
        "optimize nowhere",
        "optimize t --sort-by nope",
        "optimize t --where 'id >'",
        "optimize t --shredding nonsense",
        "optimize t --column id",
        "vacuum t --retention-hours 0",
        "vacuum t --retention-hours -1",
        "restore t",
        "restore t --version 99",
        "restore t --timestamp soon",
    ],
    "The command line itself": [
        "quer t",
        "query",
        "query t --limt 5",
        "query t --limit ten",
        "query t --limit 99999999999999999999",
        "count t 'id > 1'",
        "help",
        "head t -n -1",
        "--log-level loud count t",
        "demo --events 0",
    ],
}

PYTHON = {
    "From Python": [
        'sl.Table("nowhere")',
        'sl.Table("t", version="1")',
        'sl.Table("t", version=1, timestamp=0)',
        'sl.Table("t", timestamp="soon")',
        'sl.Table("t").append([{"id": "x"}])',
        'sl.Table("t").append([{"idd": 1}])',
        'sl.Table("t").append(5)',
        'sl.Table("t").append([{"id": 1}], shredding="struct<")',
        'sl.Table("t").append([{"id": 2**70}])',
        'sl.Table("t").add_column("note")',
        'sl.Table("t").restore()',
        'sl.Table("t", version=0).delete("id = 1")',
        'sl.Table("t").changes(0)',
        'sl.Table("t").set_properties({"delta.apendOnly": True})',
        'sl.Table("t").set_properties({"delta.appendOnly": "perhaps"})',
        'sl.Table("t").set_properties({"delta.constraints.c": "id > 10"})',
        'sl.Table.create("t", sl.Table("t").schema)',
        'sl.Table.create("u", {"id": "bigint"})',
        'sl.Table.create("u", pa.schema([("a", pa.int64()), ("A", pa.int64())]))',
        'sl.Table.create("u", pa.schema([("a", pa.int64())]), partition_by=["b"])',
        "sl.Variant.from_json(\"{'a': 1}\")",
        "sl.Variant.from_json('{\"a\": 1')",
        "sl.Variant.of(object())",
        'sl.Variant(b"", b"")',
        "sl.Variant.from_json(None)",
        'sl.Variant.of({"a": 1}).get("$.a..b")',
        'sl.from_json(["[1,"])',
        'sl.get(sl.from_json([\'{"a": "x"}\']), "$.a", pa.int64(), strict=True)',
        'sl.ShreddingSchema.parse("struct<a bigint, a string>")',
        'sl.read_parquet("f.parquet", columns=["w"])',
        'sl.read_parquet("ok.ndjson")',
        'sl.ingest({"a": 1}, "u")',
        'sl.ingest(["ok.ndjson", 5], "u")',
        'sl.sql("select * from e").to_arrow()',
        "sl.sql(5)",
        'sl.ingest("ok.ndjson", "u", colum="v")',
    ]
}


def prepare(folder: Path) -> None:
    """Tables and files to make mistakes with."""
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create(folder / "t", schema)
    table.append([{"id": n, "v": {"kind": "a", "n": n}} for n in range(3)])
    sl.Table.create(folder / "two", pa.schema([("v", sl.variant()), ("w", sl.variant())]))
    for name, log in (("damaged", "{not json}\n"), ("truncated", ""), ("future", FUTURE)):
        (folder / name / "_delta_log").mkdir(parents=True)
        (folder / name / "_delta_log" / f"{0:020}.json").write_text(log)
    lost = sl.Table.create(folder / "lost", schema)
    lost.append([{"id": 1}])
    (folder / "lost" / lost.files()["path"][0].as_py()).unlink()
    (folder / "empty").mkdir()
    (folder / "other").mkdir()
    (folder / "other" / "notes.txt").write_text("notes")
    (folder / "ok.ndjson").write_text('{"id": 1, "ts": "2026-01-01"}\n{"id": 2}\n')
    (folder / "bad.ndjson").write_text('{"id": 1}\n{"id": \n{"id" 3}\nnope\n')
    (folder / "twice.ndjson").write_text('{"id": 1, "id": 2}\n')
    (folder / "truncated.ndjson.gz").write_bytes(gzip.compress(b'{"id": 1}\n' * 99)[:30])
    (folder / "table.csv").write_text("id,name\n1,a\n2,b\n")
    (folder / "utf16.ndjson").write_bytes('{"id": 1}\n'.encode("utf-16"))
    pq.write_table(pa.table({"id": [1, 2]}), folder / "f.parquet")
    (folder / "short.parquet").write_bytes((folder / "f.parquet").read_bytes()[:200])


FUTURE = (
    '{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["timeTravelMachine"],'
    '"writerFeatures":["timeTravelMachine"]}}\n'
    '{"metaData":{"id":"x","format":{"provider":"parquet"},"schemaString":"{\\"type\\":\\"struct\\",'
    '\\"fields\\":[]}","partitionColumns":[],"configuration":{}}}\n'
)


@contextmanager
def workshop() -> Iterator[Path]:
    """Changes into a folder with the tables and files of `prepare`."""
    with tempfile.TemporaryDirectory() as name, chdir(name):
        folder = Path(name).resolve()
        prepare(folder)
        yield folder


def run_command(line: str) -> tuple[int, str]:
    """Runs a command in this process and returns its exit code and standard error."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    code: object = 0
    environment = {"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"}
    with (
        mock.patch.object(sys, "argv", ["shredlake", *shlex.split(line)]),
        mock.patch.dict(os.environ, environment),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as left:
            code = left.code or 0
    return int(str(code)), err.getvalue()


def run_python(line: str) -> tuple[int, str]:
    """Evaluates an expression: 1 and the error, if it raises one of shredlake's."""
    try:
        eval(line, {"sl": sl, "pa": pa})
    except sl.ShredlakeError as error:
        return 1, f"{type(error).__name__}: {error}"
    return 0, ""


def cleaned(said: str, folder: Path) -> str:
    """The message without the usage, and without addresses and names that differ from run to run."""
    said = re.sub(r"^Usage: shredlake .*\nTry 'shredlake .*' for help\.\n\nError: ", "", said)
    said = said.replace(f"file://{folder}", ".").replace(str(folder), ".")
    said = re.sub(r"part-[0-9a-f-]{36}\S*\.parquet", "part-….parquet", said)
    said = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "…", said)
    said = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", "2026-…", said)
    return said.strip()


def gallery() -> str:
    """The page."""
    parts = [HEAD]
    for run, groups, prompt in (
        (run_command, COMMANDS, "$ shredlake "),
        (run_python, PYTHON, ">>> "),
    ):
        for title, lines in groups.items():
            parts.append(f"\n## {title}\n")
            for line in lines:
                with workshop() as folder:
                    code, said = run(line)
                    said = cleaned(said, folder)
                note = f"\n(exit code {code})" if run is run_command else ""
                parts.append(f"```text\n{prompt}{line}\n{said}{note}\n```\n")
    return "\n".join(parts)


HEAD = """# Error gallery

This page shows common mistakes and their messages. A message says what was found, what was expected, and
what to do. A test makes every mistake on this page and compares the message. Wrong usage exits with code 2,
any other failure with code 1 ([exit codes](command-line.md#exit-codes)). The folder has a table `t` with the
columns `id` and `v`; `v` is a Variant."""


if __name__ == "__main__":
    PAGE.write_text(gallery(), "utf-8")
