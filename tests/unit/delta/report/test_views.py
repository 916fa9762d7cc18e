"""SQL with one typed column per path: DuckDB and Spark answer as our own scan does."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shredlake as sl
from shredlake.cli.app import app
from shredlake.delta.report.views import view_columns
from shredlake.expr.sql import spark_path, string_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([("key", pa.int64()), ("v", sl.variant()), ("id", pa.string())])
DAY = datetime.date(2024, 5, 6)


def document(n: int) -> dict[str, Any]:
    return {
        "id": n,
        "user": {"name": f"u{n}", 'o\'brien "x"': n % 2 == 0, "x.y": n / 8},
        "tags": ["a", f"t{n}"],
        "price": Decimal(n) / 4,
        "day": DAY,
        "items": [{"sku": n}],
    }


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    made = sl.Table.create(tmp_path / "events", SCHEMA, properties={"delta.enableVariantShredding": "true"})
    for start in (0, 10):
        made.append([{"key": n, "v": document(n), "id": f"k{n}"} for n in range(start, start + 10)])
    made.append([{"key": 20, "v": {"id": "not a number", "user": 5}, "id": None}])
    return made


def expected(table: sl.Table) -> list[dict[str, Any]]:
    def item(column: Any) -> str:
        if column.steps is None:
            return f"`{column.column}` AS `{column.name}`"
        kind = f"array<{column.type}>" if column.is_array else column.type
        path = string_sql(spark_path(sl.Path(column.steps)))
        return f"try_variant_get(v, {path}, '{kind}') AS `{column.name}`"

    columns = [item(column) for column in view_columns(table.snapshot)]
    return sorted(table.scan(columns).to_arrow().to_pylist(), key=lambda row: row["key"])


def test_columns(table: sl.Table) -> None:
    found = {column.name: (column.steps, column.type) for column in view_columns(table.snapshot)}
    assert found["key"] == (None, None)
    assert found["id"] == (None, None)
    assert found["id_2"] == (("id",), "bigint")
    assert found["user_x_y"][0] == ("user", "x.y")
    assert found["tags"] == (("tags",), "string")
    assert not [name for name in found if "sku" in name], "elements that are objects are left out"


def test_duckdb_runs_the_view(table: sl.Table) -> None:
    texts = sl.views(table.uri, "duckdb")
    connection = duckdb.connect()
    connection.register("events", table.scan())
    connection.execute(texts["events_typed.sql"])
    found = connection.sql("from events_typed order by key").to_arrow_table().to_pylist()
    assert found == expected(table)
    assert found[3]["price"] == Decimal("0.75")
    assert found[3]["tags"] == ["a", "t3"]
    assert found[3]["day"] == DAY


@pytest.mark.spark
def test_spark_runs_the_view(table: sl.Table, spark: SparkSession) -> None:
    from shredlake import spark as sls

    sql = sl.views(table.uri, "spark", source="events")["events_typed.sql"]
    query = sql[sql.index("SELECT") :].removesuffix(";")
    rows = sls.sql(spark, query, events=table.uri).toArrow().to_pylist()
    assert sorted(rows, key=lambda row: row["key"]) == expected(table)


def rendered(model: str, engine: str) -> str:
    """The SQL that dbt makes of a model."""
    jinja = pytest.importorskip("jinja2", reason="jinja2 is not installed: pip install 'shredlake[dev]'")
    text: str = jinja.Template(model).render(
        config=lambda **_: "", source=lambda _, name: f'"{name}"', target={"type": engine}
    )
    return text


def test_a_dbt_model_fits_the_engine_of_its_target(table: sl.Table) -> None:
    model = sl.views(table.uri, "dbt")["events_typed.sql"]
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("events", table.scan())
    rows = connection.sql(rendered(model, "duckdb")).to_arrow_table().to_pylist()
    assert sorted(rows, key=lambda row: row["key"]) == expected(table)
    assert "try_variant_get" in rendered(model, "databricks")
    assert "TRY_CAST" not in rendered(model, "databricks")


def test_a_dbt_model_and_its_documentation(table: sl.Table, tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    done = CliRunner().invoke(
        app, ["views", str(tmp_path / "events"), "--dialect", "dbt", "--name", "m", "--output", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    model = (tmp_path / "m.sql").read_text()
    assert model.startswith("{{ config(materialized='view') }}")
    assert "FROM {{ source('lake', \"events\") }}" in model
    [described] = yaml.safe_load((tmp_path / "m.yml").read_text())["models"]
    names = [column.name for column in view_columns(table.snapshot)]
    assert [column["name"] for column in described["columns"]] == names
    assert described["columns"][names.index("id_2")]["data_type"] == "bigint"


def test_names_from_data_stay_names(tmp_path: Path) -> None:
    evil = "x') from secrets; drop table t; -- {{ 1 }}\n"
    table = sl.Table.create(
        tmp_path / "t", pa.schema([("v", sl.variant())]), properties={"delta.enableVariantShredding": "true"}
    )
    table.append([{"v": {evil: n, "a": n}} for n in range(20)])
    connection = duckdb.connect()
    connection.register("t", table.scan())
    connection.execute(sl.views(table.uri, "duckdb")["t_typed.sql"])
    assert len(connection.sql("from t_typed").fetchall()[0]) == 2
    model = sl.views(table.uri, "dbt")["t_typed.sql"]
    assert connection.sql(rendered(model, "duckdb")).fetchall() == connection.sql("from t_typed").fetchall()
    assert "drop table t; -- {{ 1 }}" in rendered(model, "spark")


def test_a_table_without_typed_paths(tmp_path: Path) -> None:
    properties = {"delta.enableVariantShredding": "false"}
    table = sl.Table.create(tmp_path, pa.schema([("v", sl.variant())]), properties=properties)
    table.append([{"v": {"a": 1}}])
    with pytest.raises(sl.InvalidSchema, match="no shredded paths"):
        sl.views(table.uri, "spark")
    with pytest.raises(sl.WrongType, match="expected one of spark, duckdb, dbt"):
        sl.views(table.uri, "mysql")  # type: ignore[arg-type]
