"""Reports of several files added up, path by path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from shredlake.parquet.inspect.inspect import FileReport, PathReport, inspect
from shredlake.parquet.inspect.merge import merged_columns, merged_others
from shredlake.parquet.write.writer import write_parquet
from variant_columns import column_of


def report(path: Path, values: list[Any], ddl: str | None, **others: Any) -> FileReport:
    write_parquet(pa.table({"v": column_of(values), **others}), path, shredding={"v": ddl})
    return inspect(path)


def at(root: PathReport, path: str) -> PathReport:
    return next(found for found in root.walk() if found.path == path)


def test_counts_and_bytes_are_sums_and_bounds_the_outermost(tmp_path: Path) -> None:
    first = report(tmp_path / "1", [{"a": 5}, {"a": "x"}], "struct<a bigint>", id=[1, 2])
    second = report(tmp_path / "2", [{"a": -3}, {"a": None}, {}], "struct<a bigint>", id=[1, 2, 3])
    [column] = merged_columns([first, second])
    a = at(column.root, "$['a']")
    assert (a.places, a.typed, a.residual, a.null, a.missing, a.files) == (5, 2, 1, 1, 1, 2)
    assert a.minimum is not None
    assert a.maximum is not None
    assert (a.minimum.as_py(), a.maximum.as_py()) == (-3, 5)
    assert column.bytes == first.variants[0].bytes + second.variants[0].bytes
    assert column.file_share == pytest.approx(column.bytes / (first.bytes + second.bytes))
    assert merged_others([first, second]) == {"id": first.others["id"] + second.others["id"]}


def test_the_most_frequent_type_comes_first_and_mixed_types_have_no_bounds(tmp_path: Path) -> None:
    reports = [
        report(tmp_path / str(number), [{"a": value}], f"struct<a {ddl}>")
        for number, (value, ddl) in enumerate([("x", "string"), (1, "bigint"), (2, "bigint")])
    ]
    [column] = merged_columns(reports)
    a = at(column.root, "$['a']")
    assert (a.type, a.minimum, a.maximum, a.files) == ("bigint, string", None, None, 3)


def test_a_file_without_typed_values_does_not_hide_the_bounds(tmp_path: Path) -> None:
    reports = [
        report(tmp_path / "1", [{"a": 7}], "struct<a bigint>"),
        report(tmp_path / "2", [{"a": "only text"}], "struct<a bigint>"),
    ]
    [column] = merged_columns(reports)
    minimum = at(column.root, "$['a']").minimum
    assert minimum is not None
    assert minimum.as_py() == 7


def test_paths_and_columns_that_only_some_files_have(tmp_path: Path) -> None:
    first = report(tmp_path / "1", [{"a": 1}], "struct<a bigint>")
    second = report(tmp_path / "2", [{"b": {"c": 1}}], "struct<b struct<c bigint>>", w=column_of([1]))
    v, w = merged_columns([first, second])
    assert (v.name, w.name) == ("v", "w")
    assert [path.path for path in v.root.walk()] == ["$", "$['a']", "$['b']", "$['b']['c']"]
    assert (v.root.files, at(v.root, "$['a']").files, at(v.root, "$['b']['c']").files) == (2, 1, 1)
    assert v.shredding == "struct<a bigint>"
    total = first.bytes + second.bytes
    assert all(path.file_share == pytest.approx(path.bytes / total) for path in v.root.walk())


def test_shredded_and_unshredded_files(tmp_path: Path) -> None:
    reports = [
        report(tmp_path / "1", [{"a": 1}], None),
        report(tmp_path / "2", [{"a": 1}], "struct<a bigint>"),
    ]
    [column] = merged_columns(reports)
    assert column.shredding == "struct<a bigint>"
    assert column.variants == 2
    assert set(column.root.type.split(", ")) == {"variant", "object"}


def test_one_file_and_none(tmp_path: Path) -> None:
    one = report(tmp_path / "1", [{"a": 1}, 5], "struct<a bigint>")
    [column] = merged_columns([one])
    [before] = one.variants
    assert (column.root.typed, column.bytes, column.nulls) == (before.root.typed, before.bytes, before.nulls)
    assert merged_columns([]) == ()
    assert merged_others([]) == {}
