"""The cost of a scan as text and as sums over files."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq

from shredlake.parquet.format.row_ranges import Rows
from shredlake.parquet.read.explain import Explain, cost_lines, cost_of
from shredlake.parquet.read.open_file import OpenFile


def file_of(rows: int) -> OpenFile:
    sink = io.BytesIO()
    table = pa.table({"a": range(rows), "b": [str(n) for n in range(rows)]})
    pq.write_table(
        table, sink, row_group_size=100, write_page_index=True, max_rows_per_page=10, use_dictionary=False
    )
    return OpenFile(sink)


def test_sums_over_files() -> None:
    first, second = file_of(200), file_of(100)
    footers = first.source.bytes_read + second.source.bytes_read
    nothing = cost_of([first, second], 0)
    assert (nothing.files_read, nothing.files_total) == (0, 2)
    assert (nothing.row_groups_read, nothing.row_groups_total) == (0, 3)
    assert (nothing.pages_read, nothing.pages_total, nothing.columns) == (0, 0, ())
    assert nothing.bytes_read == footers

    first.read(1, frozenset({0}), Rows(((25, 45),)))
    cost = cost_of([first, second], 20)
    assert (cost.files_read, cost.row_groups_read, cost.pages_read) == (1, 1, 3)
    assert cost.pages_total == 20, "only columns that were read count, in all row groups of their file"
    assert cost.columns == ("a",)
    assert footers < cost.bytes_read < cost.bytes_total == first.source.size + second.source.size


def test_a_column_of_several_files_is_named_once() -> None:
    files = [file_of(100), file_of(100)]
    for file in files:
        file.read(0, frozenset({0, 1}), Rows(((0, 100),)))
    cost = cost_of(files, 200)
    assert cost.columns == ("a", "b")
    assert cost.pages_read == cost.pages_total == 40


def test_no_files_at_all_cost_nothing() -> None:
    cost = cost_of([], 0)
    assert [" ".join(line.split()) for line in str(cost).splitlines()] == [
        "0 rows of 0 of 0 files",
        "row groups 0 of 0 0.0%",
        "pages 0 of 0 0.0% in the columns read",
        "bytes 0 B of 0 B 0.0%",
        "columns",
    ]


def test_columns_are_listed_below_each_other_and_html_is_escaped() -> None:
    cost = Explain(1, 2, 1, 4, 1, 1, ("a", "<b>"), 10, 1000, 1)
    assert cost_lines(cost)[-1] == "columns   a\n          <b>"
    assert cost_lines(cost, " of this table")[0].endswith("25.0% of this table")
    assert "&lt;b&gt;" in cost._repr_html_()
    assert "1 row of 1 of 2 files" in str(cost)
