"""The page of a file: its figures, its paths as a query writes them, and no markup from the data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from shredlake.parquet.inspect.inspect import inspect
from shredlake.parquet.inspect.page import KINDS, LONGEST, file_page, kind_of, path_sections
from shredlake.parquet.write.writer import write_parquet
from shredlake.shredding.schema import ShreddingSchema
from variant_columns import column_of


def page(path: Path, values: list[Any], ddl: str | None, **others: Any) -> str:
    write_parquet(pa.table({"v": column_of(values), **others}), path, shredding={"v": ddl})
    return file_page(inspect(path))


def text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_the_figures_of_a_file(tmp_path: Path) -> None:
    shown = text(page(tmp_path / "f.parquet", [{"a": 1}, {"a": "x"}], "struct<a bigint>", id=[1, 2]))
    assert "f.parquet" in shown
    assert "Written by" in shown
    for part in ("v shredded 2 Variants 0 NULL", "id plain column"):
        assert part in shown


def test_paths_are_named_as_queries_write_them(tmp_path: Path) -> None:
    html = page(
        tmp_path / "f", [{"a": {"b c": 1}, "l": [1]}], "struct<a struct<`b c` bigint>, l array<bigint>>"
    )
    assert "v:a::" not in html, "an object has no query of its own"
    assert "v:a[" in html
    assert "b c" in html
    assert "v:l[*]::" not in html, "the elements of an array are not one value"


def test_names_and_bounds_can_not_inject_markup(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    html = page(tmp_path / "f", [{evil: evil}], f"struct<`{evil}` string>")
    assert "alert(1)" in html
    assert evil not in html


def test_long_bounds_are_cut(tmp_path: Path) -> None:
    html = page(tmp_path / "f", [{"s": "x" * 200}], "struct<s string>")
    assert "x" * (LONGEST - 1) + "\\u2026" in html
    assert "x" * (LONGEST + 1) not in html


def test_without_rows_or_columns_there_is_nothing_to_draw(tmp_path: Path) -> None:
    [section] = path_sections([], {})
    assert "There are no rows yet." in section.body
    [alone] = path_sections([], {"id": 10})
    assert alone.title == "Bytes by path"
    assert "no rows" not in page(tmp_path / "f", [1], None)


@pytest.mark.parametrize(
    "ddl", ["bigint", "string", "decimal(9,2)", "timestamp_ntz", "boolean", "uuid", "date", "time"]
)
def test_types_of_ddl_have_a_colour(ddl: str) -> None:
    assert kind_of(str(ShreddingSchema.parse(ddl))) in {kind for kind, *_ in KINDS}


def test_the_first_of_several_types_counts() -> None:
    assert kind_of("bigint, string") == "numbers"
    assert kind_of("string, bigint") == "text"
    assert kind_of("a type of tomorrow") == "other"
