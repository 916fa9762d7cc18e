"""Conditions and columns at the door: every entry refuses what is not boolean, before anything runs."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shredlake as sl
from shredlake.cli.app import app
from shredlake.errors import InvalidExpression
from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.optimize import optimize_table

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("x", pa.float64()),
        ("s", pa.string()),
        ("d", pa.decimal128(9, 2)),
        ("b", pa.bool_()),
        ("v", sl.variant()),
    ]
)
NOT_BOOLEAN = [
    "x", "1e0", "1.0", "1", "id", "s", "d", "'true'", "v", "v:a", "v:a::double", "id + 0", "x * 1",
    "-x", "cast(id as double)", "not x", "x and b", "b and x", "x or b", "b or v:a", "not (b and 1)",
]  # fmt: skip


def rows() -> pa.Table:
    """x sums to the number of rows, which is what a mask of all true would."""
    documents = sl.from_json(pa.array(['{"a": true}', '{"a": false}']))
    columns = [[1, 2], [0.5, 1.5], ["a", "true"], [Decimal("1.00")] * 2, [True, False], documents]
    return pa.table(columns, schema=SCHEMA)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made") / "t"
    sl.Table.create(place, SCHEMA).append(rows())
    return place


@pytest.fixture
def table(made: Path, tmp_path: Path) -> sl.Table:
    return sl.Table(str(shutil.copytree(made, tmp_path / "t")))


def _read_parquet(table: sl.Table, where: str) -> None:
    place = table.uri + ".parquet"
    sl.write_parquet(rows(), place)
    sl.read_parquet(place, where=where)


def _query(table: sl.Table, where: str) -> None:
    outcome = CliRunner().invoke(app, ["query", table.uri, "id", "--where", where])
    assert outcome.exit_code != 0
    if outcome.exception is not None and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    raise InvalidExpression(outcome.output)


ENTRIES: dict[str, Callable[[sl.Table, str], object]] = {
    "scan": lambda table, where: table.scan(where=where),
    "delete": lambda table, where: table.delete(where),
    "overwrite": lambda table, where: table.overwrite(rows(), where=where),
    "check": lambda table, where: table.set_properties({"delta.constraints.c": where}),
    "create": lambda table, where: sl.Table.create(
        table.uri + "-2", SCHEMA, properties={"delta.constraints.c": where}
    ),
    "optimize": lambda table, where: optimize_table(LocalEngine(1), table.uri, where=where),
    "read_parquet": _read_parquet,
    "query": _query,
}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("where", NOT_BOOLEAN)
def test_what_is_not_boolean_is_no_condition(table: sl.Table, entry: str, where: str) -> None:
    with pytest.raises(InvalidExpression, match="not a condition"):
        ENTRIES[entry](table, where)
    assert sl.Table(table.uri).scan().count() == 2
    assert sl.Table(table.uri).version == 1


@pytest.mark.parametrize(("where", "matches"), [("null", 0), ("b", 1), ("v:a::boolean", 1), ("true", 2)])
def test_booleans_and_null_are_conditions(table: sl.Table, where: str, matches: int) -> None:
    assert table.scan(where=where).count() == matches
    assert table.scan(where=where).to_arrow().num_rows == matches
    table.delete(where)
    assert table.scan().count() == 2 - matches


def test_a_variant_is_told_how_to_become_a_condition(table: sl.Table) -> None:
    with pytest.raises(InvalidExpression, match=r"v:a is a Variant, not a condition.*write v:a::boolean"):
        table.delete("v:a")


def test_arrow_expressions_are_refused_by_name(table: sl.Table) -> None:
    for entry in (table.delete, lambda where: table.scan(where=where)):
        with pytest.raises(InvalidExpression, match="where is an Expression, expected SQL text"):
            entry(pc.field("id") > 1)
    with pytest.raises(InvalidExpression, match="columns holds an Expression"):
        table.scan([pc.field("id")])


def test_columns_as_one_text_are_a_select_list(table: sl.Table) -> None:
    assert table.scan("id, v:a::boolean AS a").schema.names == ["id", "a"]
    file = io.BytesIO()
    pq.write_table(pa.table({"id": [1], "x": [2]}), file)
    assert sl.read_parquet(file, columns="x, id").column_names == ["x", "id"]


@pytest.mark.parametrize("sql", ["v:a::int + 2000000000 > 0", "id % 0 = 1"])
def test_errors_of_values_name_what_the_user_wrote(table: sl.Table, sql: str) -> None:
    table.overwrite(rows().set_column(5, "v", sl.from_json(pa.array(['{"a": 2000000000}', '{"a": 1}']))))
    with pytest.raises(sl.ShredlakeError) as raised:
        table.scan(where=sql, strict=True).to_arrow()
    assert sql.rsplit(" ", 2)[0] in str(raised.value)
