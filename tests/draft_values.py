"""Values and levels of the older draft of shredding, from its document, for the tests of the draft."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from shredlake.shredding.legacy import DraftNode, draft_node, join_untyped, split_untyped
from shredlake.shredding.schema import Scalar, ShreddingSchema
from shredlake.variant.types import VariantType
from shredlake.variant.value import Variant

OBJECT = draft_node(ShreddingSchema.parse("struct<a bigint, b struct<c string>>"))
LEAF = DraftNode("untyped_value", typed=Scalar(VariantType.INT64), parts=("typed_value", "untyped_value"))
ARRAY = DraftNode(
    "untyped_value",
    array=DraftNode("untyped_value", object={"a": DraftNode("untyped_value", array=LEAF), "b": LEAF}),
)


def untyped(value: Any) -> bytes:
    return join_untyped(Variant.of(value))


def python(piece: bytes | None) -> Any:
    return "absent" if piece is None else split_untyped(piece).to_python()


# (value, top-level untyped_value, b's untyped_value, what is filled in a, what is filled in b.c)
FIRST_EXAMPLE: list[tuple[Any, Any, Any, str | None, str | None]] = [
    ({"a": 123, "b": {"c": "hello"}}, "absent", "absent", "typed", "typed"),
    ({"a": Decimal("1.23"), "b": {"c": "123"}}, "absent", "absent", "untyped", "typed"),
    ({"a": [1, 2, 3], "b": {"c": None}}, "absent", "absent", "untyped", "untyped"),
    ({"a": 123, "c": 456}, {"c": 456}, "absent", "typed", None),
    ({"a": 123, "b": {"c": "hello", "d": 456}}, "absent", {"d": 456}, "typed", "typed"),
    (
        [{"a": 1, "b": {"c": 2}}, {"a": 3, "b": {"c": 4}}],
        [{"a": 1, "b": {"c": 2}}, {"a": 3, "b": {"c": 4}}],
        "absent",
        None,
        None,
    ),
]
