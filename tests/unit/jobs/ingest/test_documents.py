"""How text is split into documents, whole and in pieces."""

from __future__ import annotations

import pytest

from shredlake.jobs.ingest.documents import (
    Framing,
    framing,
    is_array,
    split_documents,
    split_elements,
    split_lines,
)


def test_lines_keep_their_ends(kernels: str) -> None:
    found = split_lines(b"a\r\n\nb\n")
    assert found.rows.to_pylist() == [b"a\r\n", b"\n", b"b\n"]
    assert found.starts.to_pylist() == [0, 3, 4]


@pytest.mark.parametrize(("final", "rows", "taken"), [(True, [b"a\n", b"b"], 3), (False, [b"a\n"], 2)])
def test_the_last_line_is_a_line_only_at_the_end(
    kernels: str, final: bool, rows: list[bytes], taken: int
) -> None:
    found = split_lines(b"a\nb", final=final)
    assert (found.rows.to_pylist(), found.taken) == (rows, taken)


ELEMENTS = b' {"a": "],"} ,\n[1, [2]], "x" ] rest'


def test_elements_in_any_pieces_are_those_of_the_whole(kernels: str) -> None:
    whole = split_elements(ELEMENTS)
    assert whole.rows.to_pylist() == [b'{"a": "],"}', b"[1, [2]]", b'"x"']
    assert whole.closed
    for cut in range(len(ELEMENTS)):
        first = split_elements(ELEMENTS[:cut], final=False)
        rows = first.rows.to_pylist()
        if not first.closed:
            rows += split_elements(ELEMENTS[first.taken :]).rows.to_pylist()
        assert rows == whole.rows.to_pylist(), cut


def test_documents_in_any_pieces_are_those_of_the_whole(kernels: str) -> None:
    text = b'{"a":\n 1}{"b": "}\\""}\n[2, 3] 4 "five"\n'
    whole = split_documents(text).rows.to_pylist()
    assert whole == [b'{"a":\n 1}', b'{"b": "}\\""}', b"[2, 3]", b"4", b'"five"']
    for cut in range(len(text)):
        first = split_documents(text[:cut], final=False)
        assert first.rows.to_pylist() + split_documents(text[first.taken :]).rows.to_pylist() == whole, cut


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b"", "lines"),
        (b"5\n6\n", "lines"),
        (b"\n\n {}\n{}\n", "lines"),
        (b"[1]\n[2]\n", "lines"),
        (b"[1, 2]", "array"),
        (b"[\n1,\n2\n]", "array"),
        (b'{"a":\n1}', "documents"),
        (b"{}{}", "documents"),
        (b"{ not json\n{}\n", "lines"),
    ],
)
def test_the_framing_of_a_text(text: bytes, wanted: Framing) -> None:
    assert framing(text) == wanted


def test_a_broken_array_may_be_lines() -> None:
    text = b"[1, x\n[2]\n"
    assert framing(text, lines_expected=True) == "lines"
    assert is_array(b"[1, 2") is True
