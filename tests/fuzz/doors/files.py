"""Parquet files: footers, page indexes, page headers and pages, through every reader.

The first byte of an input chooses the reader, the rest is the file.
"""

from __future__ import annotations

import io
import random
import tempfile
import warnings
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from file_parts import COLUMN_INDEX_OFFSET
from fuzz.contract import Budget, Door
from fuzz.damage import change_bytes
from fuzz.footer_mutations import changed_struct, mutated_footer
from shredlake import (
    ShreddingSchema,
    WriteOptions,
    check,
    convert_draft,
    from_json,
    inspect,
    read_draft,
    read_parquet,
    scan_parquet,
    shred,
    write_draft,
    write_parquet,
)
from shredlake.errors import InvalidFile
from shredlake.parquet.format import footer as numbers
from shredlake.parquet.format import thrift
from shredlake.parquet.format.chunks import Chunks
from shredlake.parquet.format.footer_check import check_footer
from shredlake.parquet.format.thrift import Reader
from shredlake.parquet.io.source import open_input
from shredlake.parquet.read.pages import read_page_indexes

warnings.simplefilter("ignore")

QUERIES: list[dict[str, Any]] = [
    {},
    {"columns": ["v", "v:t[0]::string AS t"]},
    {"columns": ["v"], "where": "v:a::bigint = 4"},
    {"where": "v:b.c::string = 'x5' or v:z::double < 1"},
    {"where": "id > 4 or id is null"},
    {"variants": "json"},
]


def enter_footer(data: bytes) -> None:
    """Reads only the footer, with its chunks and page indexes, without pyarrow."""
    with open_input(io.BytesIO(data[1:])) as source:
        footer = source.footer()
        chunks = Chunks(footer, source.name)
        check_footer(footer, source.name)
        columns = [
            (group, column) for group in range(len(chunks)) for column in range(len(footer.schema.children))
        ]
        found = {key: (chunks.chunk(*key), chunks.row_counts[key[0]]) for key in columns}
        for pages in read_page_indexes(source, found).values():
            if pages is not None:
                assert all(0 <= start < stop for start, stop in map(pages.rows, range(len(pages))))


def enter_read(data: bytes) -> None:
    query, file = QUERIES[data[0] % len(QUERIES)] if data else {}, io.BytesIO(data[1:])
    _check_arrow(read_parquet(file, threads=1, checksums=not data or data[0] < 128, **query))


def _check_arrow(table: pa.Table) -> None:
    """Valid Arrow, but for texts that are not UTF-8: pyarrow does not look at plain columns, nor do we."""
    try:
        table.validate(full=True)
    except pa.ArrowInvalid as error:
        if "UTF8" not in str(error):
            raise


def enter_scan(data: bytes) -> None:
    """Counted and explained."""
    query, file = QUERIES[data[0] % len(QUERIES)] if data else {}, io.BytesIO(data[1:])
    scan = scan_parquet(file, threads=1, checksums=not data or data[0] < 128, **query)
    scan.count()
    if data and data[0] % 8 == 0:
        str(scan.explain())


def enter_inspect(data: bytes) -> None:
    str(inspect(io.BytesIO(data[1:])))


def enter_check(data: bytes) -> None:
    for violation in check(io.BytesIO(data[1:]), limit=20):
        str(violation)


def enter_draft(data: bytes) -> None:
    """Reads the older layout, and converts it to the current one."""
    found = read_draft(io.BytesIO(data[1:]), reject_conflicts=bool(data) and data[0] % 2 == 1)
    _check_arrow(found)
    if data and data[0] % 16 == 0:
        with tempfile.TemporaryDirectory() as folder:
            convert_draft(io.BytesIO(data[1:]), Path(folder) / "f.parquet")


# ── Files to start from ─────────────────────────────────────────────────────────────────────────────────

ROWS = 6


def _variants(rows: int = ROWS) -> pa.Array:
    return from_json(
        pa.array([f'{{"a":{n},"b":{{"c":"x{n}"}},"t":[{n},"y"],"z":{n / 3}}}' for n in range(rows)])
    )


def _file(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, write_page_index=True, **options)
    return sink.getvalue()


@cache
def file_seeds() -> list[bytes]:
    """Files of several row groups, pages, codecs, encodings and writers; small, so that many can be tried."""
    plain = _variants()
    one, two = (
        shred(plain, ShreddingSchema.parse(ddl))
        for ddl in ("struct<a bigint>", "struct<b struct<c string>, t array<bigint>>")
    )
    ids = {"id": range(ROWS)}
    seeds = [
        _file(pa.table(ids), max_rows_per_page=3),
        _file(pa.table({"v": plain}), compression="none", data_page_version="2.0"),
        _file(pa.table({**ids, "v": plain}), compression="gzip", use_dictionary=False, row_group_size=3),
        _file(pa.table({"v": one}), compression="zstd", max_rows_per_page=2),
        _file(pa.table({**ids, "v": two}), data_page_version="2.0", max_rows_per_page=3),
        _file(
            pa.table(
                {"s": [f"text {n}" * (n % 3) for n in range(ROWS)], "l": [[n] * (n % 4) for n in range(ROWS)]}
            )
        ),
        _file(
            pa.table({"id": range(ROWS), "s": [str(n) for n in range(ROWS)]}),
            use_dictionary=False,
            column_encoding={"id": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY"},
        ),
        _file(
            pa.table(
                {
                    "f": pa.array([n / 7 for n in range(ROWS)], pa.float32()),
                    "m": pa.array([[("k", n)] for n in range(ROWS)], pa.map_(pa.string(), pa.int32())),
                    "d": pa.array([None if n % 2 else n for n in range(ROWS)], pa.decimal128(9, 2)),
                }
            )
        ),
    ]
    words = pa.array(["a", "b", None, "c", "a", "b"]).dictionary_encode()
    declared = pa.table({"s": words, "o": pa.StructArray.from_arrays([words], ["x"])})
    seeds.append(_file(declared, compression="none"))
    with tempfile.TemporaryDirectory() as folder:
        ours = Path(folder) / "ours.parquet"
        options = WriteOptions(row_group_rows=15, page_rows=5, bloom_filters=("v:b.c",))
        write_parquet(
            pa.table({"id": range(30), "v": _variants(30)}), ours,
            shredding={"v": "struct<a bigint, b struct<c string>>"}, options=options,
        )  # fmt: skip
        seeds.append(ours.read_bytes())
    return [bytes([n]) + file for n, file in enumerate(seeds)]


def footer_seeds() -> list[bytes]:
    """The smallest files: their footers are parsed a thousand times a second."""
    return sorted(file_seeds(), key=len)[:3]


def change_footer(data: bytes, dice: random.Random) -> bytes:
    """As `change_file`, but mostly by bytes, which is cheap."""
    if dice.random() < 0.15:
        return change_file(data, dice)
    return data[:1] + _changed_bytes(data[1:], dice)


@cache
def draft_seeds() -> list[bytes]:
    plain = _variants()
    table = pa.table({"id": range(ROWS), "v": plain})
    seeds = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "draft.parquet"
        for number, ddl in enumerate(
            ["struct<a bigint, b struct<c string>>", "struct<t array<bigint>, z double>"]
        ):
            write_draft(table, path, {"v": ddl}, spelling=["untyped_value", "variant_value"][number])
            seeds.append(bytes([number]) + path.read_bytes())
    return seeds


# ── Changes ─────────────────────────────────────────────────────────────────────────────────────────────


def change_file(data: bytes, dice: random.Random) -> bytes:
    """In the footer's tree, in a page index, in the header of a page, or bytes anywhere."""
    first, raw = data[:1] or b"\0", data[1:]
    kind = dice.random()
    try:
        if kind < 0.1:
            return dice.randbytes(1) + raw
        if kind < 0.35:
            return first + mutated_footer(raw, dice)
        if kind < 0.5:
            return first + _changed_header(raw, dice)
    except (InvalidFile, IndexError, ValueError, OverflowError, RecursionError, TypeError, AttributeError):
        pass  # a footer that no longer parses: bytes will do
    return first + _changed_bytes(raw, dice)


def _changed_bytes(raw: bytes, dice: random.Random) -> bytes:
    if len(raw) < 12 or dice.random() < 0.2:
        return change_bytes(raw, dice)
    data = bytearray(raw)
    footer = max(len(raw) - 8 - int.from_bytes(raw[-8:-4], "little"), 0)
    first = dice.choice([0, max(footer - 1500, 0), footer])
    for _ in range(dice.randrange(1, 4)):
        data[dice.randrange(first, len(data))] = dice.randrange(256)
    return bytes(data)


def _changed_header(raw: bytes, dice: random.Random) -> bytes:
    """A Thrift struct before the footer (a page header, a page index) changed in place, if its size stays."""
    places = _places(raw)
    offset = dice.choice(places)
    reader = Reader(raw, offset)
    tree = reader.struct()
    size = reader.position - offset
    for _ in range(10):
        changed = thrift.write_struct(changed_struct(tree, dice))
        if len(changed) <= size:
            padded = changed if len(changed) == size else changed + raw[offset + len(changed) : offset + size]
            return raw[:offset] + padded + raw[offset + size :]
        tree = Reader(raw, offset).struct()
    return raw[:offset] + changed + raw[offset + len(changed) :]


@lru_cache(maxsize=64)
def _places(raw: bytes) -> list[int]:
    """Where the pages and page indexes of a file start, according to its footer."""
    length = int.from_bytes(raw[-8:-4], "little")
    tree = thrift.read_struct(raw[len(raw) - 8 - length : -8])
    places = []
    for group in tree.structs(numbers.FILE_ROW_GROUPS):
        for chunk in group.structs(numbers.ROW_GROUP_COLUMNS):
            meta = chunk.struct(numbers.CHUNK_META)
            if meta is not None:
                places += [
                    meta.integer(numbers.META_DATA_PAGE_OFFSET),
                    meta.integer(numbers.META_DICTIONARY_PAGE_OFFSET),
                ]
                places += [meta.integer(14)]  # of the Bloom filter
            places += [chunk.integer(4), chunk.integer(COLUMN_INDEX_OFFSET)]
    return [place for place in places if place and 0 < place < len(raw)]


_BUDGET = Budget(seconds=3.0, megabytes=512)

DOORS = [
    Door("parquet-footer", "parquet", footer_seeds, enter_footer, change_footer, _BUDGET),
    Door("parquet-read", "parquet", file_seeds, enter_read, change_file, _BUDGET),
    Door("parquet-scan", "parquet", file_seeds, enter_scan, change_file, _BUDGET),
    Door("parquet-inspect", "parquet", file_seeds, enter_inspect, change_file, _BUDGET),
    Door("parquet-check", "parquet", file_seeds, enter_check, change_file, _BUDGET),
    Door("parquet-draft", "parquet", draft_seeds, enter_draft, change_file, _BUDGET),
]
