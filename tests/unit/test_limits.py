"""Beyond each limit of docs/reliability.md there is an error that names it; some limits can be set."""

from __future__ import annotations

import json
import os
import time
from itertools import pairwise

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.schema.types import MAX_DEPTH as MAX_COLUMN_DEPTH
from shredlake.delta.schema.types import parse_schema
from shredlake.errors import (
    CorruptLog,
    InvalidExpression,
    InvalidFile,
    InvalidJson,
    InvalidSchema,
    MalformedVariant,
)
from shredlake.expr import parse_predicate
from shredlake.expr.grammar import MOST_DIGITS, MOST_LEVELS
from shredlake.parquet.format.thrift import MAX_DEPTH as MAX_THRIFT_DEPTH
from shredlake.parquet.format.thrift import read_struct
from shredlake.shredding.schema import MAX_DEPTH as MAX_LAYOUT_DEPTH
from shredlake.variant.json.parse import MAX_DEPTH, MAX_SIZE


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def test_depth_of_documents() -> None:
    assert len(sl.from_json(pa.array([nested(MAX_DEPTH)]))) == 1
    with pytest.raises(InvalidJson, match=r"nested|deep"):
        sl.from_json(pa.array([nested(MAX_DEPTH + 1)]))
    deeper = sl.from_json(pa.array([nested(5 * MAX_DEPTH)]), max_depth=5 * MAX_DEPTH)
    assert sl.to_json(deeper).to_pylist() == [nested(5 * MAX_DEPTH)]


def test_size_of_documents() -> None:
    assert MAX_SIZE == 128 << 20
    with pytest.raises(InvalidJson):
        sl.from_json(pa.array(['"' + "x" * 100 + '"']), max_size=100)
    assert len(sl.from_json(pa.array(['"' + "x" * 100 + '"']), max_size=200)) == 1


def test_keys_of_an_object() -> None:
    text = json.dumps({f"key {number}": number for number in range(100_000)})
    column = sl.from_json(pa.array([text]))
    assert sl.get(column, "$['key 99999']", pa.int64()).to_pylist() == [99_999]


def test_depth_of_layouts_and_columns() -> None:
    ddl = "array<" * (MAX_LAYOUT_DEPTH + 1) + "bigint" + ">" * (MAX_LAYOUT_DEPTH + 1)
    with pytest.raises(InvalidSchema):
        sl.ShreddingSchema.parse(ddl)
    kind: object = "long"
    for _ in range(MAX_COLUMN_DEPTH + 1):
        kind = {"type": "array", "elementType": kind, "containsNull": True}
    column = {"name": "a", "type": kind, "nullable": True, "metadata": {}}
    with pytest.raises((CorruptLog, InvalidSchema), match="nested"):
        parse_schema(json.dumps({"type": "struct", "fields": [column]}))


def test_expressions() -> None:
    with pytest.raises(InvalidExpression, match="nested too deeply"):
        parse_predicate("NOT " * (MOST_LEVELS + 1) + "true")
    with pytest.raises(InvalidExpression, match="any type"):
        parse_predicate("id = " + "9" * (MOST_DIGITS + 1))
    parse_predicate(" OR ".join(f"id = {number}" for number in range(5000)))  # long is not deep


def test_depth_of_footers() -> None:
    with pytest.raises(InvalidFile):
        read_struct(b"\x1c" * (MAX_THRIFT_DEPTH + 1))


def test_values_that_claim_more_than_they_have() -> None:
    """A count is compared with the bytes before anything of that size is allocated."""
    with pytest.raises(MalformedVariant):
        sl.Variant(b"\x01\x00\x00", b"\x1f\xff\xff\xff\x7f").validate()


def test_columns_of_a_table() -> None:
    """SHREDLAKE_COLUMNS=10000 and `-s` give the figures of docs/reliability.md."""
    count = int(os.environ.get("SHREDLAKE_COLUMNS", "1000"))
    wide = pa.table({f"c{number}": pa.array([number]) for number in range(count)})
    table = sl.Table.create("memory://limits/wide", wide.schema)
    moments = [time.process_time()]
    table.append(wide)
    moments.append(time.process_time())
    assert table.scan(["c999"]).to_arrow().to_pylist() == [{"c999": 999}]
    moments.append(time.process_time())
    assert table.scan().to_arrow().num_columns == count
    moments.append(time.process_time())
    taken = [f"{later - earlier:.1f} s" for earlier, later in pairwise(moments)]
    print(f"{count} columns: appended in {taken[0]}, one read in {taken[1]}, all in {taken[2]}")
