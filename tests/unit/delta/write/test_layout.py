"""Every writer shreds by one order: the table's property, the pin, the call, else the data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, numbered, rows_of, set_by_another_writer
from shredlake.delta.write.layout import newest_layout
from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.ingest.ingest import IngestOptions, ingest_text
from shredlake.jobs.ingest.ingest_arrow import ingest_batches
from shredlake.jobs.migrate import migrate_files
from shredlake.jobs.optimize import optimize_table
from shredlake.parquet.legacy.convert import write_draft

ON = {"delta.enableVariantShredding": "true"}
PIN = "shredlake.shredding."
TWO_VARIANTS = pa.schema([("v", sl.variant()), ("w", sl.variant())])


def layout(tags: Any) -> dict[str, str]:
    """The recorded layout of a file or a change file."""
    described = json.loads(dict(tags)["shredlake.layout"])
    return {name: column["shredding"] for name, column in described.items()}


def layouts(place: Path) -> list[dict[str, str]]:
    return [layout(tags) for tags in sl.Table(place).files().column("tags").to_pylist()]


def change_layouts(place: Path, version: int) -> list[dict[str, str]]:
    lines = (place / "_delta_log" / f"{version:020}.json").read_text().splitlines()
    return [layout(action["cdc"]["tags"]) for line in lines if "cdc" in (action := json.loads(line))]


def two(count: int = 20) -> pa.Table:
    values = sl.from_json(pa.array([f'{{"a": {n}, "b": "x{n}"}}' for n in range(count)]))
    return pa.table({"v": values, "w": values})


def nested() -> pa.Table:
    values = sl.from_json(pa.array([f'{{"a": {n}}}' for n in range(20)]))
    offsets = pa.array(range(21), pa.int32())
    return pa.table(
        {
            "s": pa.StructArray.from_arrays([values], fields=[pa.field("v", sl.variant())]),
            "l": pa.ListArray.from_arrays(offsets, values, type=pa.list_(pa.field("element", sl.variant()))),
        }
    )


def ingested(tmp_path: Path, place: Path, texts: list[str], **options: Any) -> None:
    source = tmp_path / f"source-{len(list(tmp_path.iterdir()))}.ndjson"
    source.write_text("\n".join(texts))
    ingest_text(LocalEngine(1), str(source), str(place), IngestOptions(**options))


# ── The layout of the newest file ───────────────────────────────────────────────────────────────────────


def appended_twice(place: Path) -> sl.Table:
    table = sl.Table.create(place, ID_AND_VARIANT, properties=ON)
    table.append(numbered(0, 3), shredding={"v": "struct<a bigint>"})
    table.append(numbered(3, 6), shredding={"v": "struct<s string>"})
    return table


@pytest.mark.parametrize("after_checkpoint", [False, True])
def test_the_newest_file_counts_also_right_after_a_checkpoint(tmp_path: Path, after_checkpoint: bool) -> None:
    table = appended_twice(tmp_path)
    if after_checkpoint:
        table.checkpoint()
    snapshot = sl.Table(tmp_path).snapshot
    assert bool(snapshot.files.parts) == after_checkpoint
    assert {name: str(found) for name, found in newest_layout(snapshot).items()} == {"v": "struct<s string>"}


def test_a_file_after_the_checkpoint_is_newer_than_any_in_it(tmp_path: Path) -> None:
    table = appended_twice(tmp_path)
    table.checkpoint()
    table.append(numbered(6, 9), shredding={"v": "struct<a int>"})
    assert str(newest_layout(sl.Table(tmp_path).snapshot)["v"]) == "struct<a int>"


def test_append_keeps_the_previous_layout(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=ON)
    table.append(rows_of(range(100), [{"a": n, "s": "x"} for n in range(100)]))
    table.append(rows_of(range(100), [{"a": n} for n in range(100)]))
    assert layouts(tmp_path) == [{"v": "struct<a bigint, s string>"}] * 2


def test_a_stream_keeps_the_layout_after_a_checkpoint(tmp_path: Path) -> None:
    place = tmp_path / "t"
    ingested(tmp_path, place, [f'{{"a": {n}}}' for n in range(50)], keep_layout=True)
    sl.Table(place).checkpoint()
    ingested(tmp_path, place, [f'{{"other": {n}}}' for n in range(50)], keep_layout=True)
    assert layouts(place) == [{"v": "struct<a bigint>"}] * 2


# ── Pins ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_pin_is_found_whatever_its_case(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=ON | {f"{PIN}V": "struct<s string>"})
    table.append(numbered(0, 9), shredding={"v": "struct<a int>"})
    assert layouts(tmp_path) == [{"v": "struct<s string>"}]


def test_delete_and_its_change_files_honour_the_pin_none(tmp_path: Path) -> None:
    feed = {"delta.enableChangeDataFeed": "true"}
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=ON | feed)
    table.append(numbered(0, 9))
    table.set_properties({f"{PIN}v": "none"})
    version = table.delete("id = 1")
    assert layouts(tmp_path) == [{}]
    assert change_layouts(tmp_path, version) == [{}]


def test_change_files_are_shredded_as_their_files(tmp_path: Path) -> None:
    feed = {"delta.enableChangeDataFeed": "true"}
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=ON | feed)
    table.append(numbered(0, 9), shredding={"v": "struct<a int>"})
    version = table.overwrite(numbered(1, 2), where="id = 1", shredding={"v": "struct<s string>"})
    assert change_layouts(tmp_path, version) == [{"v": "struct<a int>"}, {"v": "struct<s string>"}]


def test_ingest_honours_the_pins_of_other_columns(tmp_path: Path) -> None:
    place = tmp_path / "t"
    sl.Table.create(place, TWO_VARIANTS, properties=ON | {f"{PIN}w": "struct<b string>"})
    rows = two()
    options = IngestOptions(shredding="struct<a int>")
    ingest_batches(rows.to_batches(), rows.schema, "v", str(place), options)
    assert layouts(place) == [{"v": "struct<a int>", "w": "struct<b string>"}]


# ── Optimize ────────────────────────────────────────────────────────────────────────────────────────────


def test_optimize_keeps_variants_in_structs_and_lists_shredded(tmp_path: Path) -> None:
    rows = nested()
    table = sl.Table.create(tmp_path, rows.schema, properties=ON)
    table.append(rows)
    table.append(rows)
    optimize_table(LocalEngine(1), str(tmp_path))
    assert layouts(tmp_path) == [{"s.v": "struct<a bigint>", "l.list.element": "struct<a bigint>"}]


def test_optimize_gives_a_schema_to_the_column_that_it_is_for(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, TWO_VARIANTS, properties=ON)
    table.append(two(), shredding=None)
    with pytest.raises(sl.InvalidSchema, match="one schema, but there are several Variants: v, w"):
        optimize_table(LocalEngine(1), str(tmp_path), shredding="struct<a int>")
    optimize_table(LocalEngine(1), str(tmp_path), shredding={"v": "struct<a int>", "w": None})
    assert layouts(tmp_path) == [{"v": "struct<a int>"}]
    optimize_table(LocalEngine(1), str(tmp_path), column="w", shredding="struct<b string>")
    assert layouts(tmp_path) == [{"v": "struct<a bigint, b string>", "w": "struct<b string>"}]


# ── Migrate ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, {"v": "struct<a bigint>"}),
        ({f"{PIN}v": "struct<b string>"}, {"v": "struct<b string>"}),
        ({f"{PIN}v": "none"}, {}),
        ({"delta.enableVariantShredding": "false"}, {}),
    ],
)
def test_migrate_asks_property_and_pins(
    tmp_path: Path, properties: dict[str, str], expected: dict[str, str]
) -> None:
    rows = two().select(["v"])
    write_draft(rows, tmp_path / "draft.parquet", {"v": "struct<a bigint>"})
    sl.Table.create(tmp_path / "t", rows.schema, properties=ON | properties)
    report = migrate_files(LocalEngine(1), str(tmp_path / "draft.parquet"), str(tmp_path / "t"))
    assert layouts(tmp_path / "t") == [expected]
    assert report.layout == expected.get("v")


def test_migrate_finds_columns_under_column_mapping(tmp_path: Path) -> None:
    rows = two().select(["v"])
    write_draft(rows, tmp_path / "draft.parquet", {"v": "struct<a bigint>"})
    mapped = ON | {"delta.columnMapping.mode": "name"}
    sl.Table.create(tmp_path / "t", rows.schema, properties=mapped)
    migrate_files(LocalEngine(1), str(tmp_path / "draft.parquet"), str(tmp_path / "t"))
    [found] = layouts(tmp_path / "t")
    assert list(found.values()) == ["struct<a bigint>"]


# ── What calls say ──────────────────────────────────────────────────────────────────────────────────────


def test_shredding_means_the_same_in_every_call(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path / "append", ID_AND_VARIANT, properties=ON)
    place = tmp_path / "ingest"
    sl.Table.create(place, pa.schema([("v", sl.variant())]), properties=ON)
    texts = [f'{{"a": {n}}}' for n in range(20)]
    for given, expected in (
        ("infer", {"v": "struct<a bigint>"}),
        ("struct<a int>", {"v": "struct<a int>"}),
        ({"V": "struct<a int>"}, {"v": "struct<a int>"}),
        (None, {}),
    ):
        table.overwrite(rows_of(range(20), [{"a": n} for n in range(20)]), shredding=given)
        assert layouts(tmp_path / "append") == [expected], given
        sl.Table(place).delete()
        ingested(tmp_path, place, [*texts, json.dumps({"a": len(str(given))})], shredding=given)
        assert layouts(place) == [expected], given
        optimize_table(LocalEngine(1), str(tmp_path / "append"), shredding=given)
        assert layouts(tmp_path / "append") == [expected], given


@pytest.mark.parametrize("value", ["TRUE", "false"])
def test_nothing_is_shredded_unless_the_property_is_exactly_true(tmp_path: Path, value: str) -> None:
    sl.Table.create(tmp_path, ID_AND_VARIANT, properties=ON | {f"{PIN}v": "struct<a int>"})
    set_by_another_writer(tmp_path, {"delta.enableVariantShredding": value})
    sl.Table(tmp_path).append(numbered(0, 9), shredding={"v": "struct<a int>"})
    assert layouts(tmp_path) == [{}]
