"""The typed paths of a Variant column over files of several layouts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from shredlake.delta.report.paths import path_facts, short_path
from shredlake.delta.stats.ranges import Ranges
from shredlake.parquet.variant_columns import ColumnLayout
from shredlake.shredding.schema import ARRAY_ELEMENT, ShreddingSchema


def layout(schema: str, *residual: str) -> ColumnLayout:
    return ColumnLayout(ShreddingSchema.parse(schema), frozenset(residual))


def ranges_of(minimum: list[Any], maximum: list[Any], files: int) -> Ranges:
    return Ranges("v:a", pa.array(minimum).type, files, pa.array(minimum), pa.array(maximum))


def test_a_column_without_shredded_files_has_no_paths() -> None:
    assert path_facts([], "v", {}) == ()
    assert path_facts([None, layout("struct<a variant>")], "v", {}) == ()


def test_types_are_counted_by_file_and_the_most_frequent_comes_first() -> None:
    files = [layout("struct<a bigint>", "$['a']"), layout("struct<a string, b date>"), None]
    found = path_facts([*files, layout("struct<a string>", "$['a']")], "v", {})
    assert [(one.path, dict(one.types), one.mixed, one.typed) for one in found] == [
        ("a", {"string": 2, "bigint": 1}, 2, 3),
        ("b", {"date": 1}, 0, 1),
    ]
    assert next(iter(found[0].types)) == "string"


def test_paths_in_the_same_number_of_files_are_in_the_order_of_names() -> None:
    found = path_facts([layout("struct<b int, a struct<z int>, c array<int>>")], "v", {})
    assert [(one.path, one.name) for one in found] == [
        ("a.z", "$['a']['z']"),
        ("b", "$['b']"),
        ("c[*]", "$['c'][*]"),
    ]


def test_a_column_of_scalars_is_a_path_itself() -> None:
    [found] = path_facts([layout("bigint")], "v", {"v": [ranges_of([1], [2], 3)]})
    assert (found.path, found.name, found.with_statistics) == ("", "$", 1)


def test_bounds_of_all_types_count_and_the_most_frequent_type_tells_the_cost() -> None:
    bounds = {
        "v:a": [ranges_of(["x"], ["y"], 4), ranges_of([1, 1, 1], [9, 9, 9], 4)],
        "w:a": [ranges_of([1], [1], 4)],
    }
    [found] = path_facts([layout("struct<a bigint>")], "v", bounds)
    assert (found.with_statistics, found.files_per_value) == (4, 3.0)
    [unknown] = path_facts([layout("struct<a bigint>")], "u", bounds)
    assert (unknown.with_statistics, unknown.files_per_value) == (0, None)


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ((), ""),
        (("a",), "a"),
        (("a", "b"), "a.b"),
        (("a b",), "['a b']"),
        (("a", "it's"), "a['it\\'s']"),
        ((ARRAY_ELEMENT,), "[*]"),
        (("a", ARRAY_ELEMENT, ARRAY_ELEMENT, "b"), "a[*][*].b"),
        (("",), "['']"),
        (("$",), "['$']"),
    ],
)
def test_paths_are_spelled_as_in_queries(steps: Any, text: str) -> None:
    assert short_path(steps) == text
