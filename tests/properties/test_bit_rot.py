"""A flipped bit in a file of ours is an error or changes nothing: it never gives another answer.

SHREDLAKE_FLIPS is the number of flips per part of the file. Parts are listed by `file_parts`; bits of columns
and indexes that no query reads, of Bloom filters, and of the magic number at the start change nothing.
"""

from __future__ import annotations

import io
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from delta_tables import paths
from file_parts import file_parts, flipped
from shredlake.errors import InvalidFile, ShredlakeError
from shredlake.parquet.format.seal import KEY

FLIPS = int(os.environ.get("SHREDLAKE_FLIPS", "15"))
PARTS = [
    "magic", "footer length", "footer", "offset index", "column index", "bloom filter", "page header", "page",
]  # fmt: skip
ROWS = 40
LAYOUT = "struct<a bigint, s string, d double, t array<bigint>>"
OPTIONS = sl.WriteOptions(row_group_rows=20, page_rows=5, bloom_filters=("v:s",))
QUERIES: list[dict[str, Any]] = [
    {},
    {"columns": ["id", "v:s::string AS s"], "where": "v:a::bigint = 17"},
    {"columns": ["id"], "where": "x > 9 OR v:s::string = 'text 3'"},
    {"columns": ["v:d::double AS d", "v:t[0]::bigint AS t"], "where": "v:d::double < 2"},
]


def table() -> pa.Table:
    texts = [f'{{"a":{n},"s":"text {n % 7}","d":{n / 4},"t":[{n},"x"],"r":{n}}}' for n in range(ROWS)]
    numbers = pa.array([n / 3 for n in range(ROWS)])
    return pa.table({"id": range(ROWS), "x": numbers, "v": sl.from_json(pa.array(texts))})


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("rot") / "f.parquet"
    sl.write_parquet(table(), path, shredding={"v": LAYOUT}, options=OPTIONS)
    return path.read_bytes()


def plain(found: pa.Table) -> list[Any]:
    if "v" in found.column_names:
        found = found.set_column(found.column_names.index("v"), "v", sl.to_json(found["v"]))
    return found.to_pylist()


def answers(data: bytes) -> list[Any]:
    found: list[Any] = [plain(sl.read_parquet(io.BytesIO(data), threads=1, **query)) for query in QUERIES]
    found.append(sl.scan_parquet(io.BytesIO(data), where="v:a::bigint >= 5", threads=1).count())
    return found


def tried(data: bytes, expected: list[Any], place: str) -> str:
    """The outcomes of the queries on a damaged file, each run by itself, so that no error hides another."""
    outcomes = set()
    for number, wanted in enumerate(expected):
        try:
            if number < len(QUERIES):
                found: Any = plain(sl.read_parquet(io.BytesIO(data), threads=1, **QUERIES[number]))
            else:
                found = sl.scan_parquet(io.BytesIO(data), where="v:a::bigint >= 5", threads=1).count()
        except ShredlakeError:
            outcomes.add("error")
            continue
        assert found == wanted, place
        outcomes.add("same")
    return "error" if "error" in outcomes else "same"


@pytest.mark.parametrize("part", PARTS)
def test_a_flipped_bit_is_never_another_answer(part: str, raw: bytes) -> None:
    expected, outcomes = answers(raw), Counter[str]()
    for at, data in flipped(raw, file_parts(raw)[part], FLIPS, random.Random(part)):
        outcomes[tried(data, expected, f"{part}, byte {at}")] += 1
    print(f"{part}: {dict(outcomes)}")
    if part not in ("bloom filter", "magic"):
        assert outcomes["error"] > FLIPS / 4


def test_the_parts_cover_the_file(raw: bytes) -> None:
    covered = sorted(extent for extents in file_parts(raw).values() for extent in extents)
    at = 0
    for offset, size in covered:
        assert offset == at
        at += size
    assert at == len(raw)


@pytest.mark.slow
def test_without_the_seal_the_footer_is_trusted(raw: bytes) -> None:
    """The test can fail: without the seal, some flipped bit of the footer gives another answer."""
    unsealed = raw.replace(KEY.encode(), b"x" * len(KEY))
    expected = answers(unsealed)
    footer = file_parts(unsealed)["footer"]

    def search() -> None:
        for at, data in flipped(unsealed, footer, 3000, random.Random(5)):
            tried(data, expected, f"byte {at}")

    with pytest.raises(AssertionError):
        search()


def test_scans_of_tables_see_the_flip(tmp_path: Path) -> None:
    made = sl.Table.create(
        tmp_path / "t", table().schema, properties={"delta.enableVariantShredding": "true"}
    )
    made.append(table(), shredding={"v": LAYOUT}, options=OPTIONS)
    [name] = paths(made)
    path = tmp_path / "t" / name
    raw = path.read_bytes()
    expected = plain(made.scan(threads=1).to_arrow())
    outcomes = Counter[str]()
    for part in ("footer", "page", "page header"):
        for at, data in flipped(raw, file_parts(raw)[part], FLIPS, random.Random(3)):
            path.write_bytes(data)
            try:
                assert plain(made.scan(threads=1).to_arrow()) == expected, f"{part}, byte {at}"
                outcomes["same"] += 1
            except ShredlakeError:
                outcomes["error"] += 1
    assert outcomes["error"] > FLIPS


def test_a_copied_seal_is_ignored(tmp_path: Path) -> None:
    """Other programs copy the metadata of a file into files of their own."""
    sl.write_parquet(table(), tmp_path / "ours.parquet", shredding={"v": LAYOUT})
    read = pq.read_table(tmp_path / "ours.parquet")
    assert KEY.encode() in read.schema.metadata
    pq.write_table(read.slice(3), tmp_path / "theirs.parquet", write_page_index=True)
    assert KEY.encode() in (pq.read_metadata(tmp_path / "theirs.parquet").metadata or {})
    assert sl.read_parquet(tmp_path / "theirs.parquet", ["id"], where="id > 35")["id"].to_pylist() == [
        36,
        37,
        38,
        39,
    ]
    sl.write_parquet(read, tmp_path / "again.parquet")
    assert sl.read_parquet(tmp_path / "again.parquet").num_rows == ROWS


def test_a_seal_of_a_later_version_is_ignored(raw: bytes) -> None:
    place = raw.index(KEY.encode()) + len(KEY)
    later = raw[:place] + raw[place:].replace(b"001 ", b"002 ", 1)
    assert answers(later) == answers(raw)


def test_damage_is_named(raw: bytes) -> None:
    [(start, size)] = file_parts(raw)["footer"]
    data = bytearray(raw)
    data[start + size // 2] ^= 1
    with pytest.raises(InvalidFile, match=r"damaged: its footer does not match its checksum"):
        sl.read_parquet(io.BytesIO(data))
