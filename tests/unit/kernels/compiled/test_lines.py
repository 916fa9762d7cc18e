"""Text cut into documents: both kernels alike, and alike wherever the text is cut into pieces."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shredlake.kernels.dispatch import COMPILED, Lines
from shredlake.kernels.fallback import lines as fallback

if COMPILED:
    from shredlake.kernels.compiled import lines
else:
    pytest.skip("kernels are not compiled", allow_module_level=True)

KERNELS = pytest.mark.parametrize("kernel", [fallback, lines], ids=["fallback", "compiled"])
TEXTS = st.text('[]{},"\\ \n1a', max_size=40).map(str.encode)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('[]{},"\\ \né', max_size=6),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.text("a,]", max_size=2), below, max_size=3)
    ),
    max_leaves=6,
)


def cut_lines(kernel: Lines, text: bytes, final: bool = True) -> tuple[list[bytes], int]:
    offsets, count, taken = kernel.line_offsets(pa.py_buffer(text), final)
    ends = pa.Array.from_buffers(pa.int32(), count + 1, [None, offsets]).to_pylist()
    return [text[start:end] for start, end in pairwise(ends)], taken


def rows_of(found: Any) -> tuple[Any, ...]:
    """The documents, where each starts, and the rest of a kernel's answer."""
    data, offsets, starts, count, *rest = found
    documents = pa.Array.from_buffers(pa.binary(), count, [None, offsets, data]).to_pylist()
    places = pa.Array.from_buffers(pa.int64(), count, [None, starts]).to_pylist() if count else []
    return documents, places, *rest


def elements(kernel: Lines, text: bytes, final: bool = True, first: bool = True) -> tuple[Any, ...]:
    return rows_of(kernel.array_elements(pa.py_buffer(text), final, first))


def documents(kernel: Lines, text: bytes, final: bool = True) -> tuple[Any, ...]:
    return rows_of(kernel.json_documents(pa.py_buffer(text), final))


@given(TEXTS, st.booleans())
def test_both_kernels_agree_on_any_text(text: bytes, final: bool) -> None:
    for cut in (cut_lines, elements, documents):
        assert cut(fallback, text, final) == cut(lines, text, final)
    assert elements(fallback, text, final, False) == elements(lines, text, final, False)


@KERNELS
@given(TEXTS)
def test_elements_of_any_text_are_the_same_at_every_cut(kernel: Lines, text: bytes) -> None:
    whole = elements(kernel, text)
    for cut in range(len(text) + 1):
        rows, _, taken, closed = elements(kernel, text[:cut], False)
        rest = [] if closed else elements(kernel, text[taken:], True, first=not rows)[0]
        assert rows + rest == whole[0], cut


@KERNELS
@pytest.mark.parametrize(
    ("text", "final", "expected", "taken"),
    [
        (b"", True, [], 0),
        (b"a", False, [], 0),
        (b"a", True, [b"a"], 1),
        (b"a\nb", False, [b"a\n"], 2),
        (b"a\nb", True, [b"a\n", b"b"], 3),
        (b"\n\r\n\n", False, [b"\n", b"\r\n", b"\n"], 4),
    ],
)
def test_lines(kernel: Lines, text: bytes, final: bool, expected: list[bytes], taken: int) -> None:
    assert cut_lines(kernel, text, final) == (expected, taken)


@KERNELS
@pytest.mark.parametrize(
    ("text", "final", "expected"),
    [
        (b"]", False, ([], [], 1, True)),
        (b" \n] trailing", False, ([], [], 3, True)),
        (b"1, 2 ]", False, ([b"1", b"2"], [0, 3], 6, True)),
        (b"1,]", False, ([b"1", b""], [0, 2], 3, True)),
        (b",1]", False, ([b"", b"1"], [0, 1], 3, True)),
        (b'{"a":",]"},[1,[2]]]', False, ([b'{"a":",]"}', b"[1,[2]]"], [0, 11], 19, True)),
        (b'"\\"],",2]', False, ([b'"\\"],"', b"2"], [0, 7], 9, True)),
        (b"1, 2", False, ([b"1"], [0], 2, False)),
        (b"1, 2", True, ([b"1", b"2"], [0, 3], 4, False)),
        (b'"never ends', True, ([b'"never ends'], [0], 11, False)),
        (b"  ", True, ([], [], 2, False)),
    ],
)
def test_elements(kernel: Lines, text: bytes, final: bool, expected: tuple[Any, ...]) -> None:
    assert elements(kernel, text, final) == expected


@KERNELS
@pytest.mark.parametrize(
    ("text", "final", "expected"),
    [
        (b"", True, ([], [], 0)),
        (b" \n ", False, ([], [], 3)),
        (b"{}[]", False, ([b"{}", b"[]"], [0, 2], 4)),
        (b'1 "a""b"true', False, ([b"1", b'"a"', b'"b"'], [0, 2, 5], 8)),
        (b'1 "a""b"true', True, ([b"1", b'"a"', b'"b"', b"true"], [0, 2, 5, 8], 12)),
        (b"12{}", False, ([b"12", b"{}"], [0, 2], 4)),
        (b'{"a":\n {"}": "\\""}}', False, ([b'{"a":\n {"}": "\\""}}'], [0], 19)),
        (b'{"a": ', False, ([], [], 0)),
        (b'{"a": ', True, ([b'{"a":'], [0], 6)),
        (b"]}", True, ([b"]}"], [0], 2)),
    ],
)
def test_documents(kernel: Lines, text: bytes, final: bool, expected: tuple[Any, ...]) -> None:
    assert documents(kernel, text, final) == expected


@KERNELS
@settings(max_examples=30)
@given(st.lists(JSON, max_size=5), st.sampled_from([None, 1]), st.data())
def test_documents_are_the_same_wherever_the_text_is_cut(
    kernel: Lines, values: list[Any], indent: int | None, data: st.DataObject
) -> None:
    texts = [json.dumps(value, indent=indent, ensure_ascii=False).encode() for value in values]
    inside = b" ,\n".join(texts) + b"]"
    at = data.draw(st.integers(0, len(inside)))
    first, _, taken, closed = elements(kernel, inside[:at], False)
    rest = [] if closed else elements(kernel, inside[taken:], True, first=not first)[0]
    assert first + rest == texts

    joined = b"\n".join(texts)
    at = data.draw(st.integers(0, len(joined)))
    first, _, taken = documents(kernel, joined[:at], False)
    assert first + documents(kernel, joined[taken:])[0] == texts

    flat = b"".join(json.dumps(value).encode() + b"\n" for value in values)
    at = data.draw(st.integers(0, len(flat)))
    whole, taken = cut_lines(kernel, flat[:at], False)
    assert whole + cut_lines(kernel, flat[taken:])[0] == flat.splitlines(keepends=True)
