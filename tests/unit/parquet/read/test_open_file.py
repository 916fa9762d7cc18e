"""An open file: rows of leaves, from whole chunks or from pages, and the tally of what was read."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shredlake.errors import InvalidFile
from shredlake.parquet.format.row_ranges import Rows
from shredlake.parquet.read.open_file import OpenFile, parse_footer

ROWS = 100
TABLE = pa.table(
    {
        "id": range(ROWS),
        "s": pa.array(
            [{"x": n, "y": f"y{n % 3}"} if n % 10 else None for n in range(ROWS)],
            pa.struct([("x", pa.int64()), ("y", pa.string())]),
        ),
        "l": pa.array([[n] * (n % 3) for n in range(ROWS)], pa.list_(pa.int64())),
        "m": pa.array([[("k", n)] for n in range(ROWS)], pa.map_(pa.string(), pa.int64())),
    }
)
EVERYTHING = Rows(((0, ROWS),))
SOME = Rows(((5, 8), (41, 63)))


def bytes_of(table: pa.Table = TABLE, **options: bool | int) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **({"write_page_index": True, "max_rows_per_page": 10} | options))
    return sink.getvalue()


def opened(**options: bool | int) -> OpenFile:
    return OpenFile(io.BytesIO(bytes_of(**options)))


def rows_of(rows: Rows) -> list[int]:
    return rows.pick(pa.array(range(ROWS)), [(0, ROWS)]).to_pylist()


@pytest.mark.parametrize("index", [True, False], ids=["pages", "no page index"])
@pytest.mark.parametrize("rows", [EVERYTHING, SOME, Rows(((99, 100),))], ids=["all", "some", "last"])
def test_rows_of_all_columns(index: bool, rows: Rows) -> None:
    file = opened(write_page_index=index)
    found = file.read(0, frozenset(file.leaves), rows)
    for name in TABLE.column_names:
        expected = TABLE[name].take(pa.array(rows_of(rows))).to_pylist()
        assert file.plain(name, found[name]).to_pylist() == expected


def test_a_nested_column_holds_the_leaves_that_are_asked_for() -> None:
    file = opened()
    found = file.read(0, frozenset({1}), SOME)
    assert list(found) == ["s"]
    assert found["s"].type.names == ["x"]


def test_leaves_without_their_structs() -> None:
    file = opened()
    found = file.read_leaves(0, frozenset({0, 1, 2}), SOME)
    for leaf, name in ((0, "id"), (1, "x"), (2, "y")):
        column = TABLE["id"] if name == "id" else TABLE["s"].combine_chunks().flatten()[leaf - 1]
        assert file.plain("c", found[leaf]).to_pylist() == column.take(pa.array(rows_of(SOME))).to_pylist()


def test_the_tally_counts_each_page_once() -> None:
    file = opened()
    assert (file.tally.pages, file.tally.columns, file.tally.row_groups) == (0, set(), set())
    for _ in range(2):
        file.read(0, frozenset({0}), SOME)
    assert (file.tally.pages, file.tally.columns, file.tally.row_groups) == (4, {0}, {0})
    file.read(0, frozenset({0}), EVERYTHING)
    assert file.tally.pages == file.page_count(0, [0]) == 10
    file.tally.reset()
    assert file.tally.pages == 0
    assert file.tally.bytes_read < 10_000


def test_fewer_rows_read_fewer_bytes() -> None:
    table = pa.table({"n": range(50_000)})
    read = []
    for rows in (Rows(((0, 50_000),)), Rows(((7, 8),))):
        raw = bytes_of(table, max_rows_per_page=1000, use_dictionary=False)
        file = OpenFile(io.BytesIO(raw))
        before = file.tally.bytes_read
        file.read(0, frozenset({0}), rows)
        read.append(file.tally.bytes_read - before)
    assert read[1] * 5 < read[0]


def test_batches_of_a_large_row_group() -> None:
    file = opened()
    found = list(file.stream(0, frozenset({0, 3}), 33))
    assert [rows for rows, _ in found] == [(0, 33), (33, 66), (66, 99), (99, 100)]
    assert [n for _, part in found for n in part["id"].to_pylist()] == list(range(ROWS))
    assert file.tally.columns == {0, 3}


def test_threads_share_a_file() -> None:
    file = opened()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: file.read(0, frozenset({0, 1}), EVERYTHING), range(16)))
    assert all(one["id"].to_pylist() == list(range(ROWS)) for one in found)


def test_a_closed_file_opens_again(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    path.write_bytes(bytes_of())
    file = OpenFile(path)
    for _ in range(2):
        assert file.read(0, frozenset({0}), SOME)["id"].to_pylist() == rows_of(SOME)
        file.close()


def test_dictionaries_that_the_writer_declared_stay() -> None:
    table = pa.table({"d": pa.array(["a", "b", "a"]).dictionary_encode(), "t": ["a", "b", "a"]})
    file = OpenFile(io.BytesIO(bytes_of(table)))
    found = file.read(0, frozenset({0, 1}), Rows(((0, 3),)))
    assert pa.types.is_dictionary(file.plain("d", found["d"]).type)
    assert file.plain("t", found["t"]).type == pa.string()


def test_footers_are_parsed_once() -> None:
    raw = bytes_of()
    first, second = (OpenFile(io.BytesIO(raw)) for _ in range(2))
    assert first.columns is second.columns
    footer = first.source.footer()
    assert parse_footer(footer, "f", frozenset()) is parse_footer(footer, "g", frozenset())
    assert parse_footer(footer, "f", frozenset(), True) is not parse_footer(footer, "f", frozenset())


def test_a_damaged_page_names_the_file_and_the_row_group(tmp_path: Path) -> None:
    raw = bytearray(bytes_of(compression="none", use_dictionary=False, write_page_checksum=True))  # type: ignore[arg-type]
    at = raw.index((57).to_bytes(8, "little"))
    raw[at] ^= 1
    path = tmp_path / "f.parquet"
    path.write_bytes(raw)
    with pytest.raises(InvalidFile, match=r"f\.parquet, row group 0: .*CRC"):
        OpenFile(path).read(0, frozenset({0}), SOME)
    assert len(OpenFile(path, checksums=False).read(0, frozenset({0}), SOME)["id"]) == SOME.count
