"""Values of markers: what a caller may give, and that values are never read as SQL."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shredlake as sl
from shredlake.errors import InvalidExpression, WrongType
from shredlake.sql.parameters import as_given

pytest.importorskip("duckdb", reason="SQL needs DuckDB")

ROWS = pa.table({"id": [1, 2, 3], "v": sl.from_json(['{"k": "a"}', '{"k": "it\'s"}', '{"k": "$x ? --"}'])})


def test_dicts_and_lists_of_all_kinds_become_plain_ones() -> None:
    assert as_given(OrderedDict(a=1)) == {"a": 1}
    assert as_given((1, "a")) == [1, "a"]
    assert as_given([]) is as_given({}) is as_given(None) is None


@pytest.mark.parametrize("args", ["text", b"bytes", 7, {1, 2}])
def test_other_kinds_are_refused(args: Any) -> None:
    with pytest.raises(WrongType, match="args= takes a dict or a list of values, not a"):
        sl.sql("select ?", args)


def test_markers_take_values_by_name_and_by_position() -> None:
    by_name = sl.sql(
        "select id from t where v:k::string in ($k, $other)", {"k": "it's", "other": "a"}, t=ROWS
    )
    assert by_name.to_arrow()["id"].to_pylist() == [1, 2]
    by_position = sl.sql("select id + ? as n from t where v:k::string <> ? order by 1", [10, "a"], t=ROWS)
    assert by_position.to_arrow()["n"].to_pylist() == [12, 13]
    assert by_position.schema.names == ["n"]


@pytest.mark.parametrize(
    ("query", "args", "row"),
    [
        ("select $1,$2", [1, 2], (1, 2)),
        ("select $a,$b,$a as c", {"a": 1, "b": 2}, (1, 2, 1)),
        ("select $1,$2 from t where id=$3", [1, 2, 3], (1, 2)),
        ("select $$a,b$$, $1", [1], ("a,b", 1)),
        ("select $tag$a$1,$2$tag$", None, ("a$1,$2",)),
    ],
)
def test_a_dollar_starts_a_marker_or_a_string(query: str, args: Any, row: tuple[object, ...]) -> None:
    [found] = sl.sql(query, args, t=ROWS).to_arrow().to_pylist()
    assert tuple(found.values()) == row


def test_values_skip_files_like_values_in_the_text(tmp_path: Any) -> None:
    table = sl.Table.create(tmp_path / "t", pa.schema([("v", sl.variant())]))
    for start in (0, 100):
        table.append(pa.table({"v": sl.from_json([f'{{"n": {start + n}}}' for n in range(100)])}))
    found = sl.sql("select v:n::int as n from t where v:n::int < $most", {"most": 7}, t=table)
    assert found.to_arrow()["n"].to_pylist() == list(range(7))
    assert "1 of 2 files" in str(found.explain())


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=20))
def test_a_value_is_never_read_as_sql(value: str) -> None:
    table = pa.table({"v": sl.from_json(pa.array(['{"k": "else"}'])), "s": [value]})
    found = sl.sql("select s from t where s = $value and v:k::string <> $value", {"value": value}, t=table)
    assert found.to_arrow()["s"].to_pylist() == [value]


@pytest.mark.parametrize(
    ("query", "args", "message"),
    [
        ("select ?", None, "not provided for the following parameters: 1"),
        ("select $x", {"y": 1}, "not provided for the following parameters: x"),
        ("select 1", [1], "count mismatch"),
        ("select ?", [object()], "Unable to transform python value"),
    ],
)
def test_values_that_do_not_fit_are_our_errors(query: str, args: Any, message: str) -> None:
    with pytest.raises(InvalidExpression, match=message):
        sl.sql(query, args).to_arrow()
