"""Statistics of many files as columns: the same from JSON and from a checkpoint's typed columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import PROTOCOL, add, metadata, variants, write_commit
from shredlake.delta.stats.collect import Leaf
from shredlake.delta.stats.columns import JsonPiece, ParsedPiece, Piece, pieces_of, widened
from shredlake.delta.stats.z85 import encode_variant
from shredlake.kernels.arrow.types import is_variant

ID, X, V = Leaf(("id",), ("id",), "long"), Leaf(("x",), ("x",), "double"), Leaf(("v",), ("v",), "variant")
INNER = Leaf(("s", "a.b"), ("s", "a.b"), "string")
SCHEMA = pa.schema(
    [("id", pa.int64()), ("x", pa.float64()), ("s", pa.struct([("a.b", pa.string())])), ("v", sl.variant())]
)


def texts(*stats: Any) -> JsonPiece:
    return JsonPiece.of(
        pa.array(
            [one if one is None or isinstance(one, str) else json.dumps(one) for one in stats], pa.string()
        )
    )


def values(column: pa.Array) -> list[Any]:
    if is_variant(column.type):
        return [None if text is None else json.loads(text) for text in sl.to_json(column).to_pylist()]
    return list(column.to_pylist())


# ── JSON ────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_not_recorded_or_can_t_be_read_is_unknown() -> None:
    piece = texts(None, "{", "[]", {}, {"numRecords": "x", "minValues": 7, "nullCount": {"id": []}})
    assert piece.count == 5
    for column in (
        piece.num_records(), piece.tight_bounds(), piece.null_count(ID), piece.bound("minValues", ID),
        piece.bound("maxValues", INNER), piece.variant_bounds("minValues", V),
        piece.variant_bound("minValues", V, "$['a']"),
    ):  # fmt: skip
        assert len(column) == column.null_count == 5


def test_values_are_in_the_types_of_their_columns() -> None:
    piece = texts(
        {
            "numRecords": 3,
            "tightBounds": False,
            "minValues": {"id": 1, "s": {"a.b": "x"}},
            "nullCount": {"id": 2},
        },
        {"numRecords": 4, "minValues": {"id": 9007199254740993}, "nullCount": {"s": {"a.b": 4}}},
    )
    assert values(piece.num_records()) == [3, 4]
    assert values(piece.tight_bounds()) == [False, None]
    assert values(piece.bound("minValues", ID)) == [1, 9007199254740993]
    assert values(piece.bound("minValues", INNER)) == ["x", None]
    assert (values(piece.null_count(ID)), values(piece.null_count(INNER))) == ([2, None], [None, 4])


def test_the_last_of_two_equal_keys_counts_as_in_other_readers() -> None:
    assert values(texts('{"numRecords":1,"numRecords":2}').num_records()) == [2]


def test_nan_is_not_a_bound() -> None:
    piece = texts({"maxValues": {"x": "NaN"}}, {"maxValues": {"x": 1.5}})
    assert values(piece.bound("maxValues", X)) == [None, 1.5]


def of_paths(**found: Any) -> str:
    return encode_variant(sl.Variant.of({f"$['{name}']": value for name, value in found.items()}))


def test_bounds_of_paths_differ_in_type_from_file_to_file() -> None:
    damaged = of_paths(a=1, b="long enough to be cut")[:-5]
    piece = texts(
        *({"minValues": {"v": text}} for text in (of_paths(a=1), of_paths(a="x", b=2), damaged, "?"))
    )
    assert values(piece.variant_bounds("minValues", V)) == [
        {"$['a']": 1},
        {"$['a']": "x", "$['b']": 2},
        None,
        None,
    ]
    assert values(piece.variant_bound("minValues", V, "$['a']")) == [1, "x", None, None]
    assert values(piece.variant_bound("minValues", V, "$['gone']")) == [None] * 4


def test_json_is_read_once_until_it_is_released() -> None:
    reads = []

    def read() -> pa.Array:
        reads.append(1)
        return pa.array(['{"numRecords":1}'])

    piece = JsonPiece(1, read)
    assert piece.count == 1
    assert not reads
    piece.num_records()
    piece.null_count(ID)
    assert len(reads) == 1
    piece.release()
    piece.num_records()
    assert len(reads) == 2


# ── Typed columns ───────────────────────────────────────────────────────────────────────────────────────


def test_typed_columns_say_what_the_json_says(tmp_path: Path) -> None:
    properties = {"delta.checkpoint.writeStatsAsJson": "true"}
    table = sl.Table.create(tmp_path, SCHEMA, properties=properties)
    rows = [{"id": 1, "x": 0.5, "s": {"a.b": "p"}}, {"id": 7, "x": float("nan"), "s": None}]
    for row, value, layout in zip(rows, ({"a": 1}, {"a": "z", "b": 2}), ("bigint", "string"), strict=True):
        data = pa.Table.from_pylist([row], pa.schema(list(SCHEMA)[:3])).append_column("v", variants([value]))
        table.append(data, shredding={"v": f"struct<a {layout}>"})
    table.checkpoint()
    files = sl.Table(tmp_path).snapshot.files
    [typed, recent] = pieces_of(files)
    [text, _] = pieces_of(files, typed=False)
    assert isinstance(typed, ParsedPiece)
    assert isinstance(text, JsonPiece)
    assert (typed.count, text.count, recent.count) == (2, 2, 0)

    def facts(piece: Piece) -> list[list[Any]]:
        found = [
            piece.num_records(),
            piece.tight_bounds(),
            *(piece.null_count(leaf) for leaf in (ID, X, INNER, V)),
        ]
        for side in ("minValues", "maxValues"):
            found += [piece.bound(side, leaf) for leaf in (ID, X, INNER)]
            found += [piece.variant_bounds(side, V)]
            found += [piece.variant_bound(side, V, f"$['{name}']") for name in "abc"]
        return [values(column) for column in found]

    assert facts(typed) == facts(text)
    assert sorted(values(typed.bound("minValues", ID))) == [1, 7]
    shredding = typed.layout("minValues", V)
    assert shredding is not None
    assert "$['a']" in str(shredding)
    assert typed.layout("minValues", ID) is None


def test_a_column_that_the_checkpoint_lacks_is_unknown(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1]}))
    table.checkpoint()
    [typed, _] = pieces_of(sl.Table(tmp_path).snapshot.files)
    new = Leaf(("new",), ("new",), "string")
    assert values(typed.bound("minValues", new)) == values(typed.null_count(new)) == [None]
    assert values(typed.variant_bounds("minValues", V)) == [None]
    assert values(typed.variant_bound("minValues", V, "$['a']")) == [None]
    assert values(typed.bound("minValues", Leaf(("id",), ("id",), "date"))) == [None]  # of another type now
    assert values(typed.variant_bounds("minValues", Leaf(("id",), ("id",), "variant"))) == [None]


def test_recent_files_come_after_those_of_the_checkpoint(tmp_path: Path) -> None:
    write_commit(tmp_path, 0, [PROTOCOL, metadata(), add("a", stats='{"numRecords":1}')])
    sl.Table(tmp_path).checkpoint()
    write_commit(tmp_path, 1, [add("b", stats='{"numRecords":2}')])
    found = [values(piece.num_records()) for piece in pieces_of(sl.Table(tmp_path).snapshot.files)]
    assert found == [[1], [2]]


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_maxima_of_moments_are_widened_to_their_millisecond(kind: str) -> None:
    moments = pa.array([0, -1000, None, 2**63 - 1], pa.int64()).cast(pa.timestamp("us"))
    found = widened(moments, kind)
    assert found.cast(pa.int64()).to_pylist() == [999, -1, None, 2**63 - 1]
    assert found.type == moments.type


def test_other_maxima_are_as_they_are() -> None:
    assert widened(pa.array([1]), "long").to_pylist() == [1]
