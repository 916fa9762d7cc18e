"""Kernels equal the reference: for any text, any Variant, any bytes, in any slicing."""

from __future__ import annotations

import json
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shredlake import InvalidJson, MalformedVariant, Variant, from_json, to_json, to_python, validate
from shredlake.kernels import variant
from shredlake.kernels.dispatch import COMPILED
from shredlake.variant.json import parse
from strategies import hostile_buffers, json_documents, json_texts_gone_wrong, variants, wide_variants
from variant_columns import column

pytestmark = pytest.mark.skipif(not COMPILED, reason="the kernels are not compiled, or SHREDLAKE_PURE=1")


@st.composite
def damaged_texts(draw: st.DrawFn) -> bytes:
    """JSON with a few bytes changed, added or cut; some of it is still JSON."""
    text = bytearray(draw(json_documents()).encode())
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        change = draw(st.sampled_from(["insert", "cut", "set"]))
        if change == "insert":
            text[at:at] = draw(
                st.sampled_from([bytes([c]) for c in b'"{}[],:\\0.e-'])
                | st.binary(min_size=1, max_size=2)
                | st.sampled_from(json_texts_gone_wrong())
            )
        elif change == "cut":
            del text[at : at + draw(st.integers(1, 3))]
        elif at < len(text):
            text[at] = draw(st.integers(0, 255))
    return bytes(text)


def by_reference(text: bytes, **options: object) -> tuple[object, ...]:
    try:
        found = parse(text, **options)  # type: ignore[arg-type]
    except InvalidJson as error:
        return error.problem, error.position
    return found.metadata, found.value


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(damaged_texts(), min_size=1, max_size=4),
    st.sampled_from(["error", "last_wins"]),
    st.sampled_from([1000, 3]),
    st.sampled_from([128 << 20, 100, 20]),
    st.sampled_from([pa.binary(), pa.large_binary()]),
)
@example([b'{"a":1}', b'{"a":1}'], "error", 1000, 20, pa.binary())
def test_from_json_accepts_rejects_and_encodes_as_the_reference(
    texts: list[bytes], duplicate_keys: str, max_depth: int, max_size: int, layout: pa.DataType
) -> None:
    options = {"duplicate_keys": duplicate_keys, "max_depth": max_depth, "max_size": max_size}
    found, rejects = from_json(pa.array(texts, layout), on_error="collect", **options)  # type: ignore[call-overload]
    found.validate(full=True)
    outcomes: list[tuple[object, ...]] = [row and tuple(row.values()) for row in found.to_pylist()]
    for reject in rejects.to_pylist():
        assert outcomes[reject["row"]] is None
        assert reject["text"] == texts[reject["row"]]
        outcomes[reject["row"]] = reject["reason"], reject["position"]
    assert outcomes == [by_reference(text, **options) for text in texts]


@settings(max_examples=60)
@given(st.lists(st.none() | variants | wide_variants().map(lambda pair: pair[0]), max_size=8), st.data())
def test_to_json_and_to_python_equal_the_reference(rows: list[Variant | None], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(rows)))
    sliced = column(rows).slice(start)
    kept = rows[start:]
    assert to_json(sliced).to_pylist() == [row and row.to_json() for row in kept]
    assert repr(to_python(sliced)) == repr([row and row.to_python() for row in kept])
    cut = data.draw(st.integers(0, len(kept)))
    chunked = pa.chunked_array([sliced.slice(0, cut), sliced.slice(cut)])
    assert to_json(chunked).to_pylist() == [row and row.to_json() for row in kept]
    assert validate(chunked).num_rows == 0


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(hostile_buffers(), min_size=1, max_size=8))
def test_validate_and_to_json_judge_any_bytes_as_the_reference(buffers: list[tuple[bytes, bytes]]) -> None:
    rows = pa.array([{"metadata": metadata, "value": value} for metadata, value in buffers], variant())
    violations = {violation["row"]: violation for violation in validate(rows).to_pylist()}
    for row, (metadata, value) in enumerate(buffers):
        try:
            Variant(metadata, value).validate()
        except MalformedVariant as error:
            assert violations.pop(row)["problem"] == error.problem  # noqa: PT017
        try:
            text = Variant(metadata, value).to_json()
        except MalformedVariant as error:
            with pytest.raises(MalformedVariant) as found:
                to_json(rows.slice(row, 1))
            assert found.value.problem == f"row 0: {error.problem}"  # noqa: PT017
        else:
            assert to_json(rows.slice(row, 1)).to_pylist() == [text]
    assert not violations


@settings(max_examples=40)
@given(json_documents())
def test_text_to_variant_to_text_settles(text: str) -> None:
    """A double prints as 5.0, which parses as a decimal that prints as 5: then the text is stable."""
    once = to_json(from_json(pa.array([text]), on_error="null"))
    twice = to_json(from_json(once))
    assert to_json(from_json(twice)).to_pylist() == twice.to_pylist()
    for before, after in zip(once.to_pylist(), twice.to_pylist(), strict=True):
        assert before is after is None or _exact(before) == _exact(after)


def _exact(text: str) -> object:
    return json.loads(text, parse_int=Decimal, parse_float=Decimal)
