"""The report of a query: one paragraph per scan, in the words of the query."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl

pytest.importorskip("duckdb", reason="SQL needs DuckDB")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three documents in one row group."""
    place = tmp_path_factory.mktemp("explain") / "t.parquet"
    texts = ['{"a": 1, "k": "<b>"}', '{"a": 1, "k": "c"}', '{"a": 1, "k": "d"}']
    rows = pa.table({"id": [1, 2, 3], "v": sl.from_json(texts)})
    sl.write_parquet(rows, place, shredding={"v": "struct<a bigint, k string>"})
    return place


def explained(query: str, file: Path) -> str:
    return str(sl.sql(query, t=file).explain())


def test_each_condition_is_a_line(file: Path) -> None:
    lines = explained("select id from t where v:a::bigint = 1 and v:k::string > 'a' and id < 9", file)
    assert lines.splitlines()[:4] == [
        f"t ({file})",
        "filter    v:a::bigint = 1",
        "filter    v:k::string > 'a'",
        "filter    id < 9",
    ]


def test_a_condition_that_the_scan_can_not_use_is_named_in_words_of_the_query(file: Path) -> None:
    found = explained(
        "select hour(make_timestamp(v:a::bigint)) h, count(*) from t group by 1 having h < 5", file
    )
    assert "filter    (hour(make_timestamp(v:a::bigint)) < 5), after the scan" in found


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("select count(*) from t", "only rows are counted"),
        ("select max(v:a::bigint) from t", "the footers answer; no data is read"),
    ],
)
def test_what_needs_no_data_is_said(file: Path, query: str, line: str) -> None:
    assert line in explained(query, file).splitlines()
    assert line not in explained("select v:k::string from t", file)
    assert "footers answer" not in explained("select id from t where id > 9", file), "there are no rows"


def test_every_scan_has_a_paragraph_and_each_path_above_them_too(file: Path) -> None:
    query = "with w as (select distinct v from t) select w.v:a::int from w, t where t.v:a::bigint = 1"
    found = sl.sql(query, t=file).explain()
    assert len(found.scans) == 2
    assert found.above == ("v:a::int",)
    assert str(found).split("\n\n") == [
        *found.scans,
        "v:a::int is evaluated on whole Variants, above the scan",
    ]


def test_bytes_are_those_of_all_scans(file: Path) -> None:
    once = sl.sql("select v:a::bigint from t", t=file).explain()
    twice = sl.sql("select v:a::bigint from t union all select v:a::bigint from t", t=file).explain()
    assert once.bytes_read > 0
    assert twice.bytes_read == 2 * once.bytes_read


def test_the_plan_names_paths(file: Path) -> None:
    plan = sl.sql("select v:k::string, min(v:a::bigint) from t group by 1", t=file).explain().plan
    assert "Projections: v:k::string, v:a::bigint" in plan
    assert "__sl_table" not in plan


def test_in_a_notebook_data_is_not_markup(file: Path) -> None:
    shown = sl.sql("select id from t where v:k::string = '<b>'", t=file).explain()._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown


def test_one_row_is_not_rows() -> None:
    [scan] = sl.sql("select id from t", t=pa.table({"id": [1]})).explain().scans
    assert scan == "t (Arrow data (Table))\n1 row of Arrow data"
