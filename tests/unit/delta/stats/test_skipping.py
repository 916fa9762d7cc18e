"""Skipping: one test for each way in which it could lose a row, and for what it must manage to skip."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import shredlake as sl
from delta_tables import PROTOCOL, add, metadata, rows_of, variants, write_commit
from shredlake.delta.stats.collect import truncated_maximum, truncated_minimum
from shredlake.delta.stats.skipping import prune
from shredlake.delta.stats.z85 import decode_variant, encode, encode_variant
from shredlake.expr import parse_predicate
from shredlake.expr.evaluate import evaluate

OPEN = {"delta.enableVariantShredding": "true", "delta.checkpointInterval": "1000"}


def table_of(*files: tuple[list[Any], str | None], properties: dict[str, str] | None = None) -> sl.Table:
    """One file per argument: its Variants, and how they are shredded."""
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create(f"memory://skipping/{uuid4()}", schema, properties=OPEN | (properties or {}))
    row = 0
    for values, layout in files:
        table.append(rows_of(range(row, row + len(values)), values), shredding={"v": layout})
        row += len(values)
    return table


def found(table: sl.Table, where: str) -> list[int]:
    """The ids that match, from the log's JSON statistics and from a checkpoint's typed ones alike."""
    first = sorted(table.scan(["id"], where=where).to_arrow().column("id").to_pylist())
    everything = table.scan().to_arrow()
    mask = pc.fill_null(evaluate(parse_predicate(where), everything), False)
    assert sorted(everything.filter(mask).column("id").to_pylist()) == first
    table.checkpoint()
    again = sl.Table(table.uri)
    assert again.snapshot.segment.checkpoint is not None
    assert sorted(again.scan(["id"], where=where).to_arrow().column("id").to_pylist()) == first
    return first


def files_kept(table: sl.Table, where: str) -> int:
    """How many files must be read; the same with typed statistics."""
    kept = table.scan(["id"], where=where).files().num_rows
    table.checkpoint()
    assert sl.Table(table.uri).scan(["id"], where=where).files().num_rows == kept
    return int(kept)


def python(bound: str | None) -> object:
    return None if bound is None else decode_variant(bound).to_python()


def bounds(table: sl.Table) -> list[tuple[Any, Any]]:
    """Minimum and maximum of `v` per file, decoded; None where there is none."""
    result = []
    for text in table.files().column("stats").to_pylist():
        stats = json.loads(text)
        low, high = (stats[side].get("v") for side in ("minValues", "maxValues"))
        result.append((python(low), python(high)))
    return result


# ── What must be skipped ────────────────────────────────────────────────────────────────────────────────


def test_a_path_skips_files() -> None:
    table = table_of(
        ([{"a": n} for n in range(10)], "struct<a bigint>"),
        ([{"a": n} for n in range(50, 60)], "struct<a bigint>"),
    )
    assert found(table, "v:a::bigint = 55") == [15]
    assert files_kept(table, "v:a::bigint = 55") == 1
    assert files_kept(table, "v:a::bigint = 30") == 0
    assert files_kept(table, "v:a::bigint in (3, 30)") == 1
    assert files_kept(table, "v:a::int between 8 and 51") == 2


def test_one_useless_conjunct_does_not_spoil_the_others() -> None:
    table = table_of(([{"a": 1, "b": "x"}], "struct<a bigint>"), ([{"a": 100, "b": "y"}], "struct<a bigint>"))
    assert (
        files_kept(table, "v:a::bigint > 50 and v:b::string like '%y%' and id + 1 = id + v:a::bigint - 99")
        == 1
    )


@pytest.mark.parametrize(
    ("layout", "low", "high", "where"),
    [
        ("struct<a string>", "apple", "zebra", "v:a::string = '{}'"),
        ("struct<a double>", 1.5, 9.5, "v:a::double = {}"),
        ("struct<a float>", sl.Float32(1.5), sl.Float32(9.5), "v:a::float = {}"),
        ("struct<a decimal(9,2)>", Decimal("1.25"), Decimal("9.75"), "v:a::decimal(9,2) = {}"),
        ("struct<a date>", date(2026, 1, 1), date(2026, 2, 1), "v:a::date = date'{}'"),
        (
            "struct<a timestamp_ntz>",
            datetime(2026, 1, 1),
            datetime(2026, 2, 1),
            "v:a::timestamp_ntz = timestamp_ntz'{}'",
        ),
        ("struct<a boolean>", False, True, "v:a::boolean = {}"),
        ("struct<a tinyint>", 1, 9, "v:a::bigint = {}"),
    ],
)
def test_every_type_skips(layout: str, low: Any, high: Any, where: str) -> None:
    table = table_of(([{"a": low}], layout), ([{"a": high}], layout))
    for number, value in enumerate((low, high)):
        question = where.format(float(value) if isinstance(value, float) else str(value))
        assert found(table, question) == [number], question
        assert files_kept(table, question) == 1, question


def test_timestamps_skip_with_their_zone() -> None:
    moments = [datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in (0, 12)]
    table = table_of(*(([{"a": moment}], "struct<a timestamp>") for moment in moments))
    question = "v:a::timestamp = timestamp'2026-01-01 13:00:00+01:00'"
    assert found(table, question) == [1]
    assert files_kept(table, question) == 1
    local = table.scan(
        ["id"], where="v:a::timestamp = timestamp'2026-01-01 13:00:00'", timezone="Europe/Berlin"
    )
    assert local.to_arrow().column("id").to_pylist() == [1]


# ── Ways to lose a row ──────────────────────────────────────────────────────────────────────────────────


def test_mixed_types_in_one_file() -> None:
    """Text among numbers lies in the residual, so the path has no bounds in that file."""
    table = table_of(([{"a": 1}, {"a": "500"}], "struct<a bigint>"))
    assert bounds(table) == [(None, None)]
    assert found(table, "v:a::bigint = 500") == [1]
    assert found(table, "v:a::string = '500'") == [1]


def test_different_types_in_different_files() -> None:
    """Bounds of text say nothing about numbers, whatever the cast."""
    table = table_of(([{"a": "9"}, {"a": "10"}], "struct<a string>"), ([{"a": 10}], "struct<a bigint>"))
    assert bounds(table) == [({"$['a']": 10},) * 2, ({"$['a']": "10"}, {"$['a']": "9"})]
    assert found(table, "v:a::bigint = 9") == [0]
    assert found(table, "v:a::bigint = 10") == [1, 2]
    assert found(table, "v:a::bigint > 9") == [1, 2]
    assert files_kept(table, "v:a::bigint > 10") == 1, "the numbers are skipped all the same"


@pytest.mark.slow
def test_many_types_side_by_side() -> None:
    table = table_of(
        ([{"a": 5}], "struct<a bigint>"),
        ([{"a": 5.5}], "struct<a double>"),
        ([{"a": Decimal("5.25")}], "struct<a decimal(9,2)>"),
        ([{"a": Decimal("5.255")}], "struct<a decimal(9,3)>"),
        ([{"a": "5.5"}], "struct<a string>"),
        ([{"a": True}], "struct<a boolean>"),
        ([{"a": date(2026, 1, 1)}], "struct<a date>"),
        ([{"a": [5]}], "struct<a array<bigint>>"),
        ([{"a": {"b": 5}}], "struct<a struct<b bigint>>"),
        ([5], "bigint"),
    )
    assert found(table, "v:a::double between 5.2 and 5.6") == [1, 2, 3, 4]
    assert found(table, "v:a::bigint = 5") == [0, 1, 2, 3]
    assert found(table, "v:a::boolean") == [0, 1, 2, 3, 5]
    assert found(table, "v:a.b::bigint = 5") == [8]
    assert found(table, "v:a[0]::bigint = 5") == [7]
    assert found(table, "v::bigint = 5") == [9]


def test_residual_values_of_the_leaf() -> None:
    """A number too wide for the column stays in its `value`."""
    table = table_of(([{"a": 1}, {"a": 2**40}], "struct<a int>"))
    assert bounds(table) == [(None, None)]
    assert found(table, "v:a::bigint > 1000") == [1]


def test_variant_nulls_and_missing_paths() -> None:
    table = table_of(
        ([{"a": None}, {}, ..., {"a": 3}], "struct<a bigint>"), ([{}, {"b": 1}], "struct<a bigint>")
    )
    assert found(table, "v:a::bigint is null") == [0, 1, 2, 4, 5]
    assert found(table, "v:a::bigint = 3") == [3]
    assert found(table, "not (v:a::bigint = 3)") == []
    assert found(table, "v:a::bigint <=> null") == [0, 1, 2, 4, 5]


def test_files_that_are_all_null() -> None:
    schema = pa.schema([("id", pa.int64()), ("n", pa.int64()), ("v", sl.variant())])
    table = sl.Table.create(f"memory://skipping/{uuid4()}", schema, properties=OPEN)
    table.append(pa.table({"id": [0], "n": pa.array([None], pa.int64()), "v": variants([...])}))
    table.append(pa.table({"id": [1], "n": pa.array([7], pa.int64()), "v": variants([{"a": 1}])}))
    assert found(table, "n is null") == [0]
    assert found(table, "v is null") == [0]
    assert files_kept(table, "n is null") == 1
    assert files_kept(table, "v is null") == 1
    assert files_kept(table, "n > 0") == 1
    assert files_kept(table, "v is not null") == 1


@pytest.mark.slow
def test_nan_is_greater_than_everything() -> None:
    table = table_of(([{"a": 1.0}, {"a": math.nan}], "struct<a double>"), ([{"a": 2.0}], "struct<a double>"))
    assert bounds(table)[1] == ({"$['a']": 1.0}, None)
    assert found(table, "v:a::double > 1e308") == [1]
    assert found(table, "isnan(v:a::double)") == [1]
    assert files_kept(table, "v:a::double > 5") == 1
    schema = pa.schema([("id", pa.int64()), ("x", pa.float64())])
    plain = sl.Table.create(f"memory://skipping/{uuid4()}", schema)
    plain.append(pa.table({"id": [0, 1], "x": [1.0, math.nan]}))
    plain.append(pa.table({"id": [2], "x": [math.inf]}))
    assert found(plain, "x > 1e308") == [1, 2]
    assert found(plain, "isnan(x)") == [1]
    assert found(plain, "x < 5") == [0]
    assert found(plain, "x > 1e308 and not isnan(x)") == [2]


def test_other_writers_may_have_passed_over_nan(tmp_path: Path) -> None:
    """Parquet's bounds leave NaN out, and some writers take them over: their maxima do not exclude NaN."""
    schema = json.dumps(
        {"type": "struct", "fields": [{"name": "x", "type": "double", "nullable": True, "metadata": {}}]}
    )
    stats = {"numRecords": 2, "minValues": {"x": 1.0}, "maxValues": {"x": 2.0}, "nullCount": {"x": 0}}
    write_commit(tmp_path, 0, [PROTOCOL, metadata(schema=schema), add("f", stats=json.dumps(stats))])
    snapshot = sl.Table(tmp_path).snapshot
    assert prune(snapshot, parse_predicate("x > 5")).keep.tolist() == [True]
    assert prune(snapshot, parse_predicate("x < 0")).keep.tolist() == [False]


def test_negative_zero() -> None:
    table = table_of(([{"a": 0.0}], "struct<a double>"), ([{"a": -0.0}], "struct<a double>"))
    assert found(table, "v:a::double = 0") == [0, 1]
    assert found(table, "v:a::double <= -0.0D") == [0, 1]
    assert found(table, "v:a::double < 0") == []


LONG = "x" * 32


@pytest.mark.parametrize(
    "tail", ["", "a", "zzz", "\x7f", "é", "\U0010ffff", "\U0010ffff" * 40, "\U0010ffffa"]
)
def test_truncated_strings_still_bound(tail: str) -> None:
    text = LONG + tail
    lower, upper = truncated_minimum(text, 32), truncated_maximum(text, 32)
    assert lower.encode() <= text.encode()
    assert upper is None or upper.encode() >= text.encode()
    assert upper is None or len(upper) <= 65
    table = table_of(([{"a": text}], "struct<a string>"), ([{"a": LONG}], "struct<a string>"))
    expected = [0] if tail else [0, 1]
    assert found(table, f"v:a::string = '{text}'") == expected
    assert found(table, f"v:a::string > '{LONG}'") == ([0] if tail else [])
    schema = pa.schema([("id", pa.int64()), ("s", pa.string())])
    plain = sl.Table.create(f"memory://skipping/{uuid4()}", schema)
    plain.append(pa.table({"id": [0], "s": [text]}))
    assert found(plain, f"s = '{text}'") == [0]


def test_maxima_that_others_cut_through_a_character(tmp_path: Path) -> None:
    """Delta cuts a path's maximum by UTF-16 units: of an emoji across the cut a question mark is left."""
    value = "z" * 31 + "😀 and more"
    sides = {"minValues": "a", "maxValues": "z" * 31 + "?\U0010ffff"}
    texts = {side: {"v": encode_variant(sl.Variant.of({"$['s']": text}))} for side, text in sides.items()}
    stats = json.dumps({"numRecords": 2, "nullCount": {"v": 0}, **texts})
    write_commit(tmp_path, 0, [PROTOCOL, metadata(), add("f", stats=stats)])
    snapshot = sl.Table(tmp_path).snapshot
    assert prune(snapshot, parse_predicate(f"v:s::string = '{value}'")).keep.tolist() == [True]
    assert prune(snapshot, parse_predicate("v:s::string = 'A'")).keep.tolist() == [False]


@pytest.mark.parametrize(
    ("value", "maximum"),
    [
        ("z" * 32 + "😀", "z" * 32 + "\ufffd"),
        ("z" * 31 + "😀 and more", "z" * 31 + "?\ufffd"),
        ("z" * 31 + "😀 and more", "z" * 31 + "?\U0010ffff"),
    ],
)
def test_maxima_of_columns_that_others_cut_too_low(tmp_path: Path, value: str, maximum: str) -> None:
    """Older versions of Delta, and writers like them, append U+FFFD, which is smaller than an emoji."""
    fields = [{"name": "s", "type": "string", "nullable": True, "metadata": {}}]
    schema = json.dumps({"type": "struct", "fields": fields})
    stats = {"numRecords": 2, "nullCount": {"s": 0}, "minValues": {"s": "a"}, "maxValues": {"s": maximum}}
    write_commit(tmp_path, 0, [PROTOCOL, metadata(schema=schema), add("f", stats=json.dumps(stats))])
    snapshot = sl.Table(tmp_path).snapshot
    assert prune(snapshot, parse_predicate(f"s = '{value}'")).keep.tolist() == [True]
    assert prune(snapshot, parse_predicate("s > '{'")).keep.tolist() == [False]
    assert prune(snapshot, parse_predicate("s = 'A'")).keep.tolist() == [False]


def test_a_maximum_that_can_not_be_cut_is_left_out() -> None:
    text = "\U0010ffff" * 80
    assert truncated_maximum(text, 32) is None
    table = table_of(([{"a": text}], "struct<a string>"))
    assert bounds(table) == [({"$['a']": text[:32]}, None)]
    assert found(table, "v:a::string > 'a'") == [0]
    assert files_kept(table, "v:a::string < 'a'") == 0, "the minimum is still of use"


def test_the_prefix_length_is_a_property() -> None:
    table = table_of(
        ([{"a": "abcdef"}], "struct<a string>"), properties={"delta.dataSkippingStringPrefixLength": "3"}
    )
    assert bounds(table) == [({"$['a']": "abc"}, {"$['a']": "abc\x7f"})]


def test_timestamps_are_cut_to_milliseconds_in_the_log() -> None:
    schema = pa.schema([("id", pa.int64()), ("t", pa.timestamp("us", tz="UTC")), ("n", pa.timestamp("us"))])
    table = sl.Table.create(f"memory://skipping/{uuid4()}", schema)
    moment = datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)
    table.append(pa.table({"id": [0], "t": [moment], "n": [moment.replace(tzinfo=None)]}, schema=schema))
    [stats] = [json.loads(text) for text in table.files().column("stats").to_pylist()]
    assert stats["minValues"]["t"] == "2026-01-01T00:00:00.123Z"
    assert stats["maxValues"]["n"] == "2026-01-01T00:00:00.124"
    assert found(table, "t = timestamp'2026-01-01 00:00:00.123456Z'") == [0]
    assert found(table, "n > timestamp_ntz'2026-01-01 00:00:00.123455'") == [0]
    assert files_kept(table, "t < timestamp'2026-01-01 00:00:00.123Z'") == 0


def test_other_writers_cut_the_maximum_down(tmp_path: Path) -> None:
    fields = [{"name": "t", "type": "timestamp", "nullable": True, "metadata": {}}]
    at = "2026-01-01T00:00:00.123Z"
    stats = {"numRecords": 1, "minValues": {"t": at}, "maxValues": {"t": at}, "nullCount": {"t": 0}}
    schema = json.dumps({"type": "struct", "fields": fields})
    write_commit(tmp_path, 0, [PROTOCOL, metadata(schema=schema), add("f", stats=json.dumps(stats))])
    snapshot = sl.Table(tmp_path).snapshot
    for text, kept in (("00.123999", True), ("00.124", False)):
        where = parse_predicate(f"t = timestamp'2026-01-01 00:00:{text}Z'")
        assert prune(snapshot, where).keep.tolist() == [kept]


@pytest.mark.parametrize(
    "stats",
    [
        None,
        "",
        "{}",
        "not json",
        '{"numRecords": 1}',
        '{"numRecords": 1, "minValues": {"id": "text"}, "maxValues": {"id": [1]}}',
        '{"numRecords": 1, "minValues": {"id": 99}}',
        '{"numRecords": "many", "minValues": 5, "maxValues": null, "nullCount": []}',
        '{"numRecords": 1, "minValues": {"v": "???"}, "maxValues": {"v": 5}, "nullCount": {"v": -1}}',
        '{"numRecords": 0}',
    ],
)
def test_missing_and_broken_statistics(tmp_path: Path, stats: str | None) -> None:
    write_commit(tmp_path, 0, [PROTOCOL, metadata(), add("f", stats=stats)])
    snapshot = sl.Table(tmp_path).snapshot
    for where in ("id < 50", "v:a::bigint = 1", "v:a::string = 'x' or id is null"):
        if "99" in (stats or "") and where == "id < 50":
            continue  # a minimum alone is still a minimum
        assert prune(snapshot, parse_predicate(where)).keep.tolist() == [True], where


def test_damaged_bounds_are_unknown(tmp_path: Path) -> None:
    """Valid z85 whose bytes are not a Variant: the file is read, and others are still skipped."""
    good = sl.Variant.of({"$['a']": 5, "$['s']": "x"})
    raw = good.metadata + good.value
    table = sl.Table.create(tmp_path, rows_of([], []).schema, properties=OPEN)
    actions = []
    for place in range(len(raw)):
        damaged = raw[:place] + bytes([raw[place] ^ 0x5A]) + raw[place + 1 :]
        stats = {"numRecords": 1, "minValues": {"v": encode(damaged)}, "maxValues": {"v": encode(damaged)}}
        actions.append(add(f"damaged-{place}", stats=json.dumps(stats | {"nullCount": {"v": 0}})))
    sides = {side: {"v": encode_variant(good)} for side in ("minValues", "maxValues")}
    actions.append(add("good", stats=json.dumps({"numRecords": 1, "nullCount": {"v": 0}, **sides})))
    write_commit(tmp_path, 1, actions)
    for _ in range(2):
        table = sl.Table(tmp_path)
        kept = table.scan(where="v:a::bigint = 5").files().column("path").to_pylist()
        assert "good" in kept
        kept = table.scan(where="v:a::bigint = 4").files().column("path").to_pylist()
        assert "good" not in kept
        table.checkpoint()
    assert sl.Table(tmp_path).snapshot.segment.checkpoint is not None


def test_columns_without_statistics() -> None:
    table = table_of(([{"a": 1}], "struct<a bigint>"), properties={"delta.dataSkippingNumIndexedCols": "0"})
    assert found(table, "id = 0") == [0]
    assert found(table, "v:a::bigint = 1") == [0]
    assert files_kept(table, "v:a::bigint = 2") == 1


def test_paths_beyond_the_limit_have_no_bounds() -> None:
    layout = "struct<" + ", ".join(f"c{n} bigint" for n in range(10)) + ">"
    table = table_of(
        ([{f"c{n}": n for n in range(10)}], layout), properties={"shredlake.stats.limitPerVariant": "4"}
    )
    [(lower, upper)] = bounds(table)
    assert len(lower) == len(upper) == 4
    assert found(table, "v:c9::bigint = 9") == [0]
    assert files_kept(table, "v:c0::bigint = 9") == 0
    assert bounds(
        table_of(([{"a": 1}], "struct<a bigint>"), properties={"shredlake.stats.limitPerVariant": "0"})
    ) == [(None, None)]


def test_arrays_have_no_bounds() -> None:
    table = table_of(([{"a": [1, 2]}], "struct<a array<bigint>>"))
    assert bounds(table) == [(None, None)]
    assert found(table, "v:a[1]::bigint = 2") == [0]


@pytest.mark.parametrize("depth", [0, 1])
def test_columns_that_a_dotted_name_does_not_tell_apart(depth: int) -> None:
    inner = pa.schema([("a", pa.struct([("b", pa.int64())])), ("a.b", pa.int64())])
    schema = inner if depth == 0 else pa.schema([("s", pa.struct(list(inner)))])
    schema = schema.append(pa.field("id", pa.int64()))
    table = sl.Table.create(f"memory://skipping/{uuid4()}", schema)
    for number, (nested, plain) in enumerate([(1, 100), (100, 1)]):
        row: dict[str, Any] = {"a": {"b": nested}, "a.b": plain}
        row = row if depth == 0 else {"s": row}
        table.append(pa.Table.from_pylist([row | {"id": number}], schema=schema))
    prefix = "s." * depth
    assert found(table, f"{prefix}a.b = 1") == [0]
    assert found(table, f"{prefix}`a.b` = 1") == [1]
    assert files_kept(table, "id = 1") == 1


def test_keys_with_quotes_and_points() -> None:
    value = {"a.b": {"it's": 1}, "c\\d": 2, "$": 3, "": 4, "[0]": 5}
    layout = "struct<`a.b` struct<`it's` bigint>, `c\\d` bigint, `$` bigint, `` bigint, `[0]` bigint>"
    table = table_of(([value], layout), ([{"c\\d": 9}], layout))
    assert set(bounds(table)[1][0]) == {"$['a.b']['it\\'s']", "$['c\\\\d']", "$['$']", "$['']", "$['[0]']"}
    assert found(table, """v:['a.b']['it\\'s']::bigint = 1""") == [0]
    assert files_kept(table, """v:['a.b']['it\\'s']::bigint = 2""") == 1, "the other file has no such path"
    assert files_kept(table, "v:['$']::bigint = 4") == 1


def test_casts_that_do_not_keep_order_skip_nothing() -> None:
    table = table_of(([{"a": 5}, {"a": 10}], "struct<a bigint>"))
    assert found(table, "v:a::string = '10'") == [1]
    assert found(table, "v:a::string > '4'") == [0]
    assert found(table, "v:a::string < '5'") == [1]
    numbers = table_of(([{"a": 1.4}, {"a": -1.6}], "struct<a double>"))
    assert found(numbers, "v:a::int = 1") == [0]
    assert found(numbers, "v:a::int = -1") == [1]


def test_bounds_of_other_writers_in_either_z85_form(tmp_path: Path) -> None:
    lower = "0S&u501fk+ze0(tB98CpzF6vU0rJl95HpNdvjbtatpi(cu0wW^cTu"
    upper = "0S&u500&]LC42A9vqZe}wb#-i1}-a+cT!xdbWhT9cTx}7v<+K"
    ours = encode_variant(sl.Variant.of({"$['b']['c']": 500}))
    for name, sides in (("document", (lower, upper)), ("ours", (ours, ours))):
        stats = {"numRecords": 1, "minValues": {"v": sides[0]}, "maxValues": {"v": sides[1]}}
        write_commit(tmp_path / name, 0, [PROTOCOL, metadata(), add("f", stats=json.dumps(stats))])
    document, ours_ = (sl.Table(tmp_path / name).snapshot for name in ("document", "ours"))
    for value, in_document, in_ours in ((0, False, False), (50, True, False), (500, False, True)):
        where = parse_predicate(f"v:b.c::bigint = {value}")
        assert prune(document, where).keep.tolist() == [in_document]
        assert prune(ours_, where).keep.tolist() == [in_ours]


def test_deleted_rows_make_null_counts_vague(tmp_path: Path) -> None:
    vector = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
    protocol = json.loads(json.dumps(PROTOCOL))
    protocol["protocol"]["readerFeatures"].append("deletionVectors")
    protocol["protocol"]["writerFeatures"].append("deletionVectors")

    def stats(nulls: int) -> str:
        return json.dumps(
            {"numRecords": 10, "nullCount": {"id": nulls}, "minValues": {"id": 1}, "maxValues": {"id": 5}}
        )

    files = [add(str(nulls), stats=stats(nulls), deletionVector=vector) for nulls in (0, 3, 10)]
    write_commit(tmp_path, 0, [protocol, metadata(), *files])
    snapshot = sl.Table(tmp_path).snapshot
    kept = prune(snapshot, parse_predicate("id is null")).keep.tolist()
    assert kept == [False, True, True]
    assert prune(snapshot, parse_predicate("id = 3")).keep.tolist() == [True, True, False]
    assert prune(snapshot, parse_predicate("id = 7")).keep.tolist() == [False, False, False]


def test_widened_columns_keep_their_old_statistics(tmp_path: Path) -> None:
    fields = [{"name": "n", "type": "double", "nullable": True, "metadata": {}}]
    schema = json.dumps({"type": "struct", "fields": fields})
    stats = {"numRecords": 1, "minValues": {"n": 1}, "maxValues": {"n": 5}, "nullCount": {"n": 0}}
    write_commit(tmp_path, 0, [PROTOCOL, metadata(schema=schema), add("f", stats=json.dumps(stats))])
    snapshot = sl.Table(tmp_path).snapshot
    assert prune(snapshot, parse_predicate("n = 4.5")).keep.tolist() == [True]
    assert prune(snapshot, parse_predicate("n < 0.5")).keep.tolist() == [False]


def test_floats_that_became_doubles(tmp_path: Path) -> None:
    """A writer of floats says 0.1 where the value, as a double, is 0.10000000149."""
    changes = [{"fromType": "float", "toType": "double"}]
    fields = [{"name": "n", "type": "double", "nullable": True, "metadata": {"delta.typeChanges": changes}}]
    schema = json.dumps({"type": "struct", "fields": fields})
    stats = {"numRecords": 1, "minValues": {"n": 0.1}, "maxValues": {"n": 0.1}, "nullCount": {"n": 0}}
    action = add("f", stats=json.dumps(stats), tags={"shredlake.layout": "{}"})
    write_commit(tmp_path, 0, [PROTOCOL, metadata(schema=schema), action])
    snapshot = sl.Table(tmp_path).snapshot
    value = float(np.float32(0.1))
    for where in (f"n = {value!r}D", "n > 0.1D", "n = 0.1D"):
        assert prune(snapshot, parse_predicate(where)).keep.tolist() == [True], where
    assert prune(snapshot, parse_predicate("n > 0.11D")).keep.tolist() == [False]
    assert prune(snapshot, parse_predicate("n < 0.09D")).keep.tolist() == [False]


def test_far_moments_have_bounds_or_none() -> None:
    schema = pa.schema([("id", pa.int64()), ("d", pa.date32()), ("t", pa.timestamp("us"))])
    table = sl.Table.create(f"memory://skipping/{uuid4()}", schema)
    far = pa.table(
        {
            "id": [0],
            "d": pa.array([10_000_000], pa.int32()).cast(pa.date32()),
            "t": pa.array([2**62], pa.int64()).cast(pa.timestamp("us")),
        }
    )
    table.append(far)
    assert found(table, "d > date'2026-01-01'") == [0]
    assert found(table, "t > timestamp_ntz'2026-01-01 00:00:00'") == [0]
    latest = datetime(9999, 12, 31, 23, 59, 59, 999999)
    table.append(pa.table({"id": [1], "d": [date.max], "t": pa.array([latest], pa.timestamp("us"))}))
    assert found(table, f"t >= timestamp_ntz'{latest - timedelta(seconds=1)}'") == [0, 1]
