"""Rows as users give them: taken where the meaning is plain, else an error that says what to pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.kernels.arrow.extension import marked

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("v", sl.variant())])
ROWS = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]
TABLE = pa.table({"id": [1, 2], "name": ["a", None]})

FORMS: dict[str, Callable[[], Any]] = {
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": TABLE.to_reader,
    "batches": TABLE.to_batches,
    "generator of batches": lambda: (batch for batch in TABLE.to_batches()),
    "rows": lambda: ROWS,
    "generator of rows": lambda: (row for row in ROWS),
    "columns": lambda: {"id": [1, 2], "name": ["a", None]},
    "arrays": lambda: {"id": pa.array([1, 2]), "name": pa.array(["a", None])},
    "pandas": lambda: pd.DataFrame({"id": [1, 2], "name": ["a", None]}, index=[7, 9]),
    "polars": lambda: pl.DataFrame({"id": [1, 2], "name": ["a", None]}),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_rows(tmp_path: Path, form: str) -> None:
    table = sl.Table.create(tmp_path / "t", SCHEMA)
    table.append(FORMS[form]())
    assert table.scan(["id", "name"]).to_arrow().to_pylist() == ROWS
    table.overwrite(FORMS[form]())
    assert table.scan(["id", "name"]).to_arrow().to_pylist() == ROWS
    sl.write_parquet(FORMS[form](), tmp_path / "f.parquet")
    assert pq.read_table(tmp_path / "f.parquet").to_pylist() == ROWS


def test_objects_become_variants(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, SCHEMA)
    table.append(
        [
            {"id": 1, "V": {"a": [1, None]}},
            {"id": 2, "V": None},
            {"id": 3, "V": sl.Variant.from_json("null")},
            {"id": 4, "V": sl.Variant.of("text")},
            {"id": 5},
        ]
    )
    texts = sl.to_json(table.scan(["v"]).to_arrow().column("v")).to_pylist()
    assert texts == ['{"a":[1,null]}', None, "null", '"text"', None]


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ("x", sl.WrongType, "rows can't be read from a str; pass an Arrow table"),
        (5, sl.WrongType, "rows can't be read from an int; pass an Arrow table"),
        ([1, 2], sl.WrongType, "item 0 is an int; pass an Arrow table"),
        ([{"id": 1}, 2], sl.WrongType, "row 1 is an int"),
        ({"id": 5}, sl.WrongType, "column id is an int, expected a list of its values"),
        ({"id": "abc"}, sl.WrongType, "column id is a str"),
        ({"id": [1], "name": []}, sl.InvalidSchema, "differ in length: id has 1, name has 0"),
        ({5: [1]}, sl.WrongType, "column names must be strings"),
        ([{"id": 1}, {"id": "x"}], sl.InvalidSchema, "column id holds values of different types"),
        ([{"id": 2**70}], sl.InvalidSchema, "column id holds an integer that does not fit into 64 bits"),
        (
            [{"v": 1}, {"v": "{"}],
            sl.InvalidJson,
            r"column v: a text for a Variant column must be JSON.*row 1",
        ),
        (pl.DataFrame({"v": ["1", "x"]}), sl.InvalidJson, r"column v: .* must be JSON.*at row 1"),
        ({"v": pa.array(["x"]).dictionary_encode()}, sl.InvalidJson, r"column v: .*at row 0"),
        (pl.DataFrame({"v": [{"a": 1}]}), sl.InvalidSchema, r"sl\.from_arrow for other columns"),
        ([{"v": object()}], sl.InvalidValue, "column v, row 0: "),
        (pl.LazyFrame({"id": [1]}), sl.WrongType, "call collect"),
    ],
)
def test_what_is_not_rows(tmp_path: Path, data: Any, error: type[Exception], message: str) -> None:
    table = sl.Table.create(tmp_path, SCHEMA)
    with pytest.raises(error, match=message):
        table.append(data)
    assert sl.Table(tmp_path).version == 0


TEXTS = ['{"a": [1, null]}', None, '"text"', "2"]

TEXT_FORMS: dict[str, Callable[[], Any]] = {
    "arrow": lambda: pa.table({"v": TEXTS}),
    "large strings": lambda: pa.table({"v": pa.array(TEXTS, pa.large_string())}),
    "dictionary": lambda: pa.table({"v": pa.array(TEXTS).dictionary_encode()}),
    "pandas": lambda: pd.DataFrame({"v": TEXTS}),
    "pandas strings": lambda: pd.DataFrame({"v": pd.array(TEXTS, "string")}),
    "polars": lambda: pl.DataFrame({"v": TEXTS}),
    "duckdb": lambda: duckdb.sql(
        """select * from values ('{"a": [1, null]}'), (null), ('"text"'), ('2') as t(v)"""
    ),
    "duckdb variant": lambda: duckdb.sql("from texts_for_duckdb"),
    "rows": lambda: [{"v": text} for text in TEXTS],
    "objects": lambda: [{"v": {"a": [1, None]}}, {}, {"v": sl.Variant.of("text")}, {"v": 2}],
    "pandas objects": lambda: pd.DataFrame({"v": [{"a": [1, None]}, float("nan"), sl.Variant.of("text"), 2]}),
}


@pytest.mark.parametrize("form", TEXT_FORMS)
def test_a_text_for_a_variant_column_is_json(tmp_path: Path, form: str) -> None:
    duckdb.register("texts_for_duckdb", sl.Table.create(tmp_path / "d", SCHEMA.remove(1)).scan(["v"]))
    if form == "duckdb variant":
        source = sl.Table.create(tmp_path / "s", pa.schema([("v", sl.variant())]))
        source.append({"v": TEXTS})
        duckdb.register("texts_for_duckdb", source.scan())
    expected = ['{"a":[1,null]}', None, '"text"', "2"]
    table = sl.Table.create(tmp_path / "t", SCHEMA)
    table.append(TEXT_FORMS[form]())
    assert sl.to_json(table.scan(["v"]).to_arrow().column("v")).to_pylist() == expected
    for asked in ({"variants": ["v"]}, {"shredding": {"v": "struct<a array<bigint>>"}}):
        sl.write_parquet(TEXT_FORMS[form](), tmp_path / "f.parquet", **asked)
        assert sl.to_json(sl.read_parquet(tmp_path / "f.parquet").column("v")).to_pylist() == expected


def test_objects_of_a_pandas_frame_keep_their_own_fields(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, SCHEMA)
    table.append(pd.DataFrame({"id": [1, 2], "v": [{"a": 1}, {"b": None}], "name": ["x", "y"]}))
    assert sl.to_json(table.scan(["v"]).to_arrow().column("v")).to_pylist() == ['{"a":1}', '{"b":null}']
    assert table.scan(["id", "name"]).to_arrow().to_pylist() == [
        {"id": 1, "name": "x"},
        {"id": 2, "name": "y"},
    ]


def test_texts_of_other_columns_stay_texts(tmp_path: Path) -> None:
    sl.write_parquet({"v": ["{}"], "name": ["{}"]}, tmp_path / "f.parquet", variants=["V"])
    schema = pq.read_schema(tmp_path / "f.parquet")
    assert pa.types.is_struct(schema.field("v").type)
    assert schema.field("name").type == pa.string()


@pytest.mark.parametrize("shredding", [None, "struct<a array<bigint>>"])
def test_a_column_marked_as_variant_is_taken_shredded_or_not(tmp_path: Path, shredding: str | None) -> None:
    column = sl.from_json(TEXTS)
    if shredding:
        column = sl.shred(column, sl.ShreddingSchema.parse(shredding))
    field = marked(pa.field("v", column.type))
    table = sl.Table.create(tmp_path / "t", pa.schema([field]))
    assert table.snapshot.schema.get("v").metadata == {}
    table.append(pa.table([column], schema=pa.schema([field])))
    expected = ['{"a":[1,null]}', None, '"text"', "2"]
    assert sl.to_json(table.scan().to_arrow().column("v")).to_pylist() == expected


@pytest.mark.parametrize("write", ["append", "overwrite", "write_parquet"])
def test_indices_outside_of_a_dictionary_are_an_error_and_nothing_is_written(
    tmp_path: Path, write: str
) -> None:
    names = pa.DictionaryArray.from_arrays(pa.array([0, 30_000_000]), pa.array(["a"]), safe=False)
    rows = pa.table({"id": [1, 2], "name": names})
    table = sl.Table.create(tmp_path / "t", rows.schema)
    work: dict[str, Callable[[], Any]] = {
        "append": lambda: table.append(rows),
        "overwrite": lambda: table.overwrite(rows),
        "write_parquet": lambda: sl.write_parquet(rows, tmp_path / "a.parquet"),
    }
    with pytest.raises(sl.InvalidValue, match="points outside its own buffers"):
        work[write]()
    assert not list(tmp_path.rglob("*.parquet"))
