"""Footers that contradict themselves are refused before pyarrow sees them: it would end the process."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.errors import InvalidFile
from shredlake.parquet.format import thrift
from shredlake.parquet.format.thrift import Struct

SCHEMA = sl.ShreddingSchema.parse("struct<a bigint, t array<string>>")


def parquet_bytes() -> bytes:
    variants = sl.from_json(pa.array([f'{{"a":{n},"t":["x","y"]}}' for n in range(20)]))
    table = pa.table({"id": range(20), "v": sl.shred(variants, SCHEMA), "l": [[1, 2]] * 20})
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=10, write_page_index=True)
    return sink.getvalue()


def changed(change: Callable[[Struct], object], raw: bytes | None = None) -> io.BytesIO:
    """A file whose footer was changed."""
    raw = raw or parquet_bytes()
    start = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    tree = thrift.read_struct(raw[start:-8])
    change(tree)
    footer = thrift.write_struct(tree)
    return io.BytesIO(raw[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def chunk(tree: Struct, column: int = 0, group: int = 1) -> Struct:
    return tree.structs(4)[group].structs(1)[column]


def meta(tree: Struct, column: int = 0) -> Struct:
    found = chunk(tree, column).struct(3)
    assert found is not None
    return found


def sizes(tree: Struct, column: int = 0) -> Struct:
    found = meta(tree, column).struct(16)
    assert found is not None
    return found


ENCRYPTED = Struct({2: (thrift.STRUCT, Struct({1: (thrift.LIST, thrift.List(thrift.BINARY, [b"id"]))}))})

CONTRADICTIONS: dict[str, Callable[[Struct], object]] = {
    "histogram of 3 levels": lambda tree: sizes(tree).sequence(3).append(0),
    "counts the bytes of strings": lambda tree: sizes(tree).set(1, thrift.I64, 5),
    "bound of 3 bytes": lambda tree: meta(tree).struct(12).set(5, thrift.BINARY, b"abc"),
    "is encrypted": lambda tree: chunk(tree).set(8, thrift.STRUCT, ENCRYPTED),
    "type number": lambda tree: meta(tree).set(1, thrift.I32, 6),
    "has no metadata": lambda tree: chunk(tree).remove(3),
    "another file": lambda tree: chunk(tree).set(1, thrift.BINARY, b"other.parquet"),
    "negative size": lambda tree: meta(tree).set(6, thrift.I64, -5),
    "the footer starts": lambda tree: meta(tree).set(7, thrift.I64, 1 << 40),
    "11 values": lambda tree: meta(tree).set(5, thrift.I64, 11),
    "the footer counts": lambda tree: tree.set(3, thrift.I64, 21),
    "column chunks": lambda tree: tree.structs(4)[1].sequence(1).pop(),
}


def element(tree: Struct) -> Struct:
    return tree.structs(2)[1]


def retype(tree: Struct, number: int, kind: int) -> None:
    tree.fields[number] = kind, tree.fields[number][1]


WRONG_TYPES: dict[str, Callable[[Struct], object]] = {
    # Arrow skips a repetition that is not an i32 and takes the column for a required one.
    r"FileMetaData\.2\.3 has the Thrift type 4, not 5": lambda tree: retype(element(tree), 3, thrift.I16),
    r"FileMetaData\.2\.3 has the Thrift type 6, not 5": lambda tree: retype(element(tree), 3, thrift.I64),
    r"FileMetaData\.2\.3 has the Thrift type 1, not 5": lambda tree: element(tree).set(3, thrift.TRUE, True),
    r"FileMetaData\.4\.1\.3\.16\.3 has the Thrift type 10": lambda tree: sizes(tree).set(
        3, thrift.SET, thrift.List(thrift.I64, [0, 10], thrift.SET)
    ),
    r"FileMetaData\.4\.1\.3\.16\.3 lists the Thrift type 5": lambda tree: sizes(tree).set(
        3, thrift.LIST, thrift.List(thrift.I32, [0, 10])
    ),
}


@pytest.mark.parametrize("message", WRONG_TYPES)
def test_fields_of_another_type_are_refused(message: str) -> None:
    with pytest.raises(InvalidFile, match=message):
        sl.inspect(changed(WRONG_TYPES[message]))


@pytest.mark.slow
def test_no_flipped_bit_of_the_schema_ends_the_process(tmp_path: Path) -> None:
    """Every bit of the schema and of one column chunk's metadata, in a process of its own."""
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"a": [1, None], "l": [["x"], []]}), path)
    ran = subprocess.run([sys.executable, "-c", FLIPS, str(path)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    refused, answered = map(int, ran.stdout.split())
    assert refused > 1000
    assert answered > 100


FLIPS = """
import io, sys
import shredlake as sl

raw = open(sys.argv[1], "rb").read()
end = len(raw) - 8
refused = answered = 0
for bit in range(8 * (end - int.from_bytes(raw[-8:-4], "little")), 8 * raw.index(b"ARROW:schema")):
    data = bytearray(raw)
    data[bit // 8] ^= 1 << bit % 8
    try:
        sl.inspect(io.BytesIO(data))
        answered += 1
    except sl.ShredlakeError:
        refused += 1
print(refused, answered)
"""


@pytest.mark.parametrize("message", CONTRADICTIONS)
def test_inspect_refuses_a_footer_that_contradicts_itself(message: str) -> None:
    with pytest.raises(InvalidFile, match=message):
        sl.inspect(changed(CONTRADICTIONS[message]))


def test_a_whole_footer_passes() -> None:
    assert sl.inspect(changed(lambda tree: None)).rows == 20


def test_encrypted_columns_are_named_as_such_by_every_reader() -> None:
    def encrypt(tree: Struct) -> None:
        for group in (0, 1):
            chunk(tree, group=group).set(8, thrift.STRUCT, ENCRYPTED)
            chunk(tree, group=group).remove(3)

    for read in (sl.inspect, sl.check, sl.read_parquet):
        with pytest.raises(InvalidFile, match="encrypted"):
            read(changed(encrypt))


@pytest.mark.parametrize("rows", [1 << 40, 11, 9, -3])
def test_rows_that_a_row_group_does_not_have(rows: int) -> None:
    def claim(tree: Struct) -> None:
        tree.structs(4)[1].set(3, thrift.I64, rows)

    for columns in (None, ["id"], ["v:a::bigint AS a"], ["l"]):
        with pytest.raises(InvalidFile, match="rows"):
            sl.read_parquet(changed(claim), columns=columns)
    with pytest.raises(InvalidFile, match="rows"):
        sl.scan_parquet(changed(claim)).count()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (3, (thrift.I32, 7), "unknown number 7"),
        (1, (thrift.I32, 12), "unknown number 12"),
        (1, (thrift.I32, -1), "unknown number -1"),
        (5, (thrift.I32, -2), "-2 fields"),
        (4, (thrift.BINARY, b"\xff\xfe"), "not UTF-8"),
    ],
)
def test_schemas_that_can_not_be(field: int, value: tuple[int, object], message: str) -> None:
    def spoil(tree: Struct) -> None:
        tree.structs(2)[1].fields[field] = value
        tree.structs(2)[1].fields = dict(sorted(tree.structs(2)[1].fields.items()))

    for read in (sl.inspect, sl.check):
        with pytest.raises(InvalidFile, match=message):
            read(changed(spoil))
    with pytest.raises(InvalidFile):
        sl.read_parquet(changed(spoil))
