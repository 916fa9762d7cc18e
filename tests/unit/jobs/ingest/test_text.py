"""Every line of a file has exactly one owner, wherever the splits and the reads happen to fall."""

from __future__ import annotations

import bz2
import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from shredlake.errors import PipelineError
from shredlake.jobs.ingest import text as text_module
from shredlake.jobs.ingest.sources import cut, find_files
from shredlake.jobs.ingest.text import pieces

LINES = st.lists(
    st.sampled_from([b"", b"1", b'{"a": "x"}', b'"\xc3\xa9"', b"[1,\r", b"7\r", b" "]), max_size=12
)


def read_back(path: Path, split_size: int) -> list[tuple[int, int, bytes]]:
    """(line number, byte offset, text) of every row, line numbers put together over the splits."""
    rows: list[tuple[int, int, bytes]] = []
    for split in cut(find_files(str(path)), split_size):
        before = len(rows)
        for piece in pieces(split):
            for index, (offset, row) in enumerate(
                zip(piece.offsets.to_pylist(), piece.rows.to_pylist(), strict=True)
            ):
                rows.append((before + piece.first_line + index, offset, row))
    return rows


@settings(max_examples=150, deadline=None)
@given(
    lines=LINES, ends_with_newline=st.booleans(), split_size=st.integers(1, 40), read_size=st.integers(1, 30)
)
def test_each_line_is_read_once(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[bytes],
    ends_with_newline: bool,
    split_size: int,
    read_size: int,
) -> None:
    path = tmp_path_factory.mktemp("text") / "a.ndjson"
    content = b"\n".join(lines) + (b"\n" if ends_with_newline else b"")
    path.write_bytes(content)
    expected = content.splitlines(keepends=True) if b"\r" not in content else None
    cut_by_newline = [line + b"\n" for line in content.split(b"\n")]
    cut_by_newline[-1] = cut_by_newline[-1][:-1]
    if not cut_by_newline[-1]:
        cut_by_newline.pop()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_module, "READ_SIZE", read_size)
        rows = read_back(path, split_size)
    assert [row for _, _, row in rows] == cut_by_newline
    assert [number for number, _, _ in rows] == list(range(len(rows)))
    for _, offset, row in rows:
        assert content[offset : offset + len(row)] == row
    if expected is not None:
        assert cut_by_newline == expected


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    documents=st.lists(
        st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists, max_leaves=5), max_size=6
    ),
    indent=st.sampled_from([None, 0, 2]),
    read_size=st.integers(1, 30),
)
def test_elements_of_an_array(
    tmp_path_factory: pytest.TempPathFactory, documents: list[object], indent: int | None, read_size: int
) -> None:
    path = tmp_path_factory.mktemp("text") / "a.json"
    path.write_text(json.dumps(documents, indent=indent))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_module, "READ_SIZE", max(read_size, 2))
        rows = read_back(path, 10)
    assert [json.loads(row) for _, _, row in rows] == documents
    for _, offset, row in rows:
        assert path.read_bytes()[offset : offset + len(row)] == row


@pytest.mark.parametrize(
    ("text", "rows"),
    [("[1,\n]", [b"1", b""]), ("[ , 2]", [b"", b"2"]), ("[\n]", []), ("[1,\n", [b"1"])],
    ids=["comma before the end", "comma at the start", "empty", "not closed"],
)
def test_an_empty_element_is_a_row_wherever_reads_end(
    kernels: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, rows: list[bytes]
) -> None:
    (tmp_path / "a.json").write_text(text)
    for read_size in range(1, len(text) + 1):
        monkeypatch.setattr(text_module, "READ_SIZE", read_size)
        assert [row for _, _, row in read_back(tmp_path / "a.json", 1 << 20)] == rows, read_size


def test_text_behind_an_array_is_handed_on(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[1,\n 2]\n oops")
    assert [row for _, _, row in read_back(tmp_path / "a.json", 5)] == [b"1", b"2", b"oops"]


@pytest.mark.parametrize(
    ("ending", "pack"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".zst", zstandard.ZstdCompressor().compress)],
)
def test_compressed_files_in_several_members(tmp_path: Path, ending: str, pack: object) -> None:
    path = tmp_path / f"a.ndjson{ending}"
    path.write_bytes(pack(b'{"a": 1}\n{"a"') + pack(b": 2}\n"))  # type: ignore[operator]
    assert [row for _, _, row in read_back(path, 3)] == [b'{"a": 1}\n', b'{"a": 2}\n']


@pytest.mark.parametrize(
    ("ending", "pack"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".zst", zstandard.ZstdCompressor().compress)],
)
def test_a_compressed_file_that_breaks_off(tmp_path: Path, ending: str, pack: object) -> None:
    path = tmp_path / f"a.ndjson{ending}"
    path.write_bytes(pack(b"".join(b'{"a": %d}\n' % n for n in range(1000)))[:-20])  # type: ignore[operator]
    with pytest.raises(PipelineError, match=rf"a\.ndjson\{ending}: the compressed data is truncated"):
        read_back(path, 10)


def test_zeros_behind_compressed_text_are_padding(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson.gz"
    path.write_bytes(gzip.compress(b"1\n") + bytes(100_000) + gzip.compress(b"2\n") + bytes(512))
    assert [row for _, _, row in read_back(path, 3)] == [b"1\n", b"2\n"]


@pytest.mark.parametrize("damage", [b"more", b"\x1f\x8b\x08 no gzip at all"])
def test_a_compressed_file_with_other_bytes_at_its_end(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "a.ndjson.gz"
    path.write_bytes(gzip.compress(b"1\n") + damage)
    with pytest.raises(PipelineError, match=r"a\.ndjson\.gz: the compressed data is (damaged|truncated)"):
        read_back(path, 10)


def test_a_file_that_is_changed_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_bytes(b"1\n" * 100)
    [split] = cut(find_files(str(path)), 1000)
    reading = pieces(split, read_size=10)
    assert next(reading).rows.to_pylist()[0] == b"1\n"
    path.write_bytes(b"1\n" * 20)
    with pytest.raises(PipelineError, match=r"a\.ndjson was changed while it was read"):
        list(reading)


def test_a_file_that_is_not_what_its_name_promises(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson.gz").write_bytes(b"\0\1\2\3")
    with pytest.raises(PipelineError, match="not compressed as its name suggests"):
        read_back(tmp_path / "a.ndjson.gz", 10)


def test_byte_order_mark_and_first_line(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes(b'\xef\xbb\xbf{"a": 1}\n2\n')
    assert read_back(tmp_path / "a.ndjson", 100) == [(0, 3, b'{"a": 1}\n'), (1, 12, b"2\n")]


@pytest.mark.parametrize("rest", [b"", b"\n3\n"])
@pytest.mark.parametrize("split_size", [1000, 50])
def test_a_line_longer_than_allowed(tmp_path: Path, rest: bytes, split_size: int) -> None:
    (tmp_path / "a.ndjson").write_bytes(b"1\n" + b"x" * 100 + rest)
    found = []
    for split in cut(find_files(str(tmp_path / "a.ndjson")), split_size):
        for piece in pieces(split, max_document=20, read_size=10):
            found += [(offset, piece.problem) for offset in piece.offsets.to_pylist()]
    length = 101 if rest else 100
    too_long = (2, f"the line has {length} bytes, more than the allowed 20")
    assert found == [(0, None), too_long, *([(103, None)] if rest else [])]


DOCUMENT = {"a": [1, {"b": '}]\\"'}], "c": {}}


@pytest.mark.parametrize("read_size", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    "text",
    [
        json.dumps(DOCUMENT, indent=2) + "\n" + json.dumps(DOCUMENT, indent=1),
        json.dumps(DOCUMENT) + json.dumps(DOCUMENT),
        "\ufeff"
        + json.dumps(DOCUMENT, indent="\t").replace("\n", "\r\n")
        + "\r\n\r\n"
        + json.dumps(DOCUMENT),
    ],
)
def test_documents_over_several_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, read_size: int
) -> None:
    path = tmp_path / "a.ndjson"
    path.write_bytes(text.encode())
    monkeypatch.setattr(text_module, "READ_SIZE", read_size)
    rows = read_back(path, 1 << 20)
    assert [json.loads(row) for _, _, row in rows] == [DOCUMENT, DOCUMENT]
    assert all(path.read_bytes()[offset:].startswith(row) for _, offset, row in rows)
    assert [line for line, _, _ in rows] == [0, 1]
    [split] = cut(find_files(str(path)), 10)
    assert split.framing == "documents"


def test_a_large_document_over_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"items": [DOCUMENT] * 5000}, indent=2))
    [(_, _, row)] = read_back(path, 1 << 16)
    assert len(json.loads(row)["items"]) == 5000


@pytest.mark.parametrize(
    "text",
    [
        b'{"a": \n{"a": 2}\n',
        b'{"a": \n{"a": 2}\n{"a": 3}\n',
        b'{"a": 1} garbage\n{"a": 2}\n',
        b'[1,\n{"a": 2}\n{"a": 3}\n',
        b"[" * 200_000 + b'\n{"a": 2}\n',
        b'nonsense\n{"a": 2}\n',
    ],
)
def test_a_broken_first_line_hides_no_other(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a.ndjson").write_bytes(text)
    rows = [row for _, _, row in read_back(tmp_path / "a.ndjson", 1 << 20)]
    assert rows == text.splitlines(keepends=True)


@pytest.mark.parametrize("name", ["a.ndjson", "a.gz", "a.zst", "a"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, zstandard.ZstdCompressor().compress])
@pytest.mark.parametrize("split_size", [10, 1 << 20])
def test_the_content_says_how_a_file_is_compressed(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes], split_size: int
) -> None:
    (tmp_path / name).write_bytes(pack(b'{"a": 1}\n{"a": 2}\n'))
    assert [row for _, _, row in read_back(tmp_path / name, split_size)] == [b'{"a": 1}\n', b'{"a": 2}\n']


def test_a_line_of_many_reads_is_not_copied_for_each(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes(b'"' + b"x" * 60_000_000 + b'"\n')
    [split] = cut(find_files(str(tmp_path)), 1 << 30)
    started = time.process_time()
    [piece] = pieces(split, read_size=64 << 10)  # a thousand reads: 30 GB, if each copied what is held
    assert piece.rows.nbytes > 60_000_000
    assert time.process_time() - started < 5
