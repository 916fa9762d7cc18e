"""Pages read one by one hold the same rows as the file read whole, whatever nesting and page breaks."""

from __future__ import annotations

import io
import random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from shredlake.parquet.format.row_ranges import Rows, merge_ranges
from shredlake.parquet.read.open_file import OpenFile

TYPES = [
    pa.int64(),
    pa.string(),
    pa.large_string(),
    pa.bool_(),
    pa.timestamp("ns", "Europe/Paris"),
    pa.decimal128(20, 3),
    pa.dictionary(pa.int32(), pa.string()),
    pa.list_(pa.int32()),
    pa.struct([("x", pa.int8()), ("y", pa.list_(pa.struct([("p", pa.string()), ("q", pa.float64())])))]),
    pa.list_(pa.list_(pa.struct([("deep", pa.binary())]))),
    pa.map_(pa.string(), pa.struct([("m", pa.int16()), ("n", pa.list_(pa.int8()))])),
    pa.uuid(),
]


def random_value(type_: pa.DataType, dice: random.Random) -> Any:
    if dice.random() < 0.2:
        return None
    if pa.types.is_struct(type_):
        return {field.name: random_value(field.type, dice) for field in type_}
    if pa.types.is_map(type_):
        return [(f"k{n}", random_value(type_.item_type, dice)) for n in range(dice.randrange(3))]
    if pa.types.is_list(type_):
        return [random_value(type_.value_type, dice) for _ in range(dice.randrange(4))]
    if pa.types.is_decimal(type_):
        return dice.randrange(-1000, 1000)
    if isinstance(type_, pa.UuidType):
        return dice.randbytes(16)
    number = dice.randrange(40)
    if pa.types.is_boolean(type_):
        return number % 2 == 0
    if pa.types.is_binary(type_):
        return bytes([number])
    return number if pa.types.is_primitive(type_) else f"text {number}"


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    types=st.lists(st.sampled_from(TYPES), min_size=1, max_size=4),
    count=st.integers(1, 400),
    row_group_size=st.sampled_from([50, 150, 400]),
    rows_per_page=st.integers(1, 60),
    version=st.sampled_from(["1.0", "2.0"]),
    codec=st.sampled_from(["none", "zstd", "snappy"]),
    dictionary=st.booleans(),
)
def test_chosen_rows_are_those_of_the_whole(
    seed: int, types: list[pa.DataType], count: int, row_group_size: int, rows_per_page: int, version: str,
    codec: str, dictionary: bool,
) -> None:  # fmt: skip
    dice = random.Random(seed)
    columns = [pa.array([random_value(type_, dice) for _ in range(count)], type_) for type_ in types]
    sink = io.BytesIO()
    pq.write_table(
        pa.table(columns, names=[f"c{n}" for n in range(len(types))]), sink, write_page_index=True,
        row_group_size=row_group_size, max_rows_per_page=rows_per_page, data_page_version=version,
        compression=codec, use_dictionary=dictionary,
    )  # fmt: skip
    opened, plain = OpenFile(sink), pq.ParquetFile(io.BytesIO(sink.getvalue()))
    for group, row_count in enumerate(opened.chunks.row_counts):
        cuts = sorted(dice.sample(range(row_count + 1), min(row_count, 2 * dice.randrange(1, 4))))
        rows = Rows(merge_ranges(zip(cuts[::2], cuts[1::2], strict=False)))
        if dice.random() < 0.5:
            share = dice.choice([0.05, 0.5])
            rows = rows.masked(pa.array([dice.random() < share for _ in range(rows.span)], pa.bool_()))
        if not rows.count:
            continue
        names = set(dice.sample(plain.schema_arrow.names, dice.randrange(1, len(types) + 1)))
        found = opened.read(group, leaves_of(opened, names), rows)
        whole = plain.read_row_group(group)
        assert found.keys() == names
        for name, read in found.items():
            read.validate(full=True)
            array = opened.plain(name, read)
            expected = rows.pick(whole[name].combine_chunks(), [(0, row_count)])
            assert array.type == expected.type
            assert decoded(array).equals(decoded(expected)), name


def leaves_of(file: OpenFile, names: set[str]) -> frozenset[int]:
    return frozenset(column for column, leaf in file.leaves.items() if leaf.path[0] in names)


def decoded(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def test_nested_leaves_come_one_at_a_time() -> None:
    """A leaf of a struct in a list comes with the lists and structs around it, and nothing else."""
    rows_written = [{"y": [{"p": str(n), "q": float(n)}] * (n % 3)} if n % 5 else None for n in range(300)]
    sink = io.BytesIO()
    pq.write_table(pa.table({"c": rows_written}), sink, write_page_index=True, max_rows_per_page=7)
    file = OpenFile(sink)
    found = file.read(0, frozenset({1}), Rows(((100, 120),)))["c"]
    assert found.to_pylist() == [
        None if row is None else {"y": [{"q": element["q"]} for element in row["y"]]}
        for row in rows_written[100:120]
    ]
    assert file.tally.pages == 4
