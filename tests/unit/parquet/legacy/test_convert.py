"""Files in the draft layout: read, written, converted; the examples of the draft's document as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from typer.testing import CliRunner

from draft_values import ARRAY, FIRST_EXAMPLE, OBJECT, python, untyped
from shredlake.cli.app import app
from shredlake.errors import InvalidFile, InvalidSchema
from shredlake.parquet.inspect.check import check
from shredlake.parquet.legacy.convert import convert_draft, read_draft, write_draft
from shredlake.parquet.legacy.types import draft_schema
from shredlake.parquet.variant_columns import variant_columns
from shredlake.shredding.legacy import (
    shred_draft,
)
from shredlake.variant.value import Variant
from strategies import shreddable_columns
from variant_columns import MISSING, column, column_of, footer_schema, read_rows, rows


def test_the_first_example_in_a_file(tmp_path: Path) -> None:
    values = [value for value, *_ in FIRST_EXAMPLE]
    path = tmp_path / "f.parquet"
    write_draft(pa.table({"variant_col": column_of(values)}), path, {"variant_col": OBJECT})
    assert rows(read_draft(path, reject_conflicts=True)["variant_col"]) == rows(column_of(values))
    assert check(path) == []
    raw = pq.read_table(path)["variant_col"].to_pylist()
    assert [python(row["untyped_value"]) for row in raw] == [top for _, top, *_ in FIRST_EXAMPLE]
    assert raw[0]["object"]["a"] == {"untyped_value": None, "typed_value": 123}


FULLY = [{"a": [1, 2, 3], "b": 100}, {"a": [4, 5, 6], "b": 200}]
PARTLY = [{"a": [1, 2, 3], "b": 100, "c": "unexpected"}, {"a": [4, 5, 6], "b": 200}, "not an object"]


def test_the_nested_example(tmp_path: Path) -> None:
    fully, partly = (shred_draft(Variant.of(value), ARRAY) for value in (FULLY, PARTLY))
    assert fully.array is not None
    assert [item.untyped for item in fully.array if item] == [None, None]
    assert partly.array is not None
    assert [python(item.untyped) for item in partly.array if item] == [
        {"c": "unexpected"},
        "absent",
        "not an object",
    ]
    values = [FULLY, PARTLY, {"a": 1}, [{"a": "no array"}], [{"a": [1, "two", None]}], []]
    path = tmp_path / "f.parquet"
    write_draft(pa.table({"variant_col": column_of(values)}), path, {"variant_col": ARRAY})
    assert rows(read_draft(path, reject_conflicts=True)["variant_col"]) == rows(column_of(values))
    raw = pq.read_table(path)["variant_col"].to_pylist()
    assert python(raw[2]["untyped_value"]) == {"a": 1}
    assert raw[2]["array"] is None
    assert python(raw[3]["array"][0]["object"]["a"]["untyped_value"]) == "no array"
    facts = convert_draft(path, tmp_path / "today.parquet")
    assert str(facts.variants["variant_col"].schema) == "array<struct<a array<bigint>, b bigint>>"
    assert read_rows(tmp_path / "today.parquet", "variant_col") == rows(column_of(values))
    assert check(tmp_path / "today.parquet") == []


def test_underscores_are_ignored_and_other_names_are_an_error(tmp_path: Path) -> None:
    level = pa.struct(
        [("untyped_value", pa.binary()), ("_spark_hint", pa.int8()), ("typed_value", pa.int64())]
    )
    row = {"untyped_value": None, "_spark_hint": 3, "typed_value": 5}
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"v": pa.array([row], level)}), path)
    assert rows(read_draft(path)["v"]) == [Variant.of(5)]
    assert check(path) == []
    other = pa.struct([("untyped_value", pa.binary()), ("surprise", pa.int8())])
    pq.write_table(pa.table({"v": pa.array([{"untyped_value": untyped(1)}], other)}), path)
    with pytest.raises(InvalidSchema, match=r"f.parquet: \$: unknown part 'surprise'"):
        read_draft(path)
    assert [(breach.rule, breach.path) for breach in check(path)] == [("draft-layout", "$")]
    deep = pa.struct([("untyped_value", pa.binary()), ("object", pa.struct([("a", other)]))])
    with pytest.raises(InvalidSchema, match=r"\$\['a'\]: unknown part 'surprise'"):
        draft_schema(deep)


@pytest.mark.parametrize("spelling", ["untyped_value", "variant_value"])
def test_both_spellings(spelling: str, tmp_path: Path) -> None:
    values = [{"a": 1, "z": 2}, {"a": "x"}, "odd", MISSING]
    path = tmp_path / "f.parquet"
    write_draft(pa.table({"v": column_of(values)}), path, {"v": "struct<a bigint>"}, spelling=spelling)
    assert spelling in pq.read_schema(path).field("v").type.names
    assert rows(read_draft(path)["v"]) == rows(column_of(values))


def test_columns_in_structs_and_lists(tmp_path: Path) -> None:
    variants = column_of([{"a": 1}, {"a": "x", "b": [1]}, 5])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, None, 3], pa.int32()), variants)
    table = pa.table({"l": lists, "id": [1, 2, 3]})
    write_draft(table, tmp_path / "draft.parquet", {"l.list.element": "struct<a bigint>"})
    assert check(tmp_path / "draft.parquet") == []
    convert_draft(tmp_path / "draft.parquet", tmp_path / "today.parquet")
    read = pq.ParquetFile(tmp_path / "today.parquet").read()
    assert read["id"].to_pylist() == [1, 2, 3]
    assert rows(read["l"].combine_chunks().flatten()) == rows(variants)
    assert read["l"].is_null().to_pylist() == [False, False, True]


def test_a_file_without_the_draft_layout(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1]}), tmp_path / "f.parquet")
    with pytest.raises(InvalidFile, match="no column in the draft layout"):
        read_draft(tmp_path / "f.parquet")


@pytest.mark.slow
@settings(max_examples=15)
@given(shreddable_columns())
def test_files_come_over_value_for_value(tmp_path_factory: pytest.TempPathFactory, case: Any) -> None:
    variants, schema = case
    folder = tmp_path_factory.mktemp("draft")
    write_draft(pa.table({"v": column(variants)}), folder / "draft.parquet", {"v": schema})
    assert check(folder / "draft.parquet") == []
    convert_draft(folder / "draft.parquet", folder / "today.parquet", reject_conflicts=True)
    assert read_rows(folder / "today.parquet") == variants
    assert check(folder / "today.parquet") == []


def test_the_verb_migrate(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    (old / "day=1").mkdir(parents=True)
    values = [{"a": 1}, {"a": "x"}, "odd", MISSING]
    for name in ("day=1/a.parquet", "b.parquet"):
        write_draft(pa.table({"v": column_of(values)}), old / name, {"v": "struct<a bigint>"})
    done = CliRunner().invoke(app, ["migrate", str(old), str(new)])
    assert done.exit_code == 0, done.output
    assert "2 files, 8 rows" in done.output
    for name in ("day=1/a.parquet", "b.parquet"):
        assert read_rows(new / name) == rows(column_of(values))
        assert check(new / name) == []
    done = CliRunner().invoke(
        app, ["migrate", str(old / "b.parquet"), str(tmp_path / "c.parquet"), "--infer"]
    )
    assert done.exit_code == 0, done.output
    assert read_rows(tmp_path / "c.parquet") == rows(column_of(values))


def test_infer_chooses_a_new_schema_from_the_data(tmp_path: Path) -> None:
    table = pa.table({"v": column_of([{"a": 1}, {"a": 2}])})
    write_draft(table, tmp_path / "old.parquet", {"v": "struct<b string>"})
    for options, schema in ([], "struct<b string>"), (["--infer"], "struct<a bigint>"):
        new = tmp_path / "new.parquet"
        done = CliRunner().invoke(app, ["migrate", str(tmp_path / "old.parquet"), str(new), *options])
        assert done.exit_code == 0, done.output
        assert str(variant_columns(footer_schema(new))[0].schema) == schema
        assert read_rows(new) == rows(table["v"].chunk(0))
