"""`shredlake query --engine spark` prints what `--engine local` prints."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shredlake as sl
from delta_tables import variants
from shredlake.cli.app import app

pytestmark = pytest.mark.spark

ROWS = 30


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two files, one of them with a path of two types; all kinds of columns, with nulls."""
    place = tmp_path_factory.mktemp("verb") / "t"
    inner = pa.struct([("n", pa.int32()), ("inner", sl.variant())])
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("b", pa.binary()),
            ("l", pa.list_(pa.float64())),
            ("at", pa.timestamp("us", tz="UTC")),
            ("d", pa.decimal128(10, 2)),
            ("s", inner),
            ("v", sl.variant()),
        ]
    )
    made = sl.Table.create(place, schema, properties={"delta.enableVariantShredding": "true"})
    for start in (0, ROWS):
        ids = range(start, start + ROWS)
        start_of_year = datetime(2024, 1, 1, tzinfo=UTC)
        values: list[Any] = [
            {
                "ts": n,
                "kind": n if start and n % 7 == 0 else f'[k{n % 3}] ü, "q"',
                "at": start_of_year + timedelta(hours=n, microseconds=n),
                "day": date(2024, 1, 1) + timedelta(days=n),
                "price": Decimal(n) / 4,
                "f": float("nan") if n % 5 == 0 else n / 2,
                "raw": bytes([n, 255]),
            }
            if n % 11
            else ...
            for n in ids
        ]
        parts = [variants([{"x": n}])[0].as_py() for n in ids]
        rows = {
            "id": pa.array(ids, pa.int64()),
            "b": pa.array([bytes([n, 0]) if n % 2 else None for n in ids]),
            "l": pa.array([[1.5, float("nan")] if n % 3 else None for n in ids], schema.field("l").type),
            "at": pa.array([start_of_year + timedelta(hours=n) for n in ids], schema.field("at").type),
            "d": pa.array([Decimal(n) / 4 for n in ids], schema.field("d").type),
            "s": pa.array([{"n": n, "inner": part} for n, part in zip(ids, parts, strict=True)], inner),
            "v": variants(values),
        }
        layout = "struct<ts bigint, kind string, at timestamp, day date, price decimal(10,2), f double>"
        made.append(pa.table(rows, schema=schema), shredding={"v": layout, "s.inner": None})
    return str(place)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["query", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def both(*arguments: str) -> tuple[list[str], list[str]]:
    """The lines that each engine prints, sorted, since Spark's rows have no order."""
    found = [sorted(run(*arguments, "--engine", engine).splitlines()) for engine in ("spark", "local")]
    return found[0], found[1]


COLUMNS = {
    "all": "*",
    "paths": "id, v:ts::bigint AS ts, v:kind::string AS kind, v:at::timestamp AS at, v:day::date AS day, "
    "v:price::decimal(10,2) AS price, v:f::double AS f, v:nowhere::int AS nowhere",
    "others": "v:kind::int AS k, v:raw::binary AS raw, v:at::string AS at, v:kind AS some, s.n, d * 2 AS dd",
}


@pytest.mark.parametrize("form", ["table", "json", "csv"])
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize(
    "where", ["", "v:ts::bigint between 20 and 37", "v:kind::int = 35 or id < 2", "id < 0"]
)
def test_engines_print_alike(table: str, form: str, columns: str, where: str) -> None:
    arguments = [table, COLUMNS[columns], "--format", form, "--limit", "1000"]
    ours, local = both(*arguments, *(["--where", where] if where else []))
    assert ours == local
    assert len(ours) > (0 if form == "json" else 1) or where == "id < 0"


def test_parquet(table: str, tmp_path: Path) -> None:
    found = []
    for engine in ("spark", "local"):
        target = tmp_path / f"{engine}.parquet"
        asked = [table, "id, v, v:day::date AS day, l", "-w", "v:ts::bigint > 5", "--engine", engine]
        run(*asked, "-f", "parquet", "-o", str(target))
        assert sl.check(target) == []
        rows = sl.read_parquet(target).sort_by("id")
        assert pq.read_schema(target).names == ["id", "v", "day", "l"]
        found.append((rows.select(["id", "day", "l"]).to_pylist(), sl.to_json(rows["v"]).to_pylist()))
    assert str(found[0]) == str(found[1])


@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_limits(table: str, form: str) -> None:
    heading = {"json": 0, "csv": 1, "table": 4}[form]
    for arguments, rows in ((["-n", "7"], 7), (["-n", "0"], 0), ([], 20 if form == "table" else 2 * ROWS)):
        text = run(table, "id, v:ts::int AS t", "-f", form, *arguments, "--engine", "spark")
        assert len(text.splitlines()) == rows + heading


def test_explain_and_versions(table: str) -> None:
    lines = run(table, "v:kind::string AS k", "-w", "v:ts::bigint > 40", "--engine", "spark", "--explain")
    assert lines.splitlines()[0].split()[:4] == ["files", "1", "of", "2"]
    assert "v:ts::bigint > 40 rules out 1 of 2 files" in lines
    assert "v:kind is mixed in 1 of 1 file" in lines
    old = run(table, "id", "-f", "json", "--version", "1", "--engine", "spark").splitlines()
    assert sorted(json.loads(line)["id"] for line in old) == list(range(ROWS))


def test_strict_is_an_error(table: str) -> None:
    from pyspark.errors import PySparkException

    arguments = [table, "v:kind::int AS k", "-f", "json", "--strict", "--engine", "spark"]
    result = CliRunner().invoke(app, ["query", *arguments])
    assert isinstance(result.exception, PySparkException | sl.ShredlakeError)
    assert "can't be cast to int" in str(result.exception)


@pytest.mark.parametrize("engine", ["spark", "local"])
@pytest.mark.parametrize("by", ["name", "path"])
def test_sql_means_the_same_on_both_engines(table: str, engine: str, by: str) -> None:
    source, given = ("events", ["-t", f"events={table}"]) if by == "name" else (f"'{table}'", [])
    query = f"select v:ts::bigint % 3 as k, count(*) as n from {source} where v:ts::bigint > 5 group by 1"
    shown = CliRunner().invoke(app, ["sql", query, *given, "-f", "json", "--engine", engine])
    assert shown.exit_code == 0, shown.output
    wanted: dict[int, int] = {}
    for number in (n for n in range(6, 2 * ROWS) if n % 11):
        wanted[number % 3] = wanted.get(number % 3, 0) + 1
    found = [json.loads(line) for line in shown.output.splitlines()]
    assert {row["k"]: row["n"] for row in found} == wanted


@pytest.mark.parametrize("engine", ["spark", "local"])
def test_a_string_of_a_query_may_be_the_path_of_its_table(table: str, engine: str) -> None:
    query = f"select '{table}' as place, count(*) as n from '{table}' where '{table}' <> '' group by 1"
    shown = CliRunner().invoke(app, ["sql", query, "-f", "json", "--engine", engine])
    assert shown.exit_code == 0, shown.output
    [row] = map(json.loads, shown.output.splitlines())
    assert row["place"] == table
    assert row["n"] > 0


def test_a_table_of_the_current_folder_needs_no_slash_on_spark(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Path(table)
    monkeypatch.chdir(place.parent)
    query = f"select count(*) as n from '{place.name}' where v:ts::bigint = 7"
    shown = CliRunner().invoke(app, ["sql", query, "-f", "json", "--engine", "spark"])
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.output) == {"n": 1}


def test_spark_has_no_memory_limit_of_a_query(table: str) -> None:
    arguments = ["sql", f"from '{table}'", "--engine", "spark", "--memory-limit", "1GB"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 2
    assert "--memory-limit" in shown.output


def test_sql_on_spark_takes_values_of_markers(table: str) -> None:
    query = f"select count(*) as n from '{table}' where v:ts::bigint > :least"
    arguments = ["sql", query, "--engine", "spark", "--arg", "least=40", "--json"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    expected = query.replace(":least", "40")
    assert json.loads(shown.stdout) == sl.sql(expected).to_arrow().to_pylist()[0]


def test_sql_on_spark_explains(table: str) -> None:
    query = "select count(*) as n from events where v:ts::bigint > 40"
    shown = CliRunner().invoke(app, ["sql", query, "-t", f"events={table}", "--engine", "spark", "--explain"])
    assert shown.exit_code == 0, shown.output
    assert "1 of 2 files" in shown.output
