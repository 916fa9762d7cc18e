"""Arrow types of the draft layout: recognised by their parts, refused with their path."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from shredlake.errors import InvalidSchema
from shredlake.kernels import variant
from shredlake.parquet.legacy.types import (
    draft_array,
    draft_rows,
    draft_schema,
    draft_type,
    draft_types,
    is_draft,
)
from shredlake.shredding.legacy import DraftNode, DraftValue, draft_node, shred_draft
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant.value import Variant

BINARY = pa.binary()


@pytest.mark.parametrize("spelling", ["untyped_value", "variant_value"])
@pytest.mark.parametrize(
    "ddl", ["bigint", "decimal(9,2)", "variant", "struct<a bigint, b array<struct<c date>>>"]
)
def test_a_level_and_its_type_are_inverse(ddl: str, spelling: str) -> None:
    node = draft_node(ShreddingSchema.parse(ddl), spelling)
    type_ = draft_type(node)
    assert is_draft(type_)
    assert draft_schema(type_) == node
    assert type_.names == list(node.parts)


@pytest.mark.parametrize(
    ("fields", "draft"),
    [
        ([("untyped_value", BINARY)], True),
        ([("untyped_value", pa.large_binary()), ("_hint", pa.int8())], True),
        ([("untyped_value", BINARY), ("surprise", pa.int8())], True),
        ([("untyped_value", pa.string())], False),
        ([("metadata", BINARY), ("untyped_value", BINARY)], False),
        ([("value", BINARY), ("untyped_value", BINARY)], False),
        ([("typed_value", pa.int64())], False),
        ([("_untyped_value", BINARY)], False),
        ([("object", pa.struct([("a", pa.struct([("typed_value", pa.int8())]))]))], True),
        ([("object", pa.struct([("a", pa.int8())]))], False),
        ([("array", pa.list_(pa.struct([("untyped_value", BINARY)])))], True),
        ([("array", pa.list_(pa.int8()))], False),
    ],
)
def test_the_shape_of_a_draft_column(fields: list[Any], draft: bool) -> None:
    assert is_draft(pa.struct(fields)) == draft


def test_plain_types_are_not_drafts() -> None:
    assert not any(map(is_draft, (pa.int8(), BINARY, pa.list_(pa.int8()), variant())))


def test_drafts_are_found_at_any_depth_but_not_inside_variants() -> None:
    draft = pa.struct([("untyped_value", BINARY)])
    schema = pa.schema([("l", pa.list_(draft)), ("s", pa.struct([("d", draft)])), ("v", variant())])
    assert list(draft_types(schema)) == [("l", "list", "element"), ("s", "d")]


def level(**parts: pa.DataType) -> pa.StructType:
    return pa.struct([("untyped_value", BINARY), *parts.items()])


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (pa.int8(), r"^\$: expected a group of the draft layout, found int8"),
        (pa.struct([]), r"^\$: expected parts of the draft layout, each once, found \[\]"),
        (pa.struct([("typed_value", pa.int8())] * 2), r"each once"),
        (level(variant_value=BINARY), r"^\$: expected one binary untyped_value or variant_value"),
        (level(object=pa.struct([])), r"^\$: object must be a group of fields"),
        (level(array=pa.int8()), r"^\$: array must be a list"),
        (level(typed_value=pa.list_(pa.int8())), r"^\$: typed_value must be a scalar"),
        (level(typed_value=pa.uint8()), r"^\$: uint8 is not a type"),
        (level(array=pa.list_(level(typed_value=pa.uint8()))), r"^\$\[\*\]: uint8"),
        (level(object=pa.struct([("a b", level(other=BINARY))])), r"^\$\['a b'\]: unknown part 'other'"),
    ],
)
def test_types_that_the_draft_does_not_allow(type_: pa.DataType, message: str) -> None:
    with pytest.raises(InvalidSchema, match=message):
        draft_schema(type_)


NODE = draft_node(ShreddingSchema.parse("struct<a bigint, l array<string>>"))
VALUES: list[Any] = [{"a": 1, "l": ["x", 5], "z": 0}, None, "text", {"l": []}, {}]


@pytest.mark.parametrize(("start", "count"), [(0, 6), (1, 3), (4, 2), (6, 0)])
def test_rows_come_back_from_slices(start: int, count: int) -> None:
    rows = [shred_draft(Variant.of(value), NODE) for value in VALUES] + [None]
    array = draft_array(rows, NODE)
    array.validate(full=True)
    assert array.type == draft_type(NODE)
    assert draft_rows(array.slice(start, count), NODE) == rows[start : start + count]


def test_null_groups_are_not_values_that_are_missing() -> None:
    node = DraftNode("untyped_value", array=DraftNode("untyped_value"))
    rows = [DraftValue(array=[None, DraftValue()]), DraftValue(), None]
    assert draft_rows(draft_array(rows, node), node) == rows
