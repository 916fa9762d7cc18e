"""Decisions of the inference, one rule at a time."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.shredding.inference.infer import described, infer_schema
from shredlake.shredding.inference.profile import Profile
from shredlake.shredding.inference.profile_reference import profile_values
from shredlake.shredding.inference.report import Decision, InferredSchema, Outcome
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant import Variant

ROWS = 400


def profile_of(rows: Iterable[Any]) -> Profile:
    return profile_values(Variant.of(row) for row in rows)


def inferred(row: Callable[[int], Any], **options: Any) -> InferredSchema:
    return infer_schema(profile_of(row(number) for number in range(ROWS)), **options)


def decision(schema: InferredSchema, path: str) -> Decision:
    return next(decision for decision in schema.decisions if decision.path == path)


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (lambda n: n, "bigint"),
        (lambda n: n * 10**15, "bigint"),
        (lambda n: Decimal(n) / 100, "decimal(9,2)"),
        (lambda n: Decimal(n * 10**6 + 1) / 100, "decimal(18,2)"),
        (lambda n: Decimal(10**20 + n) / 100, "decimal(38,2)"),
        (lambda n: n if n % 2 else Decimal(n) / 100, "decimal(9,2)"),
        (lambda n: float(n), "double"),
        (lambda n: n % 3 == 0, "boolean"),
        (lambda n: f"text {n}", "string"),
        (lambda n: bytes([n % 256]), "binary"),
    ],
)
def test_types(value: Callable[[int], Any], type_: str) -> None:
    schema = inferred(lambda n: {"x": value(n)})
    assert str(schema) == f"struct<x {type_}>"
    assert decision(schema, "$['x']").fits == 1.0


def test_two_percent_of_another_type_do_not_cost_the_column() -> None:
    schema = inferred(lambda n: {"status": "n/a" if n % 50 == 0 else n})
    assert str(schema) == "struct<status bigint>"
    found = decision(schema, "$['status']")
    assert found.fits == pytest.approx(0.98)
    assert found.reason == "2.0% string in value"


def test_a_rare_decimal_stays_in_value() -> None:
    schema = inferred(lambda n: {"x": Decimal("0.12345") if n == 7 else n})
    assert str(schema) == "struct<x bigint>"


def test_a_rare_scale_does_not_widen_the_decimal() -> None:
    schema = inferred(lambda n: {"x": Decimal("0.12345678901") if n == 7 else Decimal(n) / 100})
    assert str(schema) == "struct<x decimal(9,2)>"


def test_hopelessly_mixed_paths_are_not_typed() -> None:
    kinds = [1, "one", True]
    schema = inferred(lambda n: {"x": kinds[n % 3], "id": n})
    assert dict(schema.leaves()).keys() >= {("id",)}
    assert decision(schema, "$['x']").outcome in (Outcome.LEFT, Outcome.VARIANT)
    assert decision(schema, "$['x']").reason.startswith("mixed: ")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (lambda n: {"id": n} | ({"x": n} if n % 25 == 0 else {}), "in 4.0% of the rows"),
        (lambda n: {"id": n, "x": n if n % 20 == 0 else None}, "null in 95.0%"),
        (lambda n: {"id": n, "x": None}, "only nulls"),
        (lambda n: {"id": n, "x": []}, "empty arrays"),
        (lambda n: {"id": n, "x": [n] if n % 20 == 0 else []}, "95.0% of the arrays are empty"),
        (lambda n: {"id": n, "x": {}}, "empty objects"),
    ],
)
def test_absent_and_empty_paths_are_left(row: Callable[[int], Any], reason: str) -> None:
    schema = inferred(row)
    assert str(schema) == "struct<id bigint>"
    assert decision(schema, "$['x']").outcome is Outcome.LEFT
    assert decision(schema, "$['x']").reason == reason


def test_arrays_and_objects() -> None:
    schema = inferred(lambda n: {"tags": ["a", "b"], "items": [{"id": n, "price": Decimal("1.50")}]})
    assert str(schema) == "struct<items array<struct<id bigint, price decimal(9,2)>>, tags array<string>>"


def test_a_mixed_object_keeps_its_fields() -> None:
    schema = inferred(lambda n: {"subject": {"uri": f"at://{n}"} if n % 4 else f"did:{n}"})
    assert str(schema) == "struct<subject struct<uri string>>"
    assert decision(schema, "$['subject']").reason == "25.0% string in value"


def test_roots_that_are_no_objects() -> None:
    assert str(inferred(lambda n: n)) == "bigint"
    assert str(inferred(lambda n: [f"{n}"])) == "array<string>"
    assert str(infer_schema(profile_of([]))) == "variant"
    assert str(infer_schema(profile_values([None, None]))) == "variant"


@pytest.mark.slow
def test_maps_are_left_whole() -> None:
    random.seed(3)
    schema = inferred(lambda n: {"day": n, "counts": {f"u{random.randrange(20_000)}": 1 for _ in range(20)}})
    assert str(schema) == "struct<counts variant, day bigint>"
    assert decision(schema, "$['counts']").reason.startswith("map-like: about ")


@pytest.mark.slow
def test_a_map_opens_for_the_key_that_queries_use() -> None:
    random.seed(3)
    schema = inferred(
        lambda n: {"counts": {"total": n, **{f"u{random.randrange(20_000)}": 1 for _ in range(20)}}},
        queries=["$.counts.total"],
    )
    assert str(schema) == "struct<counts struct<total bigint>>"


def test_queries_outweigh_frequency() -> None:
    def row(n: int) -> dict[str, Any]:
        return {"id": n, "rare": {"x": n, "y": n}} if n % 50 == 0 else {"id": n}

    assert str(inferred(row)) == "struct<id bigint>"
    schema = inferred(row, queries=["$.rare.x"])
    assert str(schema) == "struct<id bigint, rare struct<x bigint>>"
    assert decision(schema, "$['rare']['x']").reason == "used by queries"
    assert str(inferred(row, queries=["$.nowhere[0]"])) == "struct<id bigint>"


def test_queries_inside_arrays() -> None:
    def row(n: int) -> dict[str, Any]:
        return {"id": n, "a": [{"b": n}] if n % 50 == 0 else []}

    assert str(inferred(row, queries=["$.a[0].b"])) == "struct<a array<struct<b bigint>>, id bigint>"


def test_the_budget_is_kept_and_spent_where_it_pays() -> None:
    def row(n: int) -> dict[str, Any]:
        often = {f"often{number:02d}": f"{n} and some text" for number in range(10)}
        seldom = {f"seldom{number:02d}": n for number in range(10)} if n % 5 == 0 else {}
        return {"big": often, "small": seldom}

    assert len(list(inferred(row).leaves())) == 20
    schema = inferred(row, max_leaves=12)
    names = [steps[0] for steps, _ in schema.leaves()]
    assert (names.count("big"), names.count("small")) == (10, 2)
    assert decision(schema, "$['small']['seldom09']").reason == "over the budget of 12 leaves"
    hinted = inferred(row, max_leaves=5, queries=["$.small.seldom09"])
    assert ("small", "seldom09") in dict(hinted.leaves())


def test_depth_is_limited() -> None:
    deep: Any = 1
    for _ in range(6):
        deep = {"d": deep}
    assert str(inferred(lambda n: deep, max_depth=3)) == "struct<d struct<d struct<d variant>>>"


@pytest.mark.parametrize("wrap", [lambda it: {"d": it}, lambda it: [it], lambda it: [{"d": it}]])
@pytest.mark.parametrize("levels", [40, 60])
def test_what_is_inferred_can_be_written(wrap: Callable[[Any], Any], levels: int, tmp_path: Path) -> None:
    """Parquet schemas of more than 100 levels are refused by readers: an array takes three of them."""
    deep: Any = 1
    for _ in range(levels):
        deep = wrap(deep)
    column = sl.from_json(pa.array([json.dumps(deep)] * 20))
    sl.write_parquet(pa.table({"v": column}), tmp_path / "f.parquet", shredding="infer")
    assert sl.to_python(sl.read_parquet(tmp_path / "f.parquet")["v"]) == [deep] * 20
    table = sl.Table.create(str(tmp_path / "t"), pa.schema([("v", sl.variant())]))
    table.append(pa.table({"v": column}))
    assert sl.to_python(table.scan().to_arrow()["v"]) == [deep] * 20


def test_a_schema_too_deep_for_a_file_is_refused(tmp_path: Path) -> None:
    column = sl.from_json(pa.array(["1"]))
    for schema in ("array<" * 33 + "int" + ">" * 33, "struct<a " * 50 + "int" + ">" * 50):
        with pytest.raises(sl.InvalidSchema, match="levels of a Parquet schema"):
            sl.write_parquet(pa.table({"v": column}), tmp_path / "f.parquet", shredding={"v": schema})


def test_strings_that_are_dates_are_reported_not_converted() -> None:
    uuid = "123e4567-e89b-12d3-a456-426614174000"
    schema = inferred(lambda n: {"day": "2024-01-05", "at": "2024-01-05T10:00:00Z", "u": uuid, "n": f"{n}"})
    assert str(schema) == "struct<at string, day string, n string, u string>"
    notes = [decision(schema, f"$['{name}']").note for name in ("day", "at", "u", "n")]
    looks = ("dates", "timestamps", "uuids", "numbers")
    assert all(f"strings that are all {look}" in note for look, note in zip(looks, notes, strict=True))


def test_one_odd_string_and_they_are_not_all_dates() -> None:
    schema = inferred(lambda n: {"day": "never" if n == 5 else "2024-01-05"})
    assert decision(schema, "$['day']").note == ""


def test_names_that_are_not_unicode_are_left() -> None:
    column = profile_of({"ok": n, "bad": n} for n in range(50))
    broken = Profile.from_bytes(column.to_bytes().replace(b"bad", b"b\xffd"))
    schema = infer_schema(broken)
    assert str(schema) == "struct<ok bigint>"


def test_a_layout_is_kept_where_a_change_brings_little() -> None:
    rows = [{"id": n, "name": f"user {n}"} for n in range(ROWS)]
    before = infer_schema(profile_of(rows))
    drift = [
        {"id": n, "name": f"user {n}", "new": n} if n % 100 == 0 else {"id": n, "name": "x"}
        for n in range(ROWS)
    ]
    assert infer_schema(profile_of(rows + drift), previous=before) == before
    narrower = ShreddingSchema.parse("struct<id bigint, name string, gone bigint>")
    kept = infer_schema(profile_of(rows), previous=narrower)
    assert kept == narrower
    assert {found.reason for found in kept.decisions} == {"the table's layout is kept"}


def test_a_layout_changes_where_that_pays() -> None:
    rows = profile_of({"id": f"user-{n}", "note": f"text {n}"} for n in range(ROWS))
    assert str(infer_schema(rows, previous="struct<id bigint>")) == "struct<id string, note string>"
    asked = infer_schema(rows, previous="struct<id string>", queries=["$.note"])
    assert str(asked) == "struct<id string, note string>"


def test_a_given_layout_is_described_with_the_figures_of_the_data() -> None:
    rows = profile_of({"id": n} for n in range(ROWS))
    schema = described(rows, ShreddingSchema.parse("struct<other string>"), "pinned")
    assert str(schema) == "struct<other string>"
    assert {found.reason for found in schema.decisions} == {"pinned"}
