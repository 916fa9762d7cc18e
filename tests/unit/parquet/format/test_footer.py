"""Footers: found, printed, and annotated without touching anything else."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.errors import InvalidFile
from shredlake.kernels import variant
from shredlake.parquet.format.footer import FILE_SCHEMA, annotate, footer_bytes, read_footer
from shredlake.parquet.format.schema import ELEMENT_CONVERTED_TYPE
from shredlake.parquet.format.thrift import read_struct
from shredlake.parquet.variant_columns import is_annotated, variant_columns


def written(table: pa.Table, **options: object) -> io.BytesIO:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink


def test_annotating_changes_the_schema_alone() -> None:
    table = pa.table({"v": pa.array([{"metadata": b"\x01\x00\x00", "value": b"\x00"}], variant()), "n": [1]})
    sink = written(table, write_page_index=True)
    before = read_footer(sink)
    annotated = annotate(before, [("v",)])
    after = annotated.raw
    old, new = read_struct(before.raw), read_struct(after)
    assert {number: old.fields[number] for number in old if number != FILE_SCHEMA} == {
        number: new.fields[number] for number in new if number != FILE_SCHEMA
    }
    sink.seek(before.start)
    sink.write(footer_bytes(after))
    assert pq.read_table(sink).to_pylist() == table.to_pylist()
    assert str(read_footer(sink).schema) == str(annotated.schema)
    [column] = variant_columns(read_footer(sink).schema)
    assert column.annotated
    assert column.group.annotation == "VARIANT(1)"


def test_annotating_twice_is_annotating_once() -> None:
    footer = read_footer(written(pa.schema([("v", variant())]).empty_table()))
    once = annotate(footer, [("v",)])
    assert annotate(once, [("v",)]) == once


def test_zoneless_timestamps_get_the_old_type_too() -> None:
    types = [pa.timestamp(unit, tz) for unit in ("ms", "us", "ns") for tz in (None, "UTC")]
    schema = pa.schema([(f"t{i}", type_) for i, type_ in enumerate(types)])
    raw = annotate(read_footer(written(schema.empty_table(), store_schema=False)), []).raw
    converted = [
        element.integer(ELEMENT_CONVERTED_TYPE) for element in read_struct(raw).structs(FILE_SCHEMA)[1:]
    ]
    assert converted == [9, 9, 10, 10, None, None]
    sink = io.BytesIO(b"PAR1" + footer_bytes(raw))
    assert pq.read_schema(sink).types == types


def test_annotating_a_group_that_is_not_there() -> None:
    footer = read_footer(written(pa.table({"n": [1]})))
    with pytest.raises(InvalidFile, match=r"no 's.v'"):
        annotate(footer, [("s", "v")])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it has 0 bytes"),
        (b"PAR1PAR1", "it has 8 bytes"),
        (b"PAR1" + bytes(20), "ends in"),
        (b"PAR1" + bytes(20) + b"\x00\x00\x00\x00PARE", "encrypted"),
        (b"PAR1" + b"\xff\xff\xff\x7fPAR1", "truncated"),
    ],
)
def test_no_parquet_file(content: bytes, message: str) -> None:
    with pytest.raises(InvalidFile, match=message):
        read_footer(io.BytesIO(content), "f.parquet")


def test_files_of_other_writers_have_a_layout(conformance: Path) -> None:
    """The conformance files parse into Variant columns; Spark's older ones are not annotated."""
    annotated = 0
    for path in sorted(conformance.rglob("*.parquet")):
        with path.open("rb") as file:
            schema = read_footer(file, path.name).schema
        annotated += path.stem.startswith("case-") and any(is_annotated(node) for node in schema.walk())
        if path.parent.name == "spark-variant-checkpoint":
            columns = {column.name: column.annotated for column in variant_columns(schema)}
            assert len(columns) > 3
            assert not any(columns.values())
            assert any(".list.element" in name for name in columns)
            assert any(".key_value.value" in name for name in columns)
    assert annotated == 137


def test_the_footer_has_no_bounds_of_binary_variants(tmp_path: Path) -> None:
    """Readers can't use them; null counts and the bounds of typed columns are kept."""
    rows = ['{"a": 1, "b": "x"}', '{"a": "odd", "c": [1]}', None, '{"a": 3}'] * 50
    table = pa.table({"v": sl.from_json(pa.array(rows)), "blob": pa.array([b"m", b"n"] * 100)})
    path = tmp_path / "f.parquet"
    options = sl.WriteOptions(row_group_rows=100)
    sl.write_parquet(table, path, shredding={"v": "struct<a bigint, b string>"}, options=options)
    metadata = pq.read_metadata(path)
    assert metadata.num_row_groups == 2
    for group in range(2):
        found = {
            column.path_in_schema: column.statistics
            for column in map(metadata.row_group(group).column, range(metadata.num_columns))
        }
        for name in ("v.metadata", "v.value", "v.typed_value.a.value"):
            assert not found[name].has_min_max
        assert [found[f"v.typed_value.a.{part}"].null_count for part in ("value", "typed_value")] == [75, 50]
        bounds = found["v.typed_value.a.typed_value"]
        assert (bounds.min, bounds.max) == (1, 3)
        assert (found["blob"].min, found["blob"].max) == (b"m", b"n")
    assert (
        sl.to_json(sl.read_parquet(path).column("v")).to_pylist() == sl.to_json(table.column("v")).to_pylist()
    )
