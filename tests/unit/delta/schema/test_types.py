"""Schemas: JSON and Arrow, Variants anywhere, physical names."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.protocol.actions import Protocol
from shredlake.delta.protocol.features import (
    FEATURES,
    reader_features,
    require_readable,
    require_writable,
    required_by_properties,
    supports,
    with_features,
    writer_features,
)
from shredlake.delta.schema.column_mapping import assign
from shredlake.delta.schema.types import (
    Array,
    Field,
    Map,
    Struct,
    arrow_schema,
    features_of,
    from_arrow,
    parse_schema,
    physical_type,
    schema_json,
)

EVERYTHING = pa.schema(
    [
        ("a", pa.string()),
        ("b", pa.int64()),
        ("c", pa.int32()),
        ("d", pa.int16()),
        ("e", pa.int8()),
        ("f", pa.float32()),
        ("g", pa.float64()),
        ("h", pa.bool_()),
        ("i", pa.binary()),
        ("j", pa.date32()),
        ("k", pa.timestamp("us", tz="UTC")),
        ("l", pa.timestamp("us")),
        ("m", pa.decimal128(20, 3)),
        ("n", sl.variant()),
        ("o", pa.list_(pa.field("element", sl.variant(), nullable=False))),
        ("p", pa.map_(pa.string(), sl.variant())),
        pa.field("q", pa.struct([pa.field("v", sl.variant(), nullable=False)]), nullable=False),
        ("r", pa.list_(pa.field("element", pa.list_(pa.field("element", pa.struct([("x", sl.variant())])))))),
    ]
)


def test_arrow_to_json_and_back() -> None:
    schema = from_arrow(EVERYTHING)
    again = parse_schema(schema_json(schema))
    assert again == schema
    assert arrow_schema(again).equals(EVERYTHING)


def test_variants_are_named_wherever_they_are() -> None:
    fields = json.loads(schema_json(from_arrow(EVERYTHING)))["fields"]
    by_name = {field["name"]: field["type"] for field in fields}
    assert by_name["n"] == "variant"
    assert by_name["o"] == {"type": "array", "elementType": "variant", "containsNull": False}
    assert by_name["p"] == {
        "type": "map",
        "keyType": "string",
        "valueType": "variant",
        "valueContainsNull": True,
    }
    assert by_name["q"]["fields"] == [{"name": "v", "type": "variant", "nullable": False, "metadata": {}}]


@pytest.mark.parametrize("element", ['"variant"', '{"type": "variant"}'])
def test_both_spellings_of_a_nested_variant_are_read(element: str) -> None:
    array = f'{{"type": "array", "elementType": {element}, "containsNull": true}}'
    field = f'{{"name": "a", "type": {array}, "nullable": true, "metadata": {{}}}}'
    text = f'{{"type": "struct", "fields": [{field}]}}'
    assert parse_schema(text) == Struct((Field("a", Array("variant")),))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pa.large_string(), "string"),
        (pa.string_view(), "string"),
        (pa.large_binary(), "binary"),
        (pa.date64(), "date"),
        (pa.timestamp("ns", tz="Europe/Berlin"), "timestamp"),
        (pa.timestamp("s"), "timestamp_ntz"),
        (pa.dictionary(pa.int8(), pa.string()), "string"),
        (pa.large_list(pa.int8()), Array("byte")),
        (pa.uuid(), "binary"),
        (sl.shredded_type(sl.ShreddingSchema.parse("struct<a bigint>")), "variant"),
        (pa.null(), "void"),
    ],
)
def test_other_arrow_types(kind: pa.DataType, name: object) -> None:
    assert from_arrow(pa.schema([("x", kind)])).fields[0].type == name


@pytest.mark.parametrize(
    "kind", [pa.uint8(), pa.time64("us"), pa.duration("s"), pa.float16(), pa.decimal256(50, 2)]
)
def test_types_that_a_table_has_not(kind: pa.DataType) -> None:
    with pytest.raises(
        sl.InvalidSchema, match=r"column s\.x has the Arrow type .* which a Delta table can't hold"
    ):
        from_arrow(pa.schema([("s", pa.struct([("x", kind)]))]))


def test_names_that_differ_in_case_only() -> None:
    with pytest.raises(sl.InvalidSchema, match="two columns called 'id' and 'ID'"):
        from_arrow(pa.schema([("id", pa.int8()), ("ID", pa.int8())]))


def test_column_mapping_gives_every_field_a_name_and_an_id() -> None:
    schema = from_arrow(
        pa.schema([("s", pa.struct([("x", pa.int8())])), ("l", pa.list_(pa.struct([("y", pa.int8())])))])
    )
    mapped, properties = assign(schema, {"delta.columnMapping.mode": "name"})
    assert properties["delta.columnMapping.maxColumnId"] == "4"
    text = schema_json(mapped)
    assert text.count("delta.columnMapping.physicalName") == text.count('"delta.columnMapping.id":') == 4
    again, _ = assign(mapped, properties)
    assert again == mapped, "ids and names never change"
    physical = physical_type(mapped)
    assert isinstance(physical, Struct)
    assert all(field.name.startswith("col-") for field in physical.fields)
    with pytest.raises(sl.InvalidSchema, match="it can be none, name or id"):
        assign(schema, {"delta.columnMapping.mode": "maybe"})


def test_features_that_types_need() -> None:
    assert features_of(Struct((Field("a", Map("string", Array("variant"))),))) == {"variantType"}
    assert features_of(Struct((Field("a", Struct((Field("t", "timestamp_ntz"),))),))) == {"timestampNtz"}
    assert features_of(Struct((Field("a", "long", metadata={"CURRENT_DEFAULT": "1"}),))) == {
        "allowColumnDefaults"
    }


# ── Features ────────────────────────────────────────────────────────────────────────────────────────────


def test_protocols_grow_only_as_far_as_needed() -> None:
    plain = Protocol(1, 2)
    assert with_features(plain, set()) == plain
    assert with_features(plain, {"checkConstraints"}) == Protocol(1, 3)
    assert with_features(plain, {"changeDataFeed"}) == Protocol(1, 4)
    assert with_features(plain, {"columnMapping"}) == Protocol(2, 5)
    assert with_features(plain, {"inCommitTimestamp"}) == Protocol(
        1, 7, None, ("appendOnly", "inCommitTimestamp", "invariants")
    )
    assert with_features(Protocol(2, 5), {"variantType"}) == Protocol(
        3,
        7,
        ("columnMapping", "variantType"),
        (
            "appendOnly",
            "changeDataFeed",
            "checkConstraints",
            "columnMapping",
            "generatedColumns",
            "invariants",
            "variantType",
        ),
    )
    listed = Protocol(3, 7, (), ("appendOnly",))
    assert with_features(listed, {"changeDataFeed"}) == Protocol(3, 7, (), ("appendOnly", "changeDataFeed"))
    shredding = with_features(plain, {"variantShredding"})
    assert shredding.reader_features == ("variantShredding", "variantType")


def test_a_preview_name_is_the_feature() -> None:
    preview = Protocol(3, 7, ("variantType-preview",), ("variantType-preview",))
    assert supports(preview, "variantType")
    assert with_features(preview, {"variantType"}) == preview


def test_properties_that_need_features() -> None:
    needed = required_by_properties(
        {
            "delta.enableVariantShredding": "true",
            "delta.appendOnly": "false",
            "delta.constraints.positive": "a > 0",
            "delta.feature.vacuumProtocolCheck": "supported",
            "delta.columnMapping.mode": "id",
            "delta.checkpointPolicy": "v2",
        }
    )
    assert needed == {
        "variantShredding",
        "variantType",
        "checkConstraints",
        "vacuumProtocolCheck",
        "columnMapping",
        "v2Checkpoint",
    }


def test_unknown_reader_features_are_named() -> None:
    protocol = Protocol(3, 7, ("variantType", "timeMachine"), ("variantType", "timeMachine"))
    with pytest.raises(
        sl.UnsupportedFeature, match="x can't be read: it uses the reader feature timeMachine"
    ):
        require_readable(protocol, "x")
    with pytest.raises(sl.UnsupportedFeature, match="reader version 9"):
        require_readable(Protocol(9, 9), "x")
    with pytest.raises(sl.UnsupportedFeature, match="catalogManaged"):
        require_readable(Protocol(3, 7, ("catalogManaged",), ("catalogManaged",)), "x")


@pytest.mark.parametrize(
    "name", ["rowTracking", "identityColumns", "icebergCompatV1", "icebergCompatV2", "soundTrack"]
)
def test_unknown_writer_features_are_named_and_do_not_hinder_reading(name: str) -> None:
    protocol = Protocol(3, 7, ("variantType",), ("variantType", name))
    require_readable(protocol, "x")
    with pytest.raises(sl.UnsupportedFeature, match=f"can't be written: it uses the writer feature {name}"):
        require_writable(protocol, "x")


def test_every_feature_that_must_be_read_is_read() -> None:
    wanted = {
        "variantType",
        "variantType-preview",
        "variantShredding",
        "variantShredding-preview",
        "timestampNtz",
        "columnMapping",
        "deletionVectors",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "typeWidening",
    }
    assert wanted <= {name for name, feature in FEATURES.items() if feature.reader and feature.read}
    require_readable(Protocol(3, 7, tuple(sorted(wanted)), tuple(sorted(wanted))), "x")


def test_features_of_numbered_protocols() -> None:
    assert reader_features(Protocol(2, 5)) == {"columnMapping"}
    assert "identityColumns" in writer_features(Protocol(1, 6))
    with pytest.raises(sl.UnsupportedFeature, match="identityColumns"):
        require_writable(Protocol(1, 6), "x")
