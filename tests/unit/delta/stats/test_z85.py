"""Variants as z85 text: both forms, one by one and by the column."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shredlake as sl
from shredlake.delta.stats import z85

DOCUMENT = [
    "0S&u501fk+ze0(tB98CpzF6vU0rJl95HpNdvjbtatpi(cu0wW^cTu",
    "0S&u500&]LC42A9vqZe}wb#-i1}-a+cT!xdbWhT9cTx}7v<+K",
]


@given(st.binary(max_size=40))
def test_bytes_round_trip_up_to_padding(data: bytes) -> None:
    assert z85.decode(z85.encode(data)) == data + bytes(-len(data) % 4)


@pytest.mark.parametrize("text", ["abc~de", "ünder", "#####", "a"])
def test_what_is_not_z85(text: str) -> None:
    with pytest.raises(sl.MalformedVariant, match="z85"):
        z85.decode(text)


BOUNDS = st.dictionaries(
    st.text(max_size=5).map(lambda name: f"$['{name}']"),
    st.one_of(
        st.integers(-(2**63), 2**63 - 1), st.text(max_size=40), st.floats(allow_nan=False), st.booleans()
    ),
    max_size=6,
)


@given(BOUNDS)
def test_variants_round_trip(bounds: dict[str, object]) -> None:
    value = sl.Variant.of(bounds)
    assert z85.decode_variant(z85.encode_variant(value)) == value


@given(st.lists(st.one_of(st.none(), BOUNDS), max_size=8), st.integers(0, 3))
def test_columns_decode_as_single_texts_do(rows: list[dict[str, object] | None], cut: int) -> None:
    texts = [None if row is None else z85.encode_variant(sl.Variant.of(row)) for row in rows]
    column = pa.array([*texts, "not z85!", DOCUMENT[0], "00000", ""], pa.string()).slice(cut)
    decoded = z85.decode_variants(column)
    assert decoded.type.equals(sl.variant())
    expected = [*(None if row is None else row for row in rows), None, "document", None, None][cut:]
    for row, wanted in zip(decoded.to_pylist(), expected, strict=True):
        if wanted is None:
            assert row is None
        elif wanted == "document":
            assert sl.Variant(row["metadata"], row["value"]).to_python() == {
                "$['a']": "min-string",
                "$['b']['c']": 1,
            }
        else:
            # Zero bytes after the value are padding; the value itself says where it ends.
            [found] = sl.get(pa.array([row], sl.variant()), "$")
            value = found.as_py()
            assert sl.Variant(value["metadata"], value["value"]) == sl.Variant.of(wanted)


def test_the_forms_of_real_engines() -> None:
    text = "0rJlc5f$EczEEx[cTw04cUW9st(>6d00icd1U*?]0000000000"
    assert z85.decode_variant(text).to_python() == {"$['id']": 0, "$['name']": "1"}
    assert z85.encode_variant(z85.decode_variant(text)) == text
