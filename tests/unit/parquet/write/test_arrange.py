"""The layout of each Variant of a table: chosen, and given to it at any depth."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from shredlake.errors import InvalidSchema, MalformedVariant
from shredlake.kernels import shred, shredded_type, variant
from shredlake.parquet.write.arrange import (
    arrange,
    arrange_variant,
    choose_schemas,
    requested_schemas,
    stored_variant,
)
from shredlake.shredding.schema import ShreddingSchema
from variant_columns import MISSING, column_of, rows

BIGINT = ShreddingSchema.parse("bigint")
VALUES: list[Any] = [{"a": 1}, {"a": "x"}, MISSING, None, 5]
WIDE = ShreddingSchema.parse("struct<a bigint, b array<string>>")


def nested(values: pa.Array) -> pa.Table:
    """A table with the values in a list and in a struct, and a plain column."""
    lists = pa.ListArray.from_arrays(pa.array([0, 2, None, len(values)], pa.int32()), values)
    structs = pa.StructArray.from_arrays([values.slice(0, 3)], names=["x"])
    return pa.table({"l": lists, "s": structs, "id": [1, 2, 3]})


@pytest.mark.parametrize("after", [None, BIGINT, WIDE])
@pytest.mark.parametrize("before", [None, BIGINT, WIDE])
@pytest.mark.parametrize(("start", "count"), [(0, 5), (1, 3), (5, 0)])
def test_any_layout_becomes_any_other(
    before: ShreddingSchema | None, after: ShreddingSchema | None, start: int, count: int
) -> None:
    column = column_of(VALUES)
    given = (column if before is None else shred(column, before)).slice(start, count)
    found = arrange_variant(given, after, "v")
    assert found.type == (stored_variant() if after is None else shredded_type(after))
    found.validate(full=True)
    assert rows(found) == rows(column_of(VALUES[start : start + count]))
    assert found.field("metadata").null_count == 0, "required columns hold no nulls, even under a null"


def test_variants_inside_others_are_arranged_and_the_rest_stays() -> None:
    table = nested(column_of(VALUES))
    chosen = {("l", "list", "element"): WIDE, ("s", "x"): None}
    found = arrange(table, chosen)
    assert found.schema.field("l").type.value_type == shredded_type(WIDE)
    assert found.schema.field("s").type.field("x").type == stored_variant()
    assert rows(found["l"].chunk(0).flatten()) == rows(table["l"].chunk(0).flatten())
    assert found["id"] == table["id"]
    assert arrange(table, {}) == table


def test_other_spellings_of_a_layout_are_made_plain() -> None:
    level = pa.struct([("typed_value", pa.large_string())])
    metadata = pa.field("metadata", pa.dictionary(pa.int8(), pa.binary()))
    type_ = pa.struct([("typed_value", pa.struct([("s", level)])), metadata])
    schema = ShreddingSchema.parse("struct<s string>")
    names = column_of([{"s": 1}])[0].as_py()["metadata"]
    array = pa.array([{"metadata": names, "typed_value": {"s": {"typed_value": "x"}}}, None], type_)
    found = arrange_variant(array, schema, "v")
    assert found.type == shredded_type(schema)
    assert rows(found) == rows(column_of([{"s": "x"}, MISSING]))


def test_a_null_part_of_a_variant_that_is_not_null_is_an_error_with_its_row() -> None:
    good = column_of([1])[0].as_py()
    for broken in ({**good, "value": None}, {**good, "metadata": None}):
        parts = [
            pa.array([one[name] for one in (good, broken)], pa.binary()) for name in ("metadata", "value")
        ]
        array = pa.StructArray.from_arrays(parts, names=["metadata", "value"])
        with pytest.raises(MalformedVariant, match=r"s\.x, row 1: its metadata or value is null"):
            arrange_variant(array, None, "s.x")


def test_requests_are_those_of_the_call_or_inferred() -> None:
    schema = nested(column_of(VALUES)).schema
    place, other = ("l", "list", "element"), ("s", "x")
    assert requested_schemas(schema, "infer") == {place: "infer", other: "infer"}
    assert requested_schemas(schema, None) == {place: None, other: None}
    asked = requested_schemas(schema, {"s.x": "bigint"})
    assert asked == {place: "infer", other: BIGINT}
    assert requested_schemas(schema, "infer", [other]) == {other: "infer"}
    assert requested_schemas(schema, {"s.x": "variant"})[other] is None, "a schema that shreds nothing"


def test_a_shredded_column_keeps_its_schema() -> None:
    schema = pa.schema([("v", shredded_type(WIDE)), ("w", variant())])
    assert requested_schemas(schema, "infer") == {("v",): WIDE, ("w",): "infer"}
    assert requested_schemas(schema, None) == {("v",): None, ("w",): None}


def test_schemas_are_inferred_from_all_chunks_at_any_depth() -> None:
    table = pa.concat_tables([nested(column_of([{"n": 1}] * 4)), nested(column_of([{"m": "x"}] * 4))])
    place = ("l", "list", "element")
    chosen = choose_schemas({place: "infer", ("s", "x"): BIGINT}, table)
    assert str(chosen[place]) == "struct<m string, n bigint>"
    assert chosen["s", "x"] == BIGINT
    assert choose_schemas({}, table) == {}


def test_nothing_worth_shredding_is_unshredded() -> None:
    for values in ([], [MISSING], [None]):
        table = pa.table({"v": column_of(values)})
        assert choose_schemas({("v",): "infer"}, table) == {("v",): None}


def test_a_schema_too_deep_for_a_file_is_refused() -> None:
    schema = pa.schema([("v", variant())])
    deep = "array<" * 32 + "bigint" + ">" * 32
    assert requested_schemas(schema, {"v": deep})
    with pytest.raises(InvalidSchema, match="the schema for v needs 101 levels"):
        requested_schemas(schema, {"v": f"array<{deep}>"})
