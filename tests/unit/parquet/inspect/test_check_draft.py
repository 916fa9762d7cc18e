"""Rules of the draft layout: rows that break each, what is reported, and what reading makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from draft_values import LEAF, untyped
from shredlake.errors import MalformedVariant, ShreddingConflict
from shredlake.parquet.inspect.check import check
from shredlake.parquet.inspect.rules import DRAFT_RULES
from shredlake.parquet.legacy.convert import convert_draft, read_draft
from shredlake.parquet.legacy.types import draft_array
from shredlake.shredding.legacy import (
    DraftNode,
    DraftValue,
    draft_node,
    shred_draft,
)
from shredlake.shredding.schema import Scalar, ShreddingSchema
from shredlake.variant.types import VariantType
from shredlake.variant.value import Variant
from variant_columns import rows

SCALAR = draft_node(ShreddingSchema.parse("bigint"))
LIST = draft_node(ShreddingSchema.parse("array<bigint>"))
FIELDS = draft_node(ShreddingSchema.parse("struct<a bigint>"))
BOTH = DraftNode("untyped_value", object={"a": LEAF}, typed=Scalar(VariantType.INT64))

# (rule, path, node, value, what default reading makes of it: a Python value, or the error's text)
BROKEN: list[tuple[str, str, DraftNode, DraftValue, Any]] = [
    ("draft-conflict", "$", SCALAR, DraftValue(untyped=untyped("x"), typed=5), ShreddingConflict),
    ("draft-conflict", "$", SCALAR, DraftValue(untyped=untyped(None), typed=5), None),
    ("draft-conflict", "$", LIST, DraftValue(untyped=untyped(None), array=[]), ShreddingConflict),
    ("draft-alternatives", "$", BOTH, DraftValue(object={"a": None}, typed=5), ShreddingConflict),
    ("draft-residual", "$", FIELDS, DraftValue(untyped=untyped(1), object={"a": None}), ShreddingConflict),
    (
        "draft-field-twice",
        "$",
        FIELDS,
        DraftValue(untyped=untyped({"a": 7}), object={"a": DraftValue(typed=5)}),
        {"a": 5},
    ),
    ("draft-field-twice", "$", FIELDS, DraftValue(untyped=untyped({"a": 7}), object={"a": None}), {"a": 7}),
    ("draft-not-shredded", "$", FIELDS, DraftValue(untyped=untyped({})), {}),
    ("draft-not-shredded", "$", LIST, DraftValue(untyped=untyped([1])), [1]),
    ("draft-missing", "$[1]", LIST, DraftValue(array=[DraftValue(typed=1), DraftValue()]), [1, None]),
    ("draft-missing", "$[0]", LIST, DraftValue(array=[None]), [None]),
    ("draft-malformed", "$", SCALAR, DraftValue(untyped=b"\x02\x00\x00\x00"), MalformedVariant),
    ("draft-malformed", "$", SCALAR, DraftValue(untyped=b"\x01\x00\x00"), MalformedVariant),
]


@pytest.mark.parametrize(
    ("rule", "path", "node", "value", "read"), BROKEN, ids=[f"{b[0]} {i}" for i, b in enumerate(BROKEN)]
)
def test_broken_rows(
    rule: str, path: str, node: DraftNode, value: DraftValue, read: Any, tmp_path: Path
) -> None:
    good = shred_draft(Variant.of("good"), node)
    array = draft_array([good, value, good], node)
    file = tmp_path / "f.parquet"
    pq.write_table(pa.table({"v": array}), file)
    breach = check(file)[0]
    assert (breach.rule, breach.row, breach.path) == (rule, 1, path)
    if isinstance(read, type):
        with pytest.raises(read, match="row 1"):
            read_draft(file)
    else:
        assert rows(read_draft(file)["v"])[1] == Variant.of(read)
        if rule != "draft-not-shredded":
            with pytest.raises(ShreddingConflict, match="row 1"):
                read_draft(file, reject_conflicts=True)
        convert_draft(file, tmp_path / "today.parquet")
        assert check(tmp_path / "today.parquet") == []


def test_every_rule_of_the_draft_is_tested() -> None:
    assert {rule for rule, *_ in BROKEN} | {"draft-layout"} == set(DRAFT_RULES)
