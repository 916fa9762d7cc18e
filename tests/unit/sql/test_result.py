"""The rows of a query: when it runs, how it is shown, and the texts of its errors."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.sql.result import close_running

pytest.importorskip("duckdb", reason="SQL needs DuckDB")

DATA = pa.table({"id": [1, 2, 3], "v": sl.from_json(['{"a": 1}', '{"a": "x"}', "{}"])})


def test_each_reader_runs_the_query_again() -> None:
    found = sl.sql("select id, uuid() as u from t order by id", t=DATA)
    tables = [found.to_arrow(), found.to_arrow(), found.to_reader().read_all()]
    assert [table.column("id").to_pylist() for table in tables] == [[1, 2, 3]] * 3
    assert len({table.column("u")[0].as_py() for table in tables}) == 3


def test_the_schema_needs_no_rows() -> None:
    found = sl.sql("select id, v:a::int a, 1 / (id - id) from t where error('never') is null", t=DATA)
    assert found.schema.names == ["id", "a", "(1 / (id - id))"]
    assert found.schema.types[:2] == [pa.int64(), pa.int32()]


@pytest.mark.parametrize("rows", [0, 1, 3, 9])
def test_limits(rows: int) -> None:
    found = sl.sql("select id from t order by id", t=DATA).limit(rows)
    expected = [{"id": n} for n in (1, 2, 3)][:rows]
    assert found.to_arrow().to_pylist() == expected
    assert found.to_reader().read_all().to_pylist() == expected
    assert found.schema == pa.schema([("id", pa.int64())])


def test_no_rows_have_columns() -> None:
    found = sl.sql("select id, v:a::string a from t where id > 9", t=DATA).to_arrow()
    assert (found.num_rows, found.schema.names) == (0, ["id", "a"])


def test_the_query_in_one_line() -> None:
    found = sl.sql("  select id,\n\t v:a::int\n from t", t=DATA)
    assert found.plan() == {"Sql": "select id, v:a::int from t", "columns": "id, a"}


@pytest.mark.parametrize(("rows", "cut"), [(0, False), (20, False), (21, True)])
def test_shown_rows(rows: int, cut: bool) -> None:
    shown = repr(sl.sql("select n, '<b>' as t from r", r=pa.table({"n": range(rows)})))
    assert ("The first 20 rows are shown." in shown) is cut
    assert (" 19 " in shown) is (rows >= 20)
    assert " 20 " not in shown.replace("20 rows", "")


def test_in_a_notebook_values_are_not_markup() -> None:
    shown = sl.sql("select '<script>' as s from t", t=DATA)._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select * from nope", "^there is no table 'nope': write the path of a table or file in quotes"),
        (
            "select nope from t",
            "^no table has a column 'nope'; they have: id, v. For a path",
        ),
        ("select v:a::int + nope from t", "write v:nope::string$"),
        ("select sum(v:a::string) from t", "."),
    ],
)
def test_messages_are_in_words_of_the_query(query: str, message: str) -> None:
    found = sl.sql(query, t=DATA)
    for read in (lambda: found.schema, found.to_arrow, found.explain, lambda: list(found.to_batches())):
        with pytest.raises(sl.InvalidExpression, match=message) as raised:
            read()
        assert "__sl_" not in str(raised.value).partition("LINE")[0]


def test_without_variants_nothing_is_said_of_paths() -> None:
    with pytest.raises(sl.InvalidExpression, match=r"they have: a$"):
        sl.sql("select nope from t", t=pa.table({"a": [1]})).to_arrow()


def test_the_error_of_a_scan_is_its_own() -> None:
    found = sl.sql("select v:a::int a from t", t=DATA, strict=True)
    for read in (found.to_arrow, found.explain, lambda: list(found.to_batches())):
        with pytest.raises(sl.CastError, match="x"):
            read()


def test_an_error_while_duckdb_computes() -> None:
    with pytest.raises(sl.InvalidExpression, match="Could not convert string 'x'"):
        sl.sql("select cast(v:a::string as integer) from t", t=DATA).to_arrow()


def test_streams_that_are_half_read_can_be_closed() -> None:
    many = pa.table({"n": range(200_000)})
    stream = iter(sl.sql("select n from t", t=many).to_batches())
    assert next(stream).num_rows > 0
    close_running()
    assert list(stream) == []


def test_a_stream_that_another_thread_reads_is_left_alone() -> None:
    inside, go_on = threading.Event(), threading.Event()

    def rows() -> pa.RecordBatchReader:
        def batches() -> object:
            inside.set()
            go_on.wait(10)
            yield pa.record_batch({"n": [1]})

        return pa.RecordBatchReader.from_batches(pa.schema([("n", pa.int64())]), batches())

    found = sl.sql("select n from t", t=rows())
    read: list[pa.RecordBatch] = []
    thread = threading.Thread(target=lambda: read.extend(found.to_batches()))
    thread.start()
    assert inside.wait(10)
    close_running()
    go_on.set()
    thread.join(10)
    assert [batch.to_pydict() for batch in read] == [{"n": [1]}]
