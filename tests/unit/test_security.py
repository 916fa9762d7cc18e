"""The promises of docs/security.md: each names a test that exists; and those that have no better place."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import ShredlakeError
from shredlake.example import example_table

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "security.md"
SECRET = "wJalrXUtnFEMI-a-secret"


def test_every_promise_names_a_test_that_exists() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if re.fullmatch(r"\|.*`test_.*\|", line)]
    assert len(rows) >= 15
    for row in rows:
        for module, function in re.findall(r"`(test_\w+)(?:\.(test_\w+))?`", row.rpartition(" | ")[2]):
            files = list(TESTS.rglob(f"{module}.py"))
            assert files, row
            assert not function or any(f"def {function}(" in file.read_text() for file in files), row


@pytest.mark.parametrize(
    "where",
    [
        "__import__('os').system('touch x')", "id.__class__", "exec('1')", "eval(id)", "lambda: 1",
        "id; DROP TABLE t", "(SELECT 1) = 1", "java_method('java.lang.System', 'exit', '1')",
        "reflect('a', 'b')", "`id`.__init__", "read_text('/etc/passwd') = ''", "getvariable('x') = 1",
        "{{1}} = id", "id = ${env:HOME}", "f'{id}' = 1",
    ],
)  # fmt: skip
def test_a_predicate_runs_no_code(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = example_table(f"predicate-{where.encode().hex()}")
    with pytest.raises(ShredlakeError):
        table.scan(where=where).to_arrow()
    assert list(tmp_path.iterdir()) == []


def test_no_secret_is_written_to_disk(tmp_path: Path) -> None:
    options = {"aws_secret_access_key": SECRET}
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create(tmp_path / "t", schema, storage_options=options)
    for number in range(2):
        table.append([{"id": number, "v": {"a": number}}])
    table.checkpoint()
    table.optimize()
    table.delete("id = 1")
    source = tmp_path / "in.ndjson"
    source.write_text('{"a": 1}\nnot json\n')
    sl.ingest(str(source), tmp_path / "u", storage_options=options, max_rejects=1)
    table.check()
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path
