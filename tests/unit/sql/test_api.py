"""`sl.sql`: tables of every kind, what it refuses, what it reads, and how it explains itself."""

from __future__ import annotations

import subprocess
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.sql import api

pytest.importorskip("duckdb", reason="SQL needs DuckDB")

ROWS = 20_000


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> sl.Table:
    """Two files, sorted by `id`, with several row groups and pages each."""
    texts = [
        f'{{"id": {n}, "kind": "k{n // 5000}", "user": {{"name": "u{n % 7}"}}, "n": {n % 10}}}'
        for n in range(ROWS)
    ]
    schema = pa.schema([("day", pa.int64()), ("v", sl.variant())])
    place = str(tmp_path_factory.mktemp("api") / "events")
    table = sl.Table.create(place, schema, properties={"delta.enableVariantShredding": "true"})
    rows = pa.table({"day": [n // 10_000 for n in range(ROWS)], "v": sl.from_json(pa.array(texts))})
    options = sl.WriteOptions(row_group_rows=2500, page_rows=500)
    for start in (0, ROWS // 2):
        table.append(rows.slice(start, ROWS // 2), options=options)
    return table


def test_a_table_in_the_current_folder_needs_no_slash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sl.ingest(['{"kind": "like"}'], "likes")
    found = sl.sql("with c as (select v:kind::string AS kind from 'likes') select kind from c")
    assert found.to_arrow().to_pylist() == [{"kind": "like"}]


def test_a_table_may_be_named_or_read_by_its_path(events: sl.Table, tmp_path: Path) -> None:
    query = "select count(*) as n from {} where v:n::int = 3"
    path = events.uri.removeprefix("file://")
    expected = [{"n": ROWS // 10}]
    assert sl.sql(query.format("events"), events=events).to_arrow().to_pylist() == expected
    assert sl.sql(query.format("Events"), events=path).to_arrow().to_pylist() == expected
    assert sl.sql(query.format(f"'{path}'")).to_arrow().to_pylist() == expected
    file = tmp_path / "some.parquet"
    sl.write_parquet(events.scan().to_arrow(), file)
    assert sl.sql(query.format(f"'{file}'")).to_arrow().to_pylist() == expected
    assert sl.sql(query.format("t"), t=file).to_arrow().to_pylist() == expected
    assert sl.sql(query.format("t"), t=events.scan().to_reader()).to_arrow().to_pylist() == expected
    assert sl.sql(query.format("t"), t=events.scan().to_polars()).to_arrow().to_pylist() == expected
    assert sl.sql(query.format("t"), t=events.scan()).to_arrow().to_pylist() == expected


def test_a_stream_that_is_scanned_twice_is_kept(events: sl.Table) -> None:
    reader = events.scan(["day"]).to_reader()
    found = sl.sql("select count(*) as n from t where day in (select max(day) from t)", t=reader).to_arrow()
    assert found.to_pylist() == [{"n": ROWS // 2}]


@pytest.mark.parametrize(
    ("columns", "where"),
    [
        ("v:kind::string", "v:id::bigint between 4000 and 4100"),
        ("v:user.name::string, v:n::int", "v:id::bigint = 12345"),
        ("v:n::int", "v:kind::string = 'k3' and v:n::int < 2"),
        ("day", "v:kind::string in ('k0', 'k2')"),
        ("v", "v:id::bigint < 10"),
        ("v:n::int", "day = 1"),
    ],
)
def test_reads_as_many_bytes_as_a_scan(events: sl.Table, columns: str, where: str) -> None:
    explained = sl.sql(f"select {columns} from events where {where}", events=events).explain()
    assert explained.bytes_read == events.scan(columns, where).explain().bytes_read


@pytest.mark.parametrize("threads", [1, 3])
def test_windows_of_large_files_are_one_line_of_jobs(
    events: sl.Table, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "select v:kind::string, count(*), max(v:id::bigint) from events where {} group by 1 order by 1"
    wheres = ["true", "v:id::bigint > 12345", "day = 1 and v:n::int < 3", "v:id::bigint < 0"]
    small = [sl.sql(query.format(where), events=events) for where in wheres]
    expected = [(found.to_arrow(), found.explain().bytes_read) for found in small]
    monkeypatch.setattr("shredlake.delta.read.data_file.LARGE_FILE", 0)
    monkeypatch.setattr("pyarrow.cpu_count", lambda: threads)
    large = [sl.sql(query.format(where), events=events) for where in wheres]
    assert [(found.to_arrow(), found.explain().bytes_read) for found in large] == expected
    assert "2 of 2 files" in str(large[0].explain())


def test_filters_of_one_reference_do_not_reach_another(events: sl.Table) -> None:
    query = """select count(*) as n from events a left join events b
               on a.v:id::bigint = b.v:id::bigint and b.v:id::bigint < 5 where a.v:kind::string = 'k3'"""
    result = sl.sql(query, events=events)
    assert result.to_arrow().to_pylist() == [{"n": 5000}]
    scans = result.explain().scans
    assert len(scans) == 2
    assert sum("k3" in scan for scan in scans) == 1


def test_counts_come_from_the_log(events: sl.Table) -> None:
    explained = sl.sql("select count(*) from events", events=events).explain()
    assert explained.bytes_read == 0
    assert "only rows are counted" in str(explained)


def test_names_of_columns(events: sl.Table) -> None:
    query = "select v:user.name::string, v:id::int + 1, count(*), max(v:n::int) as m from events group by all"
    names = ["name", "v:id::int + 1", "count_star()", "m"]
    assert sl.sql(query, events=events).schema.names == names
    assert sl.sql(query, events=events).limit(1).to_arrow().schema.names == names


def test_whole_variants_are_duckdbs(events: sl.Table) -> None:
    found = sl.sql("select v, v:user from events where v:id::bigint = 3", events=events).to_arrow()
    assert sl.to_python(found.column("v"))[0]["user"] == {"name": "u3"}
    assert sl.to_python(found.column("user")) == [{"name": "u3"}]
    assert [found.schema.field(n).metadata[b"ARROW:extension:name"] for n in range(2)] == [
        b"arrow.parquet.variant"
    ] * 2


def test_what_is_not_understood_is_evaluated_above(events: sl.Table) -> None:
    query = "select w:n::int as n from (select distinct v as w from events where day = 0) order by n desc"
    result = sl.sql(query, events=events)
    assert result.limit(1).to_arrow().to_pylist() == [{"n": 9}]
    assert "evaluated on whole Variants" in str(result.explain())


def test_paths_are_read_through_union_all(events: sl.Table) -> None:
    query = """with two as (select day, v from events union all select * from events where day = 1)
               select v:kind::string as kind, count(*) as n from two where v:id::bigint < 10010 group by 1"""
    result = sl.sql(query, events=events)
    assert sorted(map(tuple, (row.values() for row in result.to_arrow().to_pylist()))) == [
        ("k0", 5000), ("k1", 5000), ("k2", 20)
    ]  # fmt: skip
    explained = str(result.explain())
    assert "whole Variants" not in explained
    assert explained.count("filter    v:id::bigint < 10010") == 2


NONE = (None, None)
ITEMS = [
    '{"items": [{"p": 1.5, "q": "a"}, {"p": "z"}, 7], "n": 300}',
    '{"items": [], "n": "2"}',
    '{"items": 3}',
]


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("select i:p::double, i:q::string from t, unnest(v:items) as u(i)", [(1.5, "a"), NONE, NONE]),
        ("select i:q::string q from (select unnest(v:items::variant[]) i from t) where q <> ''", [("a",)]),
        ("with x as (select unnest(t.v:items) i from t) select x.i:p::double p from x where p > 1", [(1.5,)]),
        ("select w:n::int from (select max_by(v, v:n::string) w from t)", [(300,)]),
        ("select max(i.p) from t, unnest(v:items::struct<p double, q string>[]) as u(i)", [(1.5,)]),
        ("select v:n::int8 from t", [(300,), (2,), (None,)]),
        ("select v:n::varchar, v:items::blob from t", [("300", None), ("2", None), (None, None)]),
        ("select v:from::int, v:select::int, v:`a.b`::int from t limit 1", [(None, None, None)]),
        ("select n: v:n::int, {'a': v:n::int}.a, map {'k': v:n::int}['k'] from t limit 1", [(300, 300, 300)]),
        ("select list_transform([1, 2], lambda v: v + 1) from t limit 1", [([2, 3],)]),
        ("select distinct on (v:n::int) v:n::int from t order by all", [(2,), (300,), (None,)]),
        ("select v:n::int from query_table('t') order by 1 limit 1", [(2,)]),
        ("select v:n::int from ((t)) where v:n::int > 5", [(300,)]),
        ("select 1 from t where exists (from t u where u.v:n::int = t.v:n::int + 298)", [(1,)]),
        ("select column_name from (describe t)", [("v",)]),
        ("select [v:n::int for v in ['{\"n\": 9}'::json::variant]] from t limit 1", [([9],)]),
    ],
)  # fmt: skip
def test_paths_stand_anywhere(query: str, answer: list[tuple[object, ...]]) -> None:
    found = sl.sql(query, t=pa.table({"v": sl.from_json(ITEMS)})).to_arrow()
    assert [tuple(row.values()) for row in found.to_pylist()] == answer


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("select v:from::int, v:select::string, v:`a.b`::int from t", ["from", "select", "a.b"]),
        ("select distinct on (v:n::int) v:n::int from t", ["n"]),
        ("select v:n::int from ((t))", ["n"]),
        ("select v:n::int from (select * from t)", ["n"]),
        ("summarize t", ["column_name", "column_type"]),
        ("select * replace (v:n::int as v), 1 as one from t", ["v", "one"]),
        ("select row_number() over w from t window w as (order by v:n::int)", ["row_number() over w"]),
    ],
)
def test_columns_are_named_after_paths_anywhere(query: str, named: list[str]) -> None:
    names = sl.sql(query, t=pa.table({"v": sl.from_json(ITEMS)})).schema.names
    assert names[: len(named)] == named


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select v:n::hugeint from t", "v:n::hugeint: the type .* can't be used here"),
        ("select v:n::nosuch from t", "v:n::nosuch: unknown type"),
        ("select v:n[-1]::int from t", "an index in a path is a number from 0"),
        ("select v:n[*] from t", "an index in a path is a number from 0"),
        ("select v:a[0]:b::int from t", "v:a.0.:b::int"),
        ("explain select v:n from t", "without EXPLAIN"),
        ("pivot t on v using count(*)", "PIVOT needs the values"),
        ("copy t to 'x.csv'", "runs one query"),
    ],
)
def test_what_a_path_can_not_be_is_said(query: str, message: str) -> None:
    with pytest.raises(sl.InvalidExpression, match=message):
        sl.sql(query, t=pa.table({"v": sl.from_json(ITEMS)})).to_arrow()


WHOLE = ['{"a":"x"}', "7", '"text"', "null"]
JSON_TEXTS = [('{"a":"x"}',), ("7",), ("text",), (None,)]


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("select v::string from t", JSON_TEXTS),
        ("select cast(t.v as varchar) from t", JSON_TEXTS),
        ("select try_cast(v as string) from (select * from t)", JSON_TEXTS),
        ("select v::string from (select distinct v from t) order by 1 nulls last",
         [("7",), ("text",), JSON_TEXTS[0], (None,)]),
        ("select v::int from t", [(None,), (7,), (None,), (None,)]),
        ("select max(v::int), count(v::string), count(*) from t", [(7, 3, 4)]),
        ("select count(*) from t where v::string = 'text'", [(1,)]),
        ("select v::struct<a string> from t limit 1", [({"a": "x"},)]),
        ("select v::json from t limit 1", [('{"a":"x"}',)]),
        ("select p.v::string, p.v::timestamp::date from p", [("2024-01-01 00:00:00", date(2024, 1, 1))]),
        ("select v::string from (select v:a as v from t) limit 1", [("x",)]),
        ("select list_transform([1], lambda v: v::string) from t limit 1", [(["1"],)]),
    ],
)  # fmt: skip
def test_a_whole_variant_is_cast_as_a_path_is(query: str, answer: list[tuple[object, ...]]) -> None:
    plain = pa.table({"v": pa.array([datetime(2024, 1, 1)], pa.timestamp("us"))})
    found = sl.sql(query, t=pa.table({"v": sl.from_json(WHOLE)}), p=plain).to_arrow()
    assert [tuple(row.values()) for row in found.to_pylist()] == answer


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ('select "v.dot":a::int n, max("v.dot":a::bigint) from t group by n order by n', [(0, 0), (1, 1)]),
        ("select hour(make_timestamp(`v.dot`:a::bigint)), count(*) from t group by 1", [(0, 2)]),
        ("select w:a::int from (select `v.dot` w from t) where w:a::int > 0", [(1,)]),
        ("select s.inner:a::int from t where s.inner:a::int > 0", [(1,)]),
        ("select t.s.inner:a::int, e.s.inner:a::string b from t, t e where t.id + e.id = 2", [(1, "1")]),
    ],
)
def test_columns_of_odd_names_and_variants_in_structs(
    tmp_path: Path, query: str, answer: list[tuple[object, ...]]
) -> None:
    documents = sl.from_json(['{"a": 0}', '{"a": 1}'])
    struct = pa.StructArray.from_arrays([documents], ["inner"])
    rows = pa.table({"id": [0, 1], "v.dot": documents, "s": struct})
    sl.write_parquet(rows, tmp_path / "t.parquet", shredding={"v.dot": "struct<a bigint>"})
    for table in (rows, tmp_path / "t.parquet"):
        found = sl.sql(query, t=table).to_arrow()
        assert [tuple(row.values()) for row in found.to_pylist()] == answer


@pytest.mark.parametrize("data", [pa.chunked_array([[1]]), 5, None, [{"a": 1}]])
def test_what_is_no_table_is_said(data: Any) -> None:
    with pytest.raises(sl.ShredlakeError, match=r"an Arrow stream|the Arrow stream"):
        sl.sql("select * from t", t=data)


def test_a_value_that_does_not_cast_is_null_or_an_error() -> None:
    data = pa.table({"v": sl.from_json(['{"a": "x"}', '{"a": 1}'])})
    assert sl.sql("select v:a::int a from t", t=data).to_arrow().to_pylist() == [{"a": None}, {"a": 1}]
    with pytest.raises(sl.CastError, match="x"):
        sl.sql("select v:a::int a from t", t=data, strict=True).to_arrow()
    with pytest.raises(sl.CastError, match="x"):
        sl.sql("select variant_get(v, '$.a', 'int') from t", t=data).to_arrow()


@pytest.mark.parametrize(
    "query", ["create table x as select 1", "select 1; select 2", "drop table t", "execute x", ""]
)
def test_commands_are_refused(query: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(sl.InvalidExpression):
        sl.sql(query)
    assert caplog.messages == []


def test_errors_name_what_the_user_wrote(events: sl.Table) -> None:
    with pytest.raises(sl.InvalidExpression, match="nonsense") as raised:
        sl.sql("select v:a::int, nonsense from events", events=events).to_arrow()
    assert "__sl_" not in str(raised.value).partition("LINE")[0]
    with pytest.raises(sl.InvalidExpression, match="no_such_table"):
        sl.sql("select * from no_such_table").to_arrow()
    with pytest.raises(sl.NotATable, match="no/such/table"):
        sl.sql("select * from t", t="no/such/table")


def test_variables_of_the_caller_are_not_tables() -> None:
    events = pa.table({"a": [1]})
    with pytest.raises(sl.InvalidExpression, match="events"):
        sl.sql("select * from events").to_arrow()
    assert events.num_rows == 1


def test_prefix_aliases_slices_and_structs_stay_duckdbs() -> None:
    data = pa.table({"x": [1], "l": [[1, 2, 3]], "v": sl.from_json(['{"a": 5}'])})
    query = "select total: x + 1, l[1:2] as part, {v: 1, 'a': x} as s, v:a::int from t"
    [row] = sl.sql(query, t=data).to_arrow().to_pylist()
    assert row == {"total": 2, "part": [1, 2], "s": {"v": 1, "a": 1}, "a": 5}


def test_missing_duckdb_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(sl.MissingDependency, match=r"shredlake\[sql\]"):
        api._duckdb()


def test_shows_rows(events: sl.Table) -> None:
    shown = repr(sl.sql("select v:id::bigint as number from events", events=events))
    assert "number" in shown
    assert "first 20 rows" in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    "statements",
    [
        """try: sl.sql('select v:a::date as a from t', strict=True, t=table).to_arrow()
except sl.CastError: pass""",
        "reader = sl.sql('select v:a::int as a from t', t=table).to_reader(); reader.read_next_batch()",
    ],
    ids=["an error", "a reader that is half read"],
)
def test_a_program_ends_in_silence(statements: str) -> None:
    """DuckDB complains at the end of a program whose connections are still referenced."""
    head = "import shredlake as sl\nfrom shredlake.example import example_table\n"
    program = f"{head}table = example_table('silence')\n{statements}\nprint('done')\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("done\n", "")


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("select 1 as a, 2 as A", ["a", "A"]),
        ("select 1 as a, 2 as a", ["a", "a_1"]),
        ("select 1 as a, 2 as a, 3 as a_1", ["a", "a_1", "a_1_1"]),
    ],
)
def test_columns_of_one_name(query: str, names: list[str]) -> None:
    found = sl.sql(query)
    values = list(range(1, len(names) + 1))
    assert found.schema.names == names
    for table in (found.to_arrow(), found.head(), found.to_reader().read_all(), found.to_polars()):
        assert pa.table(table).to_pylist() == [dict(zip(names, values, strict=True))]
    assert "int32" in repr(found)
