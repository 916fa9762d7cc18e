"""Writing files: layout, types, nesting, options, facts."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from file_cases import BY_TYPE, NESTED, nested_table, unwrapped
from shredlake.errors import InvalidFile, InvalidSchema, MalformedVariant, ShredlakeError
from shredlake.kernels import shred, shredded_type, to_json, unshred, variant
from shredlake.parquet.inspect.check import check
from shredlake.parquet.inspect.inspect import inspect
from shredlake.parquet.read.scan import read_parquet
from shredlake.parquet.variant_columns import parse_layout_json, variant_columns
from shredlake.parquet.write.writer import ParquetWriter, WriteOptions, write_parquet
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant.value import Variant
from variant_columns import MISSING, column, column_of, footer_schema, read_rows, rows

PARQUET_TYPES = {
    "boolean": "boolean typed_value",
    "tinyint": "int32 typed_value (INT(8, true))",
    "smallint": "int32 typed_value (INT(16, true))",
    "int": "int32 typed_value",
    "bigint": "int64 typed_value",
    "float": "float typed_value",
    "double": "double typed_value",
    "decimal(9,2)": "int32 typed_value (DECIMAL(9, 2))",
    "decimal(18,3)": "int64 typed_value (DECIMAL(18, 3))",
    "decimal(38,3)": "fixed_len_byte_array(16) typed_value (DECIMAL(38, 3))",
    "decimal(19,0)": "fixed_len_byte_array(9) typed_value (DECIMAL(19, 0))",
    "date": "int32 typed_value (DATE)",
    "time": "int64 typed_value (TIME(false, MICROS))",
    "timestamp": "int64 typed_value (TIMESTAMP(true, MICROS))",
    "timestamp_ntz": "int64 typed_value (TIMESTAMP(false, MICROS))",
    "timestamp_nanos": "int64 typed_value (TIMESTAMP(true, NANOS))",
    "timestamp_ntz_nanos": "int64 typed_value (TIMESTAMP(false, NANOS))",
    "binary": "binary typed_value",
    "string": "binary typed_value (STRING)",
    "uuid": "fixed_len_byte_array(16) typed_value (UUID)",
}
"""The specification's table of shredded types."""


@pytest.mark.parametrize("ddl", BY_TYPE)
def test_every_shredded_type(ddl: str, tmp_path: Path) -> None:
    values = BY_TYPE[ddl]
    path = tmp_path / "f.parquet"
    facts = write_parquet(pa.table({"v": column_of(values)}), path, shredding={"v": ddl})
    [found] = variant_columns(footer_schema(path))
    assert str(found.root.typed) == f"optional {PARQUET_TYPES[ddl]};"
    assert str(found.schema) == ddl
    assert [row and row.to_python(exact=True) for row in read_rows(path)] == [
        Variant.of(value).to_python(exact=True) for value in values
    ]
    statistics = facts.variants["v"].leaves["$"]
    arrow = shred(column_of(values), ShreddingSchema.parse(ddl)).field("typed_value")
    assert (statistics.minimum, statistics.maximum) == (arrow[0], arrow[1])
    assert statistics.value_count == 2
    assert facts.variants["v"].residual == frozenset()
    assert check(path) == []


def test_variants_in_structs_lists_and_maps(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    table = nested_table()
    facts = write_parquet(table, path, shredding=NESTED)
    read = pq.ParquetFile(path).read()
    assert unwrapped(read) == unwrapped(table)
    for name in ("s", "l", "m", "v"):
        assert read[name].is_null().to_pylist() == table[name].is_null().to_pylist()
    assert {name: str(found.schema) for name, found in facts.variants.items()} == {
        "s.v": "struct<a bigint>",
        "s.in.w": "None",
        "l.list.element": "struct<b string, a bigint>",
        "m.key_value.value": "bigint",
        "v": "struct<a bigint, b string>",
    }
    assert all(found.annotated for found in variant_columns(footer_schema(path)))
    assert check(path) == []


def test_slices_are_written_as_slices(tmp_path: Path) -> None:
    """Row groups cut a table; nested columns must not carry what lies outside the cut."""
    table = pa.concat_tables([nested_table()] * 5)
    path = tmp_path / "f.parquet"
    with ParquetWriter(
        path, table.schema, shredding=NESTED, options=WriteOptions(row_group_rows=3)
    ) as writer:
        writer.write(table.slice(1, 4))
        writer.write(table.slice(5, 1).to_batches()[0])
        writer.write(table.slice(6, 13))
    expected = table.slice(1, 18).combine_chunks()
    assert pq.ParquetFile(path).metadata.num_row_groups == 6
    read = pq.ParquetFile(path).read()
    assert read["id"].to_pylist() == expected["id"].to_pylist()
    for index in (0, 1, 4):
        assert unwrapped(read)[index] == unwrapped(expected)[index]
    found, wanted = read["l"].combine_chunks(), expected["l"].combine_chunks()
    assert [item.is_valid and rows(item.values) for item in found] == [
        item.is_valid and rows(item.values) for item in wanted
    ]


def test_whole_and_streamed_files_hold_the_same(tmp_path: Path) -> None:
    table = pa.table({"v": column_of([{"a": i, "b": str(i)} for i in range(100)])})
    options = WriteOptions(row_group_rows=32)
    shredding = {"v": "struct<a bigint>"}
    whole = write_parquet(table, tmp_path / "whole.parquet", shredding=shredding, options=options)
    parts = tmp_path / "parts.parquet"
    with ParquetWriter(parts, table.schema, shredding=shredding, options=options) as writer:
        for batch in table.to_batches(max_chunksize=7):
            writer.write(batch)
    assert writer.facts.leaves == whole.leaves
    assert parts.read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_a_row_group_is_bounded_by_bytes_too(tmp_path: Path) -> None:
    table = pa.table({"v": column_of([{"text": "x" * 1000}] * 50)})
    path = tmp_path / "f.parquet"
    with ParquetWriter(path, table.schema, options=WriteOptions(row_group_bytes=10_000)) as writer:
        for batch in table.to_batches(max_chunksize=5):
            writer.write(batch)
    assert pq.ParquetFile(path).metadata.num_row_groups == 5


@pytest.mark.parametrize("ddl", BY_TYPE)
def test_no_rows_of_every_type(ddl: str, tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    lists = pa.table({"v": column_of([]), "l": pa.array([[], None], pa.list_(variant()))[:0]})
    write_parquet(lists, path, shredding={"v": f"struct<a {ddl}>", "l.list.element": f"array<{ddl}>"})
    assert read_rows(path) == []
    assert check(path) == []
    assert inspect(path).rows == 0


@pytest.mark.parametrize("rows_written", [0, 1])
def test_small_files(rows_written: int, tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    table = pa.table({"v": column_of([{"a": 1}])}).slice(0, rows_written)
    facts = write_parquet(table, path, shredding={"v": "struct<a bigint>"})
    assert facts.num_rows == rows_written
    assert len(read_rows(path)) == rows_written
    assert check(path) == []


def test_a_shredded_column_is_written_as_it_comes(tmp_path: Path) -> None:
    schema = ShreddingSchema.parse("struct<a bigint>")
    values = [{"a": 1}, {"a": "x", "b": 2}, MISSING, "no object"]
    shredded = shred(column_of(values), schema)
    path = tmp_path / "f.parquet"
    assert write_parquet(pa.table({"v": shredded}), path).variants["v"].schema == schema
    assert read_rows(path) == rows(column_of(values))
    other = write_parquet(pa.table({"v": shredded}), path, shredding={"v": "struct<b bigint>"})
    assert str(other.variants["v"].schema) == "struct<b bigint>"
    assert read_rows(path) == rows(column_of(values))
    plain = write_parquet(pa.table({"v": shredded}), path, shredding={"v": None})
    assert plain.variants["v"].schema is None
    assert [child.name for child in footer_schema(path).children[0].children] == ["metadata", "value"]
    assert read_rows(path) == rows(column_of(values))
    assert check(path) == []


SHREDDED = shred(column_of([{"a": 1}, {"a": 2}]), ShreddingSchema.parse("struct<a double>"))


@pytest.mark.parametrize(
    ("shredding", "v", "w", "shredded"),
    [
        ("infer", "struct<a bigint>", "string", "struct<a double>"),
        (None, None, None, None),
        ({}, "struct<a bigint>", "string", "struct<a double>"),
        ({"v": "infer"}, "struct<a bigint>", "string", "struct<a double>"),
        ({"v": None}, None, "string", "struct<a double>"),
        ({"V": "struct<a double>"}, "struct<a double>", "string", "struct<a double>"),
        ({"w": "variant", "shredded": None}, "struct<a bigint>", None, None),
        ({"shredded": "struct<a bigint>"}, "struct<a bigint>", "string", "struct<a bigint>"),
    ],
)
def test_what_each_request_writes(
    tmp_path: Path, shredding: Any, v: str | None, w: str | None, shredded: str | None
) -> None:
    columns = {"v": column_of([{"a": 1}, {"a": 2}]), "w": column_of(["x", "y"]), "shredded": SHREDDED}
    path = tmp_path / "f.parquet"
    facts = write_parquet(pa.table(columns), path, shredding=shredding)
    found = {name: one.schema and str(one.schema) for name, one in facts.variants.items()}
    assert found == {"v": v, "w": w, "shredded": shredded}
    for name, given in columns.items():
        assert to_json(read_parquet(path)[name]).to_pylist() == to_json(unshred(given)).to_pylist()
    assert check(path) == []


def test_by_default_columns_are_inferred(tmp_path: Path) -> None:
    table = pa.table({"v": column_of([{"a": 1}, {"a": 2}])})
    assert str(write_parquet(table, tmp_path / "f.parquet").variants["v"].schema) == "struct<a bigint>"
    with ParquetWriter(tmp_path / "g.parquet", table.schema) as writer:
        writer.write(table)
    assert str(writer.facts.variants["v"].schema) == "struct<a bigint>"


def test_a_schema_that_applies_to_several_columns_is_refused(tmp_path: Path) -> None:
    table = pa.table({"v": column_of([1]), "w": column_of([2])})
    with pytest.raises(InvalidSchema, match="several Variants: v, w"):
        write_parquet(table, tmp_path / "f.parquet", shredding="bigint")


def test_other_spellings_of_a_shredded_column(tmp_path: Path) -> None:
    """typed_value first, no value, large and view types: written in the specification's order and types."""
    odd = pa.struct(
        [
            pa.field(
                "typed_value",
                pa.struct(
                    [pa.field("t", pa.struct([pa.field("typed_value", pa.large_string())]), nullable=False)]
                ),
            ),
            pa.field("metadata", pa.large_binary(), nullable=False),
        ]
    )
    metadata = Variant.of({"t": 1}).metadata
    array = pa.array([{"typed_value": {"t": {"typed_value": "x"}}, "metadata": metadata}, None], odd)
    path = tmp_path / "f.parquet"
    write_parquet(pa.table({"v": array}), path)
    [group] = footer_schema(path).children
    assert [child.name for child in group.children] == ["metadata", "value", "typed_value"]
    assert read_rows(path) == [Variant.of({"t": "x"}), None]
    assert check(path) == []


def test_unknown_columns_and_bad_schemas_are_named(tmp_path: Path) -> None:
    table = pa.table({"v": column_of([1]), "n": [1]})
    path = tmp_path / "f.parquet"
    with pytest.raises(InvalidSchema, match=r"shredding is given for 'n'; the Variant columns are: v"):
        write_parquet(table, path, shredding={"n": "bigint"})
    with pytest.raises(InvalidSchema, match="unknown type 'uint'"):
        write_parquet(table, path, shredding={"v": "uint"})
    with ParquetWriter(path, table.schema) as writer, pytest.raises(InvalidSchema, match="columns"):
        writer.write(pa.table({"v": column_of([1])}))
    with pytest.raises(InvalidFile, match="aborted"):
        writer.close()
    assert list(tmp_path.iterdir()) == []


def test_a_null_value_in_an_unshredded_column_is_an_error_with_its_row(tmp_path: Path) -> None:
    bad = pa.array([None, {"metadata": b"\x01\x00\x00", "value": None}], variant())
    with pytest.raises(MalformedVariant, match="v, row 1"):
        write_parquet(pa.table({"v": bad}), tmp_path / "f.parquet")


def test_nulls_of_every_kind_stay_apart(tmp_path: Path) -> None:
    values = [MISSING, None, {}, {"a": None}, {"a": 1}, []]
    path = tmp_path / "f.parquet"
    facts = write_parquet(pa.table({"v": column_of(values)}), path, shredding={"v": "struct<a bigint>"})
    assert [row and row.to_python() for row in read_rows(path)] == [None, None, {}, {"a": None}, {"a": 1}, []]
    assert [row is None for row in read_rows(path)] == [True, False, False, False, False, False]
    assert facts.variants["v"].null_count == 1
    assert facts.variants["v"].residual == {"$", "$['a']"}


def test_facts_of_leaves(tmp_path: Path) -> None:
    values = [
        {"n": 3, "f": math.nan, "s": "b", "l": [1, 2]},
        {"n": -7, "f": 1.5, "s": "a" * 5000, "l": ["x"]},
        {"n": "odd"},
        MISSING,
    ]
    schema = "struct<n bigint, f double, s string, l array<bigint>, gone date>"
    table = pa.table({"v": column_of(values), "k": pa.array([5, None, 9, 1]), "g": [math.nan, 2.0, 1.0, 0.5]})
    facts = write_parquet(table, tmp_path / "f.parquet", shredding={"v": schema})
    found = facts.variants["v"]
    assert found.null_count == 1
    assert found.residual == {"$['n']", "$['l'][*]"}
    n, f, s = found.leaves["$['n']"], found.leaves["$['f']"], found.leaves["$['s']"]
    assert (n.minimum.as_py(), n.maximum.as_py(), n.value_count, n.null_count) == (-7, 3, 2, 2)
    assert (f.minimum.as_py(), f.maximum.as_py(), f.has_nan) == (1.5, 1.5, True)
    assert (s.minimum, s.maximum, s.value_count) == (None, None, 2), "bounds above 4 kB are unknown"
    assert found.leaves["$['l'][*]"].value_count == 2
    gone = found.leaves["$['gone']"]
    assert (gone.minimum, gone.value_count, gone.null_count) == (None, 0, 4)
    assert (facts.leaves["k"].minimum.as_py(), facts.leaves["k"].null_count) == (1, 1)
    assert (facts.leaves["g"].has_nan, facts.leaves["k"].has_nan) == (True, False)
    assert facts.size == (tmp_path / "f.parquet").stat().st_size


def test_all_nan_has_no_bounds(tmp_path: Path) -> None:
    facts = write_parquet(pa.table({"g": [math.nan, math.nan]}), tmp_path / "f.parquet")
    found = facts.leaves["g"]
    assert (found.minimum, found.has_nan, found.value_count) == (None, True, 2)


def test_the_layout_for_the_log(tmp_path: Path) -> None:
    table = pa.table({"v": column_of([{"a": 1}, {"a": "x"}]), "w": column_of([1, 2])})
    facts = write_parquet(table, tmp_path / "f.parquet", shredding={"v": "struct<a bigint, `b.c` string>"})
    layout = parse_layout_json(facts.layout_json())
    assert {name: str(found.schema) for name, found in layout.items()} == {
        "v": "struct<a bigint, `b.c` string>",
        "w": "bigint",
    }
    assert layout["v"].residual == {"$['a']"}


@pytest.mark.parametrize(
    ("odd", "expected"),
    [
        ({"o": {"x": 5}, "p": {"y": 1}, "l": [{"z": 1}]}, {"$", "$['o']", "$['p']"}),
        ({"o": {"x": "odd"}, "p": {"y": 1}}, {"$", "$['o']", "$['p']"}),
        ({"o": {"x": 5}, "p": {}}, {"$", "$['o']", "$['p']"}),
        ({"o": {"x": 5}}, {"$", "$['o']"}),
        ({"p": 7}, {"$"}),
        ({}, {"$"}),
        (7, set()),
        (None, set()),
        (MISSING, set()),
    ],
)
def test_which_objects_every_row_has(tmp_path: Path, odd: Any, expected: set[str]) -> None:
    rows = [{"o": {"x": n}, "p": {"y": n}, "l": [{"z": n}]} for n in range(3)]
    schema = "struct<o struct<x bigint>, p struct<y bigint>, l array<struct<z bigint>>>"
    table = pa.table({"v": column_of([*rows, odd])})
    facts = write_parquet(table, tmp_path / "f.parquet", shredding={"v": schema})
    assert facts.variants["v"].objects == frozenset(expected)
    assert parse_layout_json(facts.layout_json())["v"].objects == frozenset(expected)


def test_groups_that_are_null_as_a_whole(tmp_path: Path) -> None:
    """Nothing of what lies under a null reaches the file."""
    schema = "struct<a struct<x bigint>, l array<bigint>, s bigint>"
    rows = [{"a": {"x": n}, "l": [n, n + 1], "s": n} for n in range(4)]
    shredded = shred(column_of(rows), ShreddingSchema.parse(schema))

    def hide(group: pa.StructArray, row: int) -> pa.StructArray:
        fields = [pa.field(field.name, field.type) for field in group.type]
        parts = [group.field(field.name) for field in group.type]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=pa.array([n == row for n in range(4)]))

    typed = shredded.field("typed_value")
    groups = [hide(typed.field(name), row) for name, row in (("a", 0), ("l", 1), ("s", 2))]
    fields = [pa.field(field.name, group.type) for field, group in zip(typed.type, groups, strict=True)]
    parts = [
        shredded.field("metadata"),
        shredded.field("value"),
        pa.StructArray.from_arrays(groups, fields=fields),
    ]
    names = ["metadata", "value", "typed_value"]
    hidden = pa.StructArray.from_arrays(parts, names=names)
    path = tmp_path / "f.parquet"
    write_parquet(pa.table({"v": hidden}), path)
    expected = [
        {name: value for name, value in row.items() if name != "als"[n : n + 1]} for n, row in enumerate(rows)
    ]
    assert [json.loads(text) for text in to_json(hidden).to_pylist()] == expected
    read = read_parquet(path).column("v")
    assert [json.loads(text) for text in to_json(read).to_pylist()] == expected
    assert check(path) == []


def test_what_every_element_has_need_not_be_in_every_row(tmp_path: Path) -> None:
    lists = pa.ListArray.from_arrays([0, 2, 2], column_of([{"o": {"x": 1}}, {"o": {"x": 2}}]))
    shredding = {"l.list.element": "struct<o struct<x bigint>>"}
    facts = write_parquet(pa.table({"l": lists}), tmp_path / "f.parquet", shredding=shredding)
    assert facts.variants["l.list.element"].objects == set()


def test_key_value_metadata_and_no_arrow_schema(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    write_parquet(pa.table({"v": column_of([1])}), path, metadata={"who": "me"})
    found = pq.ParquetFile(path).metadata.metadata
    assert found.pop(b"shredlake.seal")
    assert found == {b"who": b"me"}


def test_pages_and_indexes(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    table = pa.table({"v": column_of([{"a": i} for i in range(3000)])})
    write_parquet(table, path, shredding={"v": "struct<a bigint>"}, options=WriteOptions(page_rows=1000))
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(3)
    assert chunk.has_column_index
    assert chunk.has_offset_index


def test_bloom_filters_on_chosen_paths(tmp_path: Path) -> None:
    table = pa.table({"v": column_of([{"id": f"user-{i}"} for i in range(1000)])})
    schema = {"v": "struct<id string>"}
    plain = write_parquet(table, tmp_path / "plain.parquet", shredding=schema)
    sizes = set()
    for asked in (("v.typed_value.id.typed_value",), ("v:id", "v:other.id")):
        options = WriteOptions(bloom_filters=asked, row_group_rows=1024)
        bloom = write_parquet(table, tmp_path / "bloom.parquet", shredding=schema, options=options)
        assert 500 < bloom.size - plain.size < 4000
        assert read_rows(tmp_path / "bloom.parquet") == read_rows(tmp_path / "plain.parquet")
        sizes.add(bloom.size)
    assert len(sizes) == 1


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("v.id", "no Bloom filter on v.id: the file has no such leaf"),
        ("v:id = 1", "needs a column or a path"),
    ],
)
def test_a_bloom_filter_on_nothing(asked: str, message: str, tmp_path: Path) -> None:
    options = WriteOptions(bloom_filters=(asked,))
    with pytest.raises(ShredlakeError, match=message):
        write_parquet(pa.table({"v": column_of([{"id": 1}])}), tmp_path / "f.parquet", options=options)
    assert list(tmp_path.iterdir()) == []


def test_encodings_are_chosen_by_the_data_and_can_be_set(tmp_path: Path) -> None:
    values = [{"n": i * 7, "low": i % 3, "name": f"prefix-{i:06}"} for i in range(5000)]
    table = pa.table({"v": column_of(values)})
    schema = {"v": "struct<n bigint, low bigint, name string>"}

    def encodings(path: Path) -> dict[str, set[str]]:
        group = pq.ParquetFile(path).metadata.row_group(0)
        chunks = {tuple(c.path_in_schema.split(".")): c for c in map(group.column, range(group.num_columns))}
        return {
            name: set(chunks["v", "typed_value", name, "typed_value"].encodings)
            for name in ("n", "low", "name")
        }

    write_parquet(table, tmp_path / "a.parquet", shredding=schema)
    chosen = encodings(tmp_path / "a.parquet")
    assert "DELTA_BINARY_PACKED" in chosen["n"]
    assert "RLE_DICTIONARY" in chosen["low"]
    assert "DELTA_BYTE_ARRAY" in chosen["name"]
    options = WriteOptions(encodings={"v.typed_value.n.typed_value": "PLAIN"})
    write_parquet(table, tmp_path / "b.parquet", shredding=schema, options=options)
    assert "DELTA_BINARY_PACKED" not in encodings(tmp_path / "b.parquet")["n"]
    assert read_rows(tmp_path / "a.parquet") == read_rows(tmp_path / "b.parquet")


def test_empty_residuals_cost_next_to_nothing(tmp_path: Path) -> None:
    """An all-null `value` column takes 50 bytes a page: 5 kB for a million rows."""
    count = 100_000
    typed = pa.array(range(count))
    names = Variant.of({"a": 1}).metadata
    type_ = shredded_type(ShreddingSchema.parse("struct<a bigint>"))
    group = pa.StructArray.from_arrays(
        [pa.nulls(count, pa.binary()), typed], fields=list(type_.field("typed_value").type.field("a").type)
    )
    array = pa.StructArray.from_arrays(
        [
            pa.array([names]).take(pa.array([0] * count)),
            pa.nulls(count, pa.binary()),
            pa.StructArray.from_arrays([group], fields=list(type_.field("typed_value").type)),
        ],
        fields=list(type_),
    )
    facts = write_parquet(pa.table({"v": array}), tmp_path / "f.parquet")
    for name in ("v.value", "v.typed_value.a.value"):
        assert facts.leaves[name].compressed_size < 50 * (count // 8192 + 1)


def test_names_with_dots_and_quotes(tmp_path: Path) -> None:
    values = [{"a.b": 1, "a": {"b": "x"}, "it's": [1], "": 5, "\U0001f680": 2}]
    schema = "struct<`a.b` bigint, a struct<b string>, `it's` array<bigint>, `` bigint, `\U0001f680` bigint>"
    path = tmp_path / "f.parquet"
    facts = write_parquet(pa.table({"v": column_of(values)}), path, shredding={"v": schema})
    assert read_rows(path) == rows(column_of(values))
    assert facts.variants["v"].leaves["$['a.b']"].maximum.as_py() == 1
    assert facts.variants["v"].leaves["$['a']['b']"].maximum.as_py() == "x"
    assert check(path) == []


def test_the_metadata_of_null_rows_may_be_anything(tmp_path: Path) -> None:
    """Arrow allows any bytes under a null; Parquet's writer does not, so they are replaced."""
    parts = [pa.array([None, b"\x01\x00\x00"]), pa.array([None, b"\x00"])]
    array = pa.StructArray.from_arrays(parts, fields=list(variant()), mask=pa.array([True, False]))
    path = tmp_path / "f.parquet"
    write_parquet(pa.table({"v": array}), path)
    assert read_rows(path) == [None, Variant.of(None)]
    assert rows(column([None])) == [None]
