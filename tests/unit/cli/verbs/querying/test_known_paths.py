"""Completion of columns and paths: quoted where needed, with the types of the first file's layout."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import shredlake as sl
from shredlake.cli.verbs.querying.known_paths import known_paths
from shredlake.sql.sources import DeltaSource, source_of


def test_paths_are_quoted_and_typed(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path / "t", pa.schema([("my id", pa.int64()), ("v", sl.variant())]))
    layout = "struct<n decimal(9,2), user struct<`full name` string>, tags array<string>>"
    rows = pa.table({"my id": [1], "v": sl.from_json(['{"n": 1.5, "user": {"full name": "x"}}'])})
    table.append(rows, shredding=layout)
    known = known_paths(DeltaSource(table))
    assert known == ["`my id`", "v", "v:n::decimal(9,2)", "v:user.`full name`::string"]
    types = sl.sql(f"select {', '.join(known[2:])} from t", t=table).schema.types
    assert types == [pa.decimal128(9, 2), pa.string()]


def test_an_empty_table_and_arrow_data_have_columns_alone(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    assert known_paths(DeltaSource(sl.Table.create(tmp_path / "t", schema))) == ["id", "v"]
    assert known_paths(source_of(pa.table({"id": [1], "v": sl.from_json(["1"])}))) == ["id", "v"]
