"""Rows as users give them: taken where the meaning is plain, else an error that says what to pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl

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
        ("x", sl.WrongType, "rows can't be taken from a str; pass an Arrow table"),
        (5, sl.WrongType, "rows can't be taken from a int; pass an Arrow table"),
        ([1, 2], sl.WrongType, "item 0 is a int; pass an Arrow table"),
        ([{"id": 1}, 2], sl.WrongType, "row 1 is a int"),
        ({"id": 5}, sl.WrongType, "column id is a int, expected a list of its values"),
        ({"id": "abc"}, sl.WrongType, "column id is a str"),
        ({"id": [1], "name": []}, sl.InvalidSchema, "differ in length: id has 1, name has 0"),
        ({5: [1]}, sl.WrongType, "columns are named by texts"),
        ([{"id": 1}, {"id": "x"}], sl.InvalidSchema, "column id holds values that are not of one type"),
        ([{"id": 2**70}], sl.InvalidSchema, "column id holds values"),
        ([{"v": 1}, {"v": "{}"}], sl.WrongType, "column v, row 1: a text for a Variant column"),
        ([{"v": object()}], sl.InvalidValue, "column v, row 0: "),
        (pl.LazyFrame({"id": [1]}), sl.WrongType, "call collect"),
    ],
)
def test_what_is_not_rows(tmp_path: Path, data: Any, error: type[Exception], message: str) -> None:
    table = sl.Table.create(tmp_path, SCHEMA)
    with pytest.raises(error, match=message):
        table.append(data)
    assert sl.Table(tmp_path).version == 0


def test_a_frame_of_texts_for_a_variant_says_what_to_do(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, SCHEMA)
    with pytest.raises(sl.InvalidSchema, match=r"use sl\.from_json for text"):
        table.append(pd.DataFrame({"v": ["{}"]}))
