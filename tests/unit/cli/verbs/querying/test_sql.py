"""`shredlake sql`: tables by name and by path, formats, `--explain`, and the prompt."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shredlake as sl
from shredlake.cli.app import app, main
from shredlake.cli.verbs.querying.prompt import completions

pytest.importorskip("duckdb", reason="SQL needs DuckDB")

QUERY = "select v:kind::string k, count(*) n from {} group by k order by n desc"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("sql") / "events"
    texts = [f'{{"kind": "{"like" if n % 3 else "post"}", "user": {{"id": {n}}}}}' for n in range(30)]
    made = sl.Table.create(
        place, pa.schema([("v", sl.variant())]), properties={"delta.enableVariantShredding": "true"}
    )
    made.append(pa.table({"v": sl.from_json(texts)}), shredding="struct<kind string, user struct<id bigint>>")
    return str(place)


def complaint(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The standard error of a run that fails."""
    monkeypatch.setattr("sys.argv", ["shredlake", "sql", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    return str(capsys.readouterr().err)


def run(*arguments: str, text: str | None = None) -> tuple[int, str, str]:
    found = CliRunner().invoke(app, ["sql", *arguments], input=text)
    return found.exit_code, found.stdout, found.stderr


def test_groups_a_table_by_its_name_or_path(table: str) -> None:
    rows = [{"k": "like", "n": 20}, {"k": "post", "n": 10}]
    for query, options in (
        (QUERY.format("events"), ["--table", f"events={table}"]),
        (QUERY.format(f"'{table}'"), []),
    ):
        code, out, _ = run(query, *options, "--format", "json")
        assert code == 0
        assert [json.loads(line) for line in out.splitlines()] == rows


def test_values_of_markers_are_options(table: str) -> None:
    query = f"select count(*) n from '{table}' where v:kind::string = $kind and v:user.id::int < $most"
    code, out, _ = run(query, "--arg", "kind=post", "--arg", "most=6", "--json")
    assert (code, json.loads(out)) == (0, {"n": 2})


@pytest.mark.parametrize("given", ["kind", "=x", "a b=x", "1=x"])
def test_a_marker_needs_a_name(
    given: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = complaint(monkeypatch, capsys, "select 1", "--arg", given)
    assert f"--arg {given}: expected name=value, e.g. kind=like for $kind" in text


def test_formats_and_output(table: str, tmp_path: Path) -> None:
    code, out, _ = run(QUERY.format(f"'{table}'"))
    assert code == 0
    assert "like" in out
    file = tmp_path / "out.parquet"
    assert run(QUERY.format(f"'{table}'"), "--output", str(file))[0] == 0
    assert pq.read_table(file).to_pylist() == [{"k": "like", "n": 20}, {"k": "post", "n": 10}]
    code, out, _ = run("select v from t limit 1", "-t", f"t={table}", "-f", "json")
    assert json.loads(out)["v"]["kind"] == "post"


def test_says_that_rows_were_left_out(table: str) -> None:
    code, _, err = run("select v:user.id::int from t", "-t", f"t={table}")
    assert code == 0
    assert "first 20 rows" in err


def test_explains(table: str) -> None:
    code, out, _ = run("select count(*) from t where v:user.id::int > 5", "-t", f"t={table}", "--explain")
    assert code == 0
    assert "v:user.id::int > 5" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["select * from no_such_table"], "no_such_table"),
        (["select 1", "--table", "broken"], "name=path"),
        (["drop table x"], "runs one query"),
        (["select * from t", "--table", "t=/no/such/place"], "neither a Delta table nor a Parquet file"),
    ],
)
def test_mistakes_are_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    said = complaint(monkeypatch, capsys, *arguments)
    assert message in said
    assert "Traceback" not in said


def test_queries_of_a_pipe_are_answered_to_its_end(table: str) -> None:
    text = f"{QUERY.format('t')};\nselect 1 +\n 41 as answer;\nselect 43 as unfinished"
    code, out, err = run("--table", f"t={table}", text=text)
    assert (code, err) == (0, "")
    assert out.startswith("┏"), "no greeting among the data"
    assert "42" in out
    assert "43" in out
    assert "7777" not in run(text="exit\nselect 7777;\n")[1]


def test_a_mistake_in_a_pipe_ends_it(table: str) -> None:
    text = "select 42 as answer;\nselect nonsense from t;\nselect 43 as late;\n"
    code, out, _ = run("--table", f"t={table}", text=text)
    assert code == 1
    assert "42" in out
    assert "late" not in out


@pytest.mark.parametrize("option", ["--json", "--explain", "--output=x.csv", "--limit=1", "--engine=spark"])
def test_options_of_an_answer_need_a_query(option: str) -> None:
    code, out, err = run(option, text="select 1;")
    assert (code, out) == (2, "")
    assert "give a query" in err


def test_completes_tables_and_known_paths(table: str) -> None:
    words = completions({"events": table})
    assert {"events", "v", "v:kind::string", "v:user.id::bigint", "select"} <= set(words)
