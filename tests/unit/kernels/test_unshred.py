"""Every table of the shredding specification, on the compiled kernels and on the reference.

Where the specification's own bytes are wrong (an empty dictionary is 01 00 00, "n/a" is 0D 6E 2F 61, an empty
object is 02 00 00), the right ones stand here.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from shredlake.errors import ShreddingConflict
from shredlake.kernels import shred, shredded_type, unshred, variant
from shredlake.shredding import ShreddingSchema
from shredlake.shredding.null_table import NULL_TABLE, Meaning
from shredlake.variant import Variant
from shredlake.variant.scalars import Timestamp

pytestmark = pytest.mark.usefixtures("kernels")

MISSING = object()
EMPTY = b"\x01\x00\x00"


def column_of(values: list[Any]) -> pa.StructArray:
    """A Variant column of Python values; MISSING stands for SQL NULL."""
    rows = [None if value is MISSING else Variant.of(value) for value in values]
    return pa.array([row and {"metadata": row.metadata, "value": row.value} for row in rows], variant())


def variants(column: pa.StructArray) -> list[Variant | None]:
    return [row and Variant(row["metadata"], row["value"]) for row in column.to_pylist()]


def decoded(metadata: bytes, value: bytes | None) -> Any:
    return MISSING if value is None else Variant(metadata, value).to_python(exact=True)


# ---------------------------------------------------------------- measurement: bigint

MEASUREMENTS = ShreddingSchema.parse("bigint")
MEASUREMENT_TABLE = [
    (34, None, 34),
    (None, b"\x00", None),
    ("n/a", b"\x0d\x6e\x2f\x61", None),
    (100, None, 100),
]


def test_measurements_are_stored_as_the_table_says() -> None:
    shredded = shred(column_of([value for value, _, _ in MEASUREMENT_TABLE]), MEASUREMENTS)
    assert shredded.to_pylist() == [
        {"metadata": EMPTY, "value": value, "typed_value": typed} for _, value, typed in MEASUREMENT_TABLE
    ]
    assert shredded.type == shredded_type(MEASUREMENTS)
    shredded.validate(full=True)


def test_measurements_read_back() -> None:
    rows = [(EMPTY, value, typed) for _, value, typed in MEASUREMENT_TABLE]
    column = unshred(pa.array(rows, shredded_type(MEASUREMENTS)), strict=True)
    assert [row.to_python() for row in variants(column)] == [34, None, "n/a", 100]


def test_a_required_measurement_that_is_missing_is_variant_null() -> None:
    column = unshred(pa.array([(EMPTY, None, None), None], shredded_type(MEASUREMENTS)), strict=True)
    assert column.field("value")[0].as_py() == b"\x00"
    assert column.is_valid().to_pylist() == [True, False], "SQL NULL stays SQL NULL"


# ---------------------------------------------------------------- value and typed_value

OBJECTS = ShreddingSchema.parse("struct<a bigint>")


@pytest.mark.parametrize(
    ("value", "typed", "meaning", "read"),
    [
        (None, None, Meaning.MISSING, None),
        (Variant.of("x").value, None, Meaning.ANY_TYPE, "x"),
        (Variant.of(None).value, None, Meaning.ANY_TYPE, None),
        (None, {"a": {"typed_value": 1}}, Meaning.SHREDDED_TYPE, {"a": 1}),
        (
            b"\x02\x01\x01\x00\x02\x0c\x02",
            {"a": {"typed_value": 1}},
            Meaning.PARTIAL_OBJECT,
            {"a": 1, "b": 2},
        ),
    ],
)
def test_the_null_table(value: bytes | None, typed: Any, meaning: Meaning, read: Any) -> None:
    assert NULL_TABLE[value is not None, typed is not None] is meaning
    metadata = b"\x01\x02\x00\x01\x02ab"
    row: dict[str, object] = {"metadata": metadata, "value": value, "typed_value": typed}
    (result,) = variants(unshred(pa.array([row], shredded_type(OBJECTS)), strict=True))
    assert result.to_python() == read


def test_a_field_is_missing_where_both_are_null() -> None:
    row: dict[str, object] = {"metadata": b"\x01\x01\x00\x01a", "value": None, "typed_value": {"a": {}}}
    (result,) = variants(unshred(pa.array([row], shredded_type(OBJECTS)), strict=True))
    assert result.to_python() == {}


# ---------------------------------------------------------------- tags: array<string>

TAGS = ShreddingSchema.parse("array<string>")
TAG_TABLE: list[tuple[Any, bytes | None, list[tuple[bytes | None, str | None]] | None]] = [
    (["comedy", "drama"], None, [(None, "comedy"), (None, "drama")]),
    (["horror", None], None, [(None, "horror"), (b"\x00", None)]),
    (["comedy", "drama", "romance"], None, [(None, "comedy"), (None, "drama"), (None, "romance")]),
    (None, b"\x00", None),
]


def tag_rows() -> pa.StructArray:
    return pa.array([(EMPTY, value, typed) for _, value, typed in TAG_TABLE], shredded_type(TAGS))


def test_tags_are_stored_as_the_table_says() -> None:
    assert shred(column_of([tags for tags, _, _ in TAG_TABLE]), TAGS) == tag_rows()


def test_tags_read_back() -> None:
    assert [row.to_python() for row in variants(unshred(tag_rows(), strict=True))] == [
        t for t, _, _ in TAG_TABLE
    ]


# ---------------------------------------------------------------- event: struct<event_type, event_ts>

EVENTS = ShreddingSchema.parse("struct<event_type string, event_ts timestamp>")


def at(micros: int) -> Timestamp:
    return Timestamp(micros)


# value, then typed_value as (event_type value, event_type typed, event_ts value, event_ts typed)
EVENT_TABLE: list[tuple[Any, Any, tuple[Any, ...] | None]] = [
    (
        {"event_type": "noop", "event_ts": at(1729794114937)},
        MISSING,
        (MISSING, "noop", MISSING, 1729794114937),
    ),
    (
        {"event_type": "login", "event_ts": at(1729794146402), "email": "user@example.com"},
        {"email": "user@example.com"},
        (MISSING, "login", MISSING, 1729794146402),
    ),
    ({"error_msg": "malformed: ..."}, {"error_msg": "malformed: ..."}, (MISSING, None, MISSING, None)),
    ("malformed: not an object", "malformed: not an object", None),
    (
        {"event_ts": at(1729794240241), "click": "_button"},
        {"click": "_button"},
        (MISSING, None, MISSING, 1729794240241),
    ),
    ({"event_type": None, "event_ts": at(1729794954163)}, MISSING, (None, None, MISSING, 1729794954163)),
    ({"event_type": "noop", "event_ts": "2024-10-24"}, MISSING, (MISSING, "noop", "2024-10-24", None)),
    ({}, MISSING, (MISSING, None, MISSING, None)),
    (None, None, None),
]


def test_events_are_stored_as_the_table_says() -> None:
    column = column_of([event for event, _, _ in EVENT_TABLE])
    shredded = shred(column, EVENTS)
    assert shredded.type == shredded_type(EVENTS)
    stored = shredded.to_pylist()
    times = shredded.field("typed_value").field("event_ts").field("typed_value").view(pa.int64()).to_pylist()
    for row, micros, (_, value, typed) in zip(stored, times, EVENT_TABLE, strict=True):
        metadata = row["metadata"]
        assert decoded(metadata, row["value"]) == value
        assert (row["typed_value"] is None) == (typed is None)
        if typed is not None:
            kind, moment = row["typed_value"]["event_type"], row["typed_value"]["event_ts"]
            assert (
                decoded(metadata, kind["value"]),
                kind["typed_value"],
                decoded(metadata, moment["value"]),
                micros,
            ) == typed


def test_events_read_back() -> None:
    column = column_of([event for event, _, _ in EVENT_TABLE])
    assert variants(unshred(shred(column, EVENTS), strict=True)) == variants(column)


def test_a_missing_event_is_sql_null_in_an_optional_column() -> None:
    shredded = shred(column_of([MISSING, None]), EVENTS)
    assert shredded.is_valid().to_pylist() == [False, True]
    assert shredded.field("value").to_pylist() == [None, b"\x00"]
    assert variants(unshred(shredded, strict=True)) == [None, Variant.of(None)]


def event_row(value: Any, typed: dict[str, Any] | None) -> pa.StructArray:
    """One shredded row whose parts are given as they are, right or wrong."""
    whole = Variant.of({"event_type": 0, "event_ts": 0, "value": value})
    row: dict[str, object] = {"metadata": whole.metadata, "value": whole["value"].value, "typed_value": typed}
    return pa.array([row], shredded_type(EVENTS))


INVALID_EVENTS = {
    "a shredded field in value": (
        event_row(
            {"event_type": "login"}, {"event_type": {"typed_value": "login"}, "event_ts": {"typed_value": 7}}
        ),
        {"event_type": "login", "event_ts": at(7)},
    ),
    "a shredded field in value, missing in its column": (
        event_row({"event_type": "login"}, {"event_type": {}, "event_ts": {"typed_value": 7}}),
        {"event_ts": at(7)},
    ),
    "a shredded field in value, typed_value null": (
        event_row({"event_type": "login"}, None),
        {"event_type": "login"},
    ),
    "an empty object, typed_value null": (event_row({}, None), {}),
    "both parts of a field": (
        event_row(
            {"x": 1},
            {"event_type": {"value": Variant.of(5).value, "typed_value": "login"}, "event_ts": {}},
        ),
        {"event_type": "login", "x": 1},
    ),
}


@pytest.mark.parametrize("name", INVALID_EVENTS)
def test_invalid_events_read_as_shredded_and_fail_in_strict_reading(name: str) -> None:
    column, expected = INVALID_EVENTS[name]
    assert variants(unshred(column)) == [Variant.of(expected)]
    with pytest.raises(ShreddingConflict, match=r"row 0, \$"):
        unshred(column, strict=True)


@pytest.mark.parametrize("strict", [False, True])
def test_a_non_object_value_beside_shredded_fields_always_fails(strict: bool) -> None:
    column = event_row("a", {"event_type": {}, "event_ts": {}})
    with pytest.raises(ShreddingConflict, match=r"row 0, \$: .*non-object value beside a typed_value"):
        unshred(column, strict=strict)


# ---------------------------------------------------------------- nesting

NESTED = ShreddingSchema.parse(
    "struct<event_type string, event_ts timestamp, location struct<latitude double, longitude double>, "
    "tags array<string>>"
)
NESTED_EVENTS: list[Any] = [
    {
        "event_type": "noop",
        "event_ts": at(1),
        "location": {"latitude": 1.5, "longitude": -2.5},
        "tags": ["a", "b"],
    },
    {"location": {"latitude": 1.5, "altitude": 3}, "tags": []},
    {"location": {}, "tags": ["a", 1, None, ["deep"]], "extra": {"location": 1}},
    {"location": "nowhere", "tags": "none"},
    {"location": {"latitude": 1, "longitude": None}},
    {"location": None, "tags": None},
    [],
]


def test_nested_events() -> None:
    column = column_of(NESTED_EVENTS)
    shredded = shred(column, NESTED)
    shredded.validate(full=True)
    assert variants(unshred(shredded, strict=True)) == variants(column)
    rows = shredded.field("typed_value").to_pylist()
    assert [row["location"]["typed_value"] is not None for row in rows[:6]] == [True] * 3 + [
        False,
        True,
        False,
    ]
    latitudes = [row["location"]["typed_value"]["latitude"]["typed_value"] for row in rows[:2]]
    assert latitudes == [1.5, 1.5]
    whole_number = rows[4]["location"]["typed_value"]["latitude"]
    assert whole_number == {"value": b"\x0c\x01", "typed_value": None}, "an integer is not a double"
    assert rows[2]["tags"]["typed_value"] == [
        {"value": None, "typed_value": "a"},
        {"value": b"\x0c\x01", "typed_value": None},
        {"value": b"\x00", "typed_value": None},
        {"value": Variant.of(["deep"]).value, "typed_value": None},
    ]
    assert rows[1]["tags"] == {"value": None, "typed_value": []}
    assert rows[6] is None
