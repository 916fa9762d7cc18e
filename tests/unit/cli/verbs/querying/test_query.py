"""`shredlake query`: every format and option, without Spark."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shredlake as sl
from delta_tables import variants
from shredlake.cli.app import app, main

COLUMNS = "id, v:user.id::bigint AS user, v:s::string AS s"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("query") / "t"
    schema = pa.schema(
        [("id", pa.int64()), ("b", pa.binary()), ("l", pa.list_(pa.float64())), ("v", sl.variant())]
    )
    made = sl.Table.create(place, schema, properties={"delta.enableVariantShredding": "true"})
    for start in (0, 50):
        ids = range(start, start + 50)
        values: list[Any] = [
            {"ts": n, "user": {"id": n % 5}, "s": f"[s{n}] :a:", "d": Decimal("1.50")} for n in ids
        ]
        rows = {
            "id": pa.array(ids, pa.int64()),
            "b": pa.array([b"\xff\x00"] * 50),
            "l": pa.array([[1.5, float("nan")]] * 50),
            "v": variants(values),
        }
        layout = "struct<ts bigint, user struct<id bigint>, s string>"
        made.append(pa.table(rows), shredding={"v": layout})
    return str(place)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["query", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_table_for_people(table: str) -> None:
    text = run(table, COLUMNS, "--where", "v:ts::bigint = 7")
    assert "[s7] :a:" in text, "neither style nor emoji"
    assert [cell.strip() for cell in text.splitlines()[3].strip("│").split("│")] == ["7", "2", "[s7] :a:"]
    assert len(run(table, COLUMNS).splitlines()) == 20 + 4, "twenty rows by default"
    assert len(run(table, COLUMNS, "--limit", "3").splitlines()) == 3 + 4


def test_json(table: str) -> None:
    lines = run(
        table, "id, b, l, v:d::decimal(10,2) AS d, v", "-w", "id = 3", "--format", "json"
    ).splitlines()
    assert lines == [
        '{"id": 3, "b": "/wA=", "l": [1.5, "NaN"], "d": 1.50, '
        '"v": {"d":1.5,"s":"[s3] :a:","ts":3,"user":{"id":3}}}'
    ]
    assert len(run(table, "id", "-f", "json", "-n", "4").splitlines()) == 4
    assert len(run(table, "id", "-f", "json").splitlines()) == 100


def test_csv(table: str) -> None:
    text = run(table, "id, b, l, v:s::string AS s, v", "-w", "id = 3", "--format", "csv")
    [row] = csv.DictReader(io.StringIO(text))
    assert row["s"] == "[s3] :a:"
    assert row["b"] == "/wA="
    assert row["l"] == '[1.5, "NaN"]'
    assert json.loads(row["v"])["user"] == {"id": 3}


def test_parquet(table: str, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    run(table, "id, v", "-w", "id < 2", "--format", "parquet", "--output", str(target))
    assert pq.read_table(target)["id"].to_pylist() == [0, 1]
    assert sl.check(target) == []
    assert sl.read_parquet(target, columns=["v:ts::int AS t"])["t"].to_pylist() == [0, 1]


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_output_goes_to_a_file(table: str, tmp_path: Path, form: str) -> None:
    target = tmp_path / "out"
    assert run(table, "id", "-w", "id = 42", "--format", form, "--output", str(target)) == ""
    assert "42" in target.read_text()


def test_all_columns_and_versions(table: str) -> None:
    [row] = map(json.loads, run(table, "-f", "json", "-w", "id = 1").splitlines())
    assert list(row) == ["id", "b", "l", "v"]
    assert len(run(table, "id", "-f", "json", "--version", "1").splitlines()) == 50


def test_explain(table: str) -> None:
    text = run(table, COLUMNS, "--where", "v:ts::bigint = 7", "--explain")
    assert "1 of" in text.splitlines()[0]
    assert "pruned" in text


def test_strict_and_mistakes(table: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert '"x": null' in run(table, "v:s::int AS x", "-f", "json", "-n", "1")

    def fails(*arguments: str) -> str:
        monkeypatch.setattr("sys.argv", ["shredlake", "query", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        assert caught.value.code == 1
        return str(capsys.readouterr().err)

    assert "can't be cast to int" in fails(table, "v:s::int AS x", "-f", "json", "--strict")
    assert "--output FILE" in fails(table, "id", "--format", "parquet")
    assert "nope" in fails(table, "nope")
    assert "empty column" in fails(table, "id,, v")
