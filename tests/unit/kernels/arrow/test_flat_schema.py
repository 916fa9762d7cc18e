"""Schemas as flat lists of nodes: parents first, names in the order of their bytes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shredlake.kernels.arrow.flat_schema import WIDTHS, Kind, Plan, plan_of
from shredlake.kernels.arrow.types import SCALAR_TYPES
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant.types import PRIMITIVE_IDS, TRUE_ID, VariantType


def flat(ddl: str) -> Plan:
    return plan_of(ShreddingSchema.parse(ddl).root)


def test_the_drawing_in_the_docstring() -> None:
    plan = flat("struct<b bigint, a array<string>>")
    assert [node.kind for node in plan.nodes] == [Kind.OBJECT, Kind.SCALAR, Kind.ARRAY, Kind.SCALAR]
    assert plan.names == (b"a", b"b")
    assert plan.nodes[0].fields == ((0, 2), (1, 1))
    assert plan.nodes[2].element == 3
    assert str(ShreddingSchema(plan.root)) == "struct<b bigint, a array<string>>"


def test_a_name_that_occurs_twice_has_one_number() -> None:
    plan = flat("struct<a struct<a bigint, b struct<a string>>>")
    assert plan.names == (b"a", b"b")
    assert [node.fields for node in plan.nodes] == [((0, 1),), ((0, 2), (1, 3)), (), ((0, 4),), ()]


def test_names_are_ordered_by_bytes_not_by_utf_16() -> None:
    private, emoji = "\uffff", "\U0001f600"
    plan = flat(f"struct<`{emoji}` int, `{private}` int, z int>")
    assert plan.names == (b"z", private.encode(), emoji.encode())
    assert plan.all_names == b"".join(plan.names)
    assert plan.name_starts == [0, 1, 4, 8]


@pytest.mark.parametrize(
    ("ddl", "depth"),
    [
        ("bigint", 0),
        ("variant", 0),
        ("struct<a int>", 1),
        ("array<array<int>>", 2),
        ("struct<a int, b struct<c array<int>>>", 3),
    ],
)
def test_depth(ddl: str, depth: int) -> None:
    assert flat(ddl).depth == depth


def test_nodes_below_an_array_are_marked() -> None:
    plan = flat("struct<a int, b array<struct<c int>>>")
    assert [node.below_array for node in plan.nodes] == [False, False, False, True, True]


def test_children_and_shapes_lead_from_a_node_to_its_fields() -> None:
    plan = flat("struct<b struct<y int, x int>, a array<string>>")
    assert plan.first_children == [0, 2, 4, 4, 4, 4, 4][: len(plan.nodes) + 1]
    assert plan.children == [1, 4, 2, 3]
    assert plan.fields == [(0, 4), (1, 1), (2, 3), (3, 2)]
    assert [(shape[6], shape[7]) for shape in plan.shapes[:2]] == [(0, 2), (2, 2)]


def test_scalars_have_their_type_and_width() -> None:
    [node] = flat("decimal(9,2)").nodes
    assert (node.kind, node.precision, node.scale, node.width) == (Kind.SCALAR, 9, 2, 16)
    assert node.typed_type == pa.decimal128(9, 2)
    [node] = flat("boolean").nodes
    assert (node.type_id, node.width) == (TRUE_ID, 0)
    [node] = flat("variant").nodes
    assert (node.kind, node.typed_type) == (Kind.UNTYPED, None)
    assert node.group_type == pa.struct([("value", pa.binary())])


@pytest.mark.parametrize("kind", [kind for kind in SCALAR_TYPES if kind is not VariantType.BOOLEAN], ids=str)
def test_the_width_of_a_type_is_that_of_its_arrow_column(kind: VariantType) -> None:
    assert kind in PRIMITIVE_IDS
    arrow = SCALAR_TYPES[kind]
    storage = arrow.storage_type if isinstance(arrow, pa.BaseExtensionType) else arrow
    variable = pa.types.is_string(storage) or pa.types.is_binary(storage)
    assert WIDTHS[kind] == (0 if variable else storage.bit_width // 8)


def test_equal_schemas_share_one_plan() -> None:
    assert flat("struct<a bigint>") is flat("struct<a bigint>")
    assert flat("struct<a bigint>") is not flat("struct<a int>")
