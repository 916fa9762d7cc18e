"""Sort keys: directions and nulls as they are said, in every place that sorts."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import InvalidExpression
from shredlake.expr.sort_key import SortKey, parse_sort_keys, sort_indices
from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.ingest.ingest import IngestOptions, ingest_text
from shredlake.jobs.optimize import optimize_table

NUMBERS = pa.table({"a": [2.0, None, math.nan, -1.0, math.inf], "b": [1, 1, 2, 2, 3]})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", SortKey("a")),
        ("a ASC", SortKey("a")),
        ("v:a.b::bigint desc", SortKey("v:a.b::bigint", descending=True)),
        ("a Desc Nulls First", SortKey("a", descending=True, nulls_first=True)),
        ("a nulls last", SortKey("a")),
        ("v:desc::int", SortKey("v:desc::int")),
    ],
)
def test_keys_are_read(text: str, expected: SortKey) -> None:
    assert parse_sort_keys([text]) == [expected]


@pytest.mark.parametrize("text", ["", "desc nulls sideways", "a b desc", "a descending", "a AS x", "a,, b"])
def test_what_is_not_a_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidExpression):
        parse_sort_keys([text])


@pytest.mark.parametrize(
    ("key", "order"),
    [
        ("a", [3, 0, 4, 2, 1]),
        ("a desc", [2, 4, 0, 3, 1]),
        ("a desc nulls first", [1, 2, 4, 0, 3]),
        ("a nulls first", [1, 3, 0, 4, 2]),
        ("b desc, a", [4, 3, 2, 0, 1]),
    ],
)
def test_rows_are_sorted_as_told(key: str, order: list[int]) -> None:
    assert sort_indices(parse_sort_keys([key]), NUMBERS).to_pylist() == order


def test_a_variant_has_no_order() -> None:
    table = pa.table({"v": sl.from_json(pa.array(["1"]))})
    with pytest.raises(InvalidExpression, match="v is a Variant, which has no order"):
        sort_indices(parse_sort_keys(["v"]), table)


def test_ingest_and_optimize_sort_descending(tmp_path: Path) -> None:
    source, table = tmp_path / "d.ndjson", str(tmp_path / "t")
    source.write_text("".join(json.dumps({"id": n * 7 % 50}) + "\n" for n in range(50)))
    ingest_text(LocalEngine(1), str(source), table, IngestOptions(sort_by=("v:id::bigint desc",)))
    ids = sl.Table(table).scan("v:id::bigint AS id").to_arrow().column("id").to_pylist()
    assert ids == list(range(49, -1, -1))
    optimize_table(LocalEngine(1), table, sort_by=("v:id::bigint % 2 desc, v:id::bigint desc",))
    ids = sl.Table(table).scan("v:id::bigint AS id").to_arrow().column("id").to_pylist()
    assert ids == [*range(49, -1, -2), *range(48, -1, -2)]
    with pytest.raises(InvalidExpression):
        optimize_table(LocalEngine(1), table, sort_by=("v:id::bigint down",))
