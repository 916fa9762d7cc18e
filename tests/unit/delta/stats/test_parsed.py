"""The typed statistics of a checkpoint: which columns there are, their types, and how bounds are shredded."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.stats.collect import Leaf
from shredlake.delta.stats.columns import JsonPiece, ParsedPiece, Side, pieces_of
from shredlake.delta.stats.parsed import StatsColumns, shredding_of
from shredlake.delta.stats.z85 import encode_variant
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.create import planned

V, W = Leaf(("v",), ("v",), "variant"), Leaf(("w",), ("w",), "variant")
SCHEMA = pa.schema(
    [
        ("p", pa.string()),
        ("id", pa.int64()),
        ("flag", pa.bool_()),
        ("s", pa.struct([("b", pa.binary()), ("n", pa.decimal128(9, 2))])),
        ("l", pa.list_(pa.int32())),
        ("v", sl.variant()),
    ]
)
SHREDDED = {"delta.enableVariantShredding": "true"}


def columns_of(**properties: str) -> StatsColumns:
    place = Storage("memory://parsed-stats/t")
    given = {f"delta.{name}": value for name, value in properties.items()}
    return StatsColumns.of(planned(place, SCHEMA, ["p"], SHREDDED | given))


def names(leaves: tuple[Leaf, ...]) -> list[str]:
    return [".".join(leaf.names) for leaf in leaves]


def test_partition_columns_have_no_statistics_and_some_types_no_bounds() -> None:
    columns = columns_of()
    assert names(columns.counted) == ["id", "flag", "s.b", "s.n", "l", "v"]
    assert names(columns.bounded) == ["id", "s.n", "v"]
    assert names(tuple(columns.variant_leaves)) == ["v"]


def test_variants_have_bounds_only_with_shredding() -> None:
    assert names(columns_of(enableVariantShredding="false").bounded) == ["id", "s.n"]


def test_the_type_holds_what_the_columns_say() -> None:
    kind = columns_of().arrow_type()
    assert [item.name for item in kind] == ["numRecords", "minValues", "maxValues", "nullCount"]
    least = kind.field("minValues").type
    assert [item.name for item in least] == ["id", "s", "v"]
    assert least.field("s").type == pa.struct([("n", pa.decimal128(9, 2))])
    assert least.field("v").type == sl.variant()
    assert kind.field("nullCount").type.field("s").type == pa.struct([("b", pa.int64()), ("n", pa.int64())])


def test_tables_with_deletion_vectors_say_whether_bounds_are_tight() -> None:
    kind = columns_of(enableDeletionVectors="true").arrow_type()
    assert kind.field("tightBounds").type == pa.bool_()


def test_without_columns_only_rows_are_counted() -> None:
    columns = columns_of(dataSkippingNumIndexedCols="0")
    assert columns.arrow_type() == pa.struct([("numRecords", pa.int64())])
    assert columns.rows(JsonPiece.of(pa.array(['{"numRecords":3}', None]))).to_pylist() == [
        {"numRecords": 3},
        None,
    ]


def test_a_file_without_a_row_count_has_no_statistics() -> None:
    stats = {"numRecords": 3, "minValues": {"id": 1, "s": {"n": 1.25}}, "nullCount": {"s": {"b": 2}}}
    known, unknown = json.dumps(stats), json.dumps(stats | {"numRecords": None})
    found = columns_of().rows(JsonPiece.of(pa.array([known, unknown, None, "{"])))
    assert found.type == columns_of().arrow_type()
    first, *others = found.to_pylist()
    assert others == [None, None, None]
    assert (first["minValues"]["id"], first["maxValues"]["id"]) == (1, None)
    assert first["minValues"]["s"]["n"] == Decimal("1.25")
    assert first["nullCount"]["s"] == {"b": 2, "n": None}
    assert len(columns_of().rows(JsonPiece.of(pa.array([], pa.string())))) == 0


# ── How bounds are shredded ─────────────────────────────────────────────────────────────────────────────


def piece(*bounds: dict[str, Any], side: Side = "minValues") -> JsonPiece:
    texts = [json.dumps({side: {"v": encode_variant(sl.Variant.of(one))}}) for one in bounds]
    return JsonPiece.of(pa.array(texts))


def shredding(*pieces: JsonPiece) -> str | None:
    found = shredding_of(pieces, [V])
    return str(found[V]) if V in found else None


def test_each_path_has_its_most_frequent_type() -> None:
    first = piece({"$['a']": 1, "$['b']": "x"}, {"$['a']": "x"})
    assert shredding(first, piece({"$['a']": 2})) == "struct<`$['a']` bigint, `$['b']` string>"


@pytest.mark.parametrize(("value", "name"), [(True, "boolean"), (1.5, "double"), ("x", "string")])
def test_maxima_count_too(value: Any, name: str) -> None:
    assert shredding(piece({"$['a']": value}, side="maxValues")) == f"struct<`$['a']` {name}>"


def test_decimals_of_all_scales_fit_one() -> None:
    found = shredding(piece(*({"$['a']": Decimal(text)} for text in ("1.5", "1.125", "20"))))
    assert found == "struct<`$['a']` decimal(38,3)>"


@pytest.mark.parametrize("bounds", [[], [{}], [{"$['a']": None}], [{"$['a']": {"b": 1}}]])
def test_without_scalars_there_is_nothing_to_shred(bounds: list[dict[str, Any]]) -> None:
    assert shredding(piece(*bounds) if bounds else JsonPiece.of(pa.array([], pa.string()))) is None


def test_only_the_columns_that_are_asked_for() -> None:
    assert shredding_of([piece({"$['a']": 1})], []) == {}
    assert shredding_of([piece({"$['a']": 1})], [W]) == {}


def test_the_layout_of_an_older_checkpoint_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = sl.Table.create(tmp_path, pa.schema([("v", sl.variant())]), properties=SHREDDED)
    for number in range(3):
        table.append([{"v": {"a": number}}], shredding={"v": "struct<a bigint>"})
    table.checkpoint()
    monkeypatch.setattr(ParsedPiece, "variant_bounds", None)  # its schema says enough: no row is read
    [typed, recent] = pieces_of(sl.Table(tmp_path).snapshot.files)
    found = shredding_of([typed, recent, piece({"$['a']": "x"})], [V])
    assert str(found[V]) == "struct<`$['a']` bigint>"
